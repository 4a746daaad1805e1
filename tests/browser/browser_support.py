"""A real training and the page's real server as processes, and pages that close themselves."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import cached_property
from pathlib import Path

import psutil

PARCADE = [sys.executable, "-m", "parcade.cli.main"]
DEADLINE_S = 120
N_GAMES = 12
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def until(fact, what, deadline_s=DEADLINE_S, process=None):
    """Wait for a fact and return it."""
    deadline = time.monotonic() + deadline_s
    while not (found := fact()):
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the process ended while waiting for {what}: {process.communicate()}")
        assert time.monotonic() < deadline, f"waited {deadline_s} s for {what}"
        time.sleep(0.05)
    return found


class Training:
    """`parcade train` in a process of its own, with no flag that knows of the page."""

    def __init__(self, home, *words, name="lantern"):
        self.home, self.name = home, name
        flags = ["--timesteps", "500M", "--eval-freq", "0", "--final-eval-episodes", "0", "--no-video", "--plain"]
        self.process = subprocess.Popen(
            [*PARCADE, "train", *flags, "--run-name", name, *words],
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @cached_property
    def run(self):
        """The run's folder, as soon as viewers find the training."""
        found = until(
            lambda: list(Path(self.home).glob(f"results/{self.name}/*/live.json")), "it", process=self.process
        )
        return found[0].parent

    def wait(self):
        """Wait for the first update."""
        metrics = self.run / "metrics.jsonl"
        until(lambda: metrics.exists() and metrics.stat().st_size, "the first update", process=self.process)
        return self

    def workers(self):
        found = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in found if child.name().startswith("parcade ")]

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(Path(self.home, "results", self.name), ignore_errors=True)


class Watch:
    """`parcade watch` in a process of its own."""

    def __init__(self, home, *words):
        self.process = subprocess.Popen(
            [*PARCADE, "watch", "--json", *words], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        self.url = json.loads(line)["url"]
        self.port = int(self.url.split(":")[2].partition("/")[0])

    def stop(self):
        self.process.kill()
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class PrefixProxy:
    """A reverse proxy as others have one: what is asked for below a prefix goes to the server without it."""

    def __init__(self, prefix, port):
        self._prefix, self._target = prefix.encode(), port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}{prefix}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self._target)) as server:
            head = b""
            while b"\r\n\r\n" not in head:
                part = client.recv(65536)
                if not part:
                    return
                head += part
            method, path, rest = head.split(b" ", 2)
            if not path.startswith(self._prefix + b"/"):
                client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            if b"upgrade: websocket" not in head.lower():  # one question for each connection: the next has a prefix too
                rest = rest.replace(b"keep-alive", b"close")
            server.sendall(b" ".join([method, path.removeprefix(self._prefix), rest]))
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()


def _pump(source, target):
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


class opened:  # noqa: N801
    """A page of the server; leaving it fails for errors in the console and for requests to anybody else."""

    def __init__(self, chromium, url, width=1280, height=800, tolerated=(), **options):
        self._context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        self._context.set_default_timeout(DEADLINE_S * 1000)
        self._page = self._context.new_page()
        self._host = url.split("/")[2]
        self.faults, self.tolerated = [], tolerated
        self._page.on("console", self._hear)
        self._page.on("pageerror", lambda error: self.faults.append(f"raised {error}"))
        self._page.on("dialog", lambda dialog: (self.faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self._page.on("request", self._check_request)
        self._page.goto(url)

    def _hear(self, message):
        if message.type == "error" and not any(word in message.text for word in self.tolerated):
            self.faults.append(f"console: {message.text}")

    def _check_request(self, request):
        address = request.url
        if not address.startswith(("data:", "blob:")) and address.split("/")[2] != self._host:
            self.faults.append(f"asked {address}")

    def __enter__(self):
        self._page.guard = self
        return self._page

    def __exit__(self, kind, *_):
        self._context.close()
        if kind is None:
            assert not self.faults, self.faults
