"""Starts the server: binds, says where it is, serves until it is told to end."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from parcade.errors import SettingsError, UserError
from parcade.host.child_process import run_later
from parcade.view.page.app import make_app
from parcade.view.page.guard import Door
from parcade.view.page.runs import Runs, runs_at

PORT = 8700
NICENESS = 10
_MORE_PORTS = 20
_LARGEST_MESSAGE = 1 << 16  # of a client


@dataclass(frozen=True)
class Address:
    """Where the server listens; without a port the first free one from 8700 on."""

    host: str = "127.0.0.1"
    port: int | None = None
    names: tuple[str, ...] = ()
    with_token: bool = False


class Server:
    """The page's server, bound to its port."""

    def __init__(self, runs: Runs, address: Address, share: float | None = None) -> None:
        self._socket = bind(address.host, address.port)
        port = self._socket.getsockname()[1]
        self.door = Door.at(address.host, port, address.names, with_token=address.with_token)
        shown = "localhost" if address.host in ("127.0.0.1", "::1") else address.host
        shown = socket.gethostname() if address.host in ("0.0.0.0", "::") else shown
        self.url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
        if self.door.token is not None:
            self.url += f"?token={self.door.token}"
        config = uvicorn.Config(
            make_app(runs, self.door, share=share),
            ws="websockets-sansio",
            ws_max_size=_LARGEST_MESSAGE,
            ws_per_message_deflate=False,  # pictures are packed already
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until ``stop``, Ctrl-C or SIGTERM; games and learning go first on a machine that is busy."""
        run_later(NICENESS)
        with contextlib.suppress(KeyboardInterrupt), self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Have ``run`` return soon; may be called from any thread."""
        self._server.should_exit = True


def bind(host: str, port: int | None) -> socket.socket:
    """Return a bound socket; a port that is taken is told in one sentence."""
    tried = [port] if port is not None else [*range(PORT, PORT + _MORE_PORTS), 0]
    for number in tried:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(64)
            return bound
        except OSError as error:
            bound.close()
            if error.errno == errno.EADDRINUSE and number != tried[-1]:
                continue
            if error.errno == errno.EADDRINUSE:
                raise SettingsError(f"port {number} is taken; give another one, or leave it out") from None
            raise SettingsError(f"no page can be served at {host}:{number}: {error.strerror or error}") from None
        except OverflowError:
            raise SettingsError(f"port {number} is not valid, wanted 0 to 65535") from None
    raise AssertionError("there is always a last try")


def main() -> int:
    """Serve beside a training: say ``ready URL`` on stdout, end when stdin is closed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--allow-host", action="append", default=[])
    parser.add_argument("--token", action="store_true")
    given = parser.parse_args()
    try:
        Path(given.root).mkdir(parents=True, exist_ok=True)
        server = Server(
            runs_at(None, given.root), Address(given.host, given.port, tuple(given.allow_host), given.token)
        )
    except (UserError, OSError) as error:
        print(f"failed {error}", flush=True)
        return 2
    print(f"ready {server.url}", flush=True)

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        server.stop()

    threading.Thread(target=wait, daemon=True).start()
    server.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
