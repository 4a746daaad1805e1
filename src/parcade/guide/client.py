"""Talks to a language model: any server that speaks OpenAI's chat completions. Trusts nothing that comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parcade.config.llm_address import COMPLETIONS, checked_url
from parcade.errors import LlmError, MissingExtraError, SettingsError
from parcade.guide.key import Key
from parcade.host.input_file import parse_json, short

LARGEST_ANSWER = 1 << 20  # bytes of a whole response
MOST_TOKENS = 2048  # of one answer
_NOT_UNDERSTOOD = (400, 404, 415, 422, 500, 501)  # where a server does not know how to hold answers to a schema
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """One answer: its text, what the server counted, and how it was held to the schema."""

    text: str
    tokens: dict[str, int]
    held_by: str


@dataclass(slots=True)
class LlmClient:
    """One server and one model. Each request has a deadline in all, and an answer a size that it must not pass.

    Redirects are not followed, and no proxy or password of the environment is used: what is sent goes to this server.
    """

    url: str
    model: str
    key: Key = field(default_factory=Key)
    deadline_s: float = 120.0
    is_small: bool = False  # it needs conditions to choose from
    _held_by: str | None = None  # the way that this server understood

    def __post_init__(self) -> None:
        try:
            self.url = checked_url(self.url)
        except ValueError as error:
            raise SettingsError(str(error)) from None

    def ask(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> Said:
        """Return the answer to a conversation; raise LlmError, in words, for anything but an answer."""
        ways = [self._held_by] if self._held_by is not None else ["json_schema", "json_object", "nothing"]
        for way in ways:
            status, data = self._send({"model": self.model, "messages": list(messages), **_held(way, schema)})
            if status == 200:
                self._held_by = way
                return self._read(data, way)
            if status not in _NOT_UNDERSTOOD:
                break
        raise LlmError(f"the server at {self.url} refused ({status}): {self._shown(data)}")

    def _shown(self, data: bytes) -> str:
        """Return the beginning of an answer for a message; the key is taken out before anything is cut off."""
        return short(self.key.hidden_in(data.decode("utf-8", "replace")), 200)

    def _read(self, data: bytes, way: str) -> Said:
        try:
            answer = parse_json(data)
            text = answer["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError):
            raise LlmError(
                f"the server at {self.url} does not answer with a chat completion: {self._shown(data)}"
            ) from None
        if not isinstance(text, str):
            raise LlmError(f"the server at {self.url} answers a {type(text).__name__}, wanted text")
        return Said(self.key.hidden_in(text), _counts(answer.get("usage")), way)

    def _send(self, body: Mapping[str, Any]) -> tuple[int, bytes]:
        content = json.dumps(body).encode()
        try:
            return asyncio.run(asyncio.wait_for(self._post(content), self.deadline_s))
        except (asyncio.TimeoutError, TimeoutError):
            raise LlmError(f"the server at {self.url} did not answer within {self.deadline_s:g} s") from None
        except LlmError:
            raise
        except ImportError:
            raise MissingExtraError(
                "a language model needs httpx; install it with `pip install 'parcade[guide]'`"
            ) from None
        except Exception as error:  # of sockets, TLS and HTTP, all kinds
            words = self.key.hidden_in(" ".join(str(error).split()))[:200] or type(error).__name__
            raise LlmError(f"the server at {self.url} cannot be reached: {words}") from None

    async def _post(self, content: bytes) -> tuple[int, bytes]:
        import httpx

        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **self.key.headers}
        client = httpx.AsyncClient(follow_redirects=False, trust_env=False, timeout=self.deadline_s)
        async with client, client.stream("POST", self.url + COMPLETIONS, content=content, headers=headers) as response:
            if response.is_redirect or 300 <= response.status_code < 400:
                raise LlmError(f"the server at {self.url} redirects to another address, which is not followed")
            if response.headers.get("content-encoding", "identity") != "identity":
                raise LlmError(f"the server at {self.url} sends a compressed answer, which was not requested")
            found = bytearray()
            async for part in response.aiter_raw(1 << 16):
                found += part
                if len(found) > LARGEST_ANSWER:
                    raise LlmError(f"the server at {self.url} answers with more than {LARGEST_ANSWER:,} bytes")
            return response.status_code, bytes(found)


def _held(way: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a request asks for an answer by the schema: OpenAI's way, llama.cpp's older one, or not at all."""
    if way == "json_schema":
        named = {"name": "answer", "schema": schema}
        return {"max_tokens": MOST_TOKENS, "response_format": {"type": "json_schema", "json_schema": named}}
    if way == "json_object":
        return {"max_tokens": MOST_TOKENS, "response_format": {"type": "json_object", "schema": schema}}
    return {}


def _counts(told: Any) -> dict[str, int]:
    named = told if isinstance(told, Mapping) else {}
    wanted = {name: named.get(name) for name in ("prompt_tokens", "completion_tokens")}
    return {name: count for name, count in wanted.items() if isinstance(count, int) and abs(count) < 1 << 53}
