"""A real HTTP server on loopback whose answers a test decides, well-behaved or not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the server's replies, one after the other; the last one answers all that follow."""

    server: LlmServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, "headers": dict(self.headers), "body": asked})
        number = min(len(self.server.requests), len(self.server.replies)) - 1
        try:
            self.server.replies[number](self, asked)
        except OSError:
            pass  # who asked has hung up

    def say(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class LlmServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, replies: list[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.requests = replies, list[dict[str, Any]]()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


def text(content: Any) -> Reply:
    """Answer a chat completion with this text; anything but text is written as JSON."""
    words = content if isinstance(content, str) else json.dumps(content)
    told = {"choices": [{"message": {"role": "assistant", "content": words}}], "usage": {"completion_tokens": 7}}
    return lambda handler, _: handler.say(200, json.dumps(told).encode())


@contextmanager
def llm_server(*replies: Reply) -> Iterator[LlmServer]:
    """Serve for a while."""
    server = LlmServer(list(replies))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join(10)
        server.server_close()
