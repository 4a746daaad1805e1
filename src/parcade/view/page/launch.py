"""Open the page's server beside a training, in a process of its own: its end is not the training's."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from parcade.errors import MissingExtraError, SettingsError
from parcade.view.beside import end

_START_DEADLINE_S = 60.0
_END_DEADLINE_S = 5.0


def check_extra() -> None:
    """Raise one sentence where the packages of the page are not installed."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"the live page needs {error.name}; pip install 'parcade[view]'") from None


@contextmanager
def served(
    root: str, *, host: str, port: int | None, allowed_hosts: tuple[str, ...] = (), with_token: bool = False
) -> Iterator[str]:
    """Serve the runs below ``root`` and give the page's address; on leaving, the server ends."""
    with server(root, host=host, port=port, allowed_hosts=allowed_hosts, with_token=with_token) as (url, _):
        yield url


@contextmanager
def server(
    root: str, *, host: str, port: int | None, allowed_hosts: tuple[str, ...] = (), with_token: bool = False
) -> Iterator[tuple[str, int]]:
    """Give the server's process number beside the address."""
    check_extra()
    command = [sys.executable, "-m", "parcade.view.page.serve", root, "--host", host]
    command += ["--port", str(port)] if port is not None else []
    command += ["--token"] if with_token else []
    for name in allowed_hosts:
        command += ["--allow-host", name]
    # A session of its own: Ctrl-C is the training's, and the page shows how it ends.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield _address(process), process.pid
    finally:
        end(process, _END_DEADLINE_S)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    heard, _, _ = select.select([process.stdout], [], [], _START_DEADLINE_S)
    word, _, rest = (process.stdout.readline().strip() if heard else "").partition(" ")
    if word == "ready":
        return rest
    raise SettingsError(rest or f"the page's server did not start within {_START_DEADLINE_S:.0f} s")
