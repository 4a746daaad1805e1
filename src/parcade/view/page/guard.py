"""Who may ask: Host and Origin are checked (DNS rebinding, other sites), a token where others reach the port."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_METHODS = ("GET", "HEAD", "POST")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Door:
    """What a request must show: the names it may use, and the token, if there is one."""

    names: frozenset[str]
    token: str | None = None
    cookie: str = "parcade"
    proxies: frozenset[str] = frozenset()  # names that the user gave: of a proxy that may send another Host on

    @classmethod
    def at(cls, host: str, port: int, names: Iterable[str] = (), *, with_token: bool = False) -> Door:
        """Return the door of a server at this address; one that others reach has a token."""
        given = frozenset(name.lower() for name in names)
        known = {"localhost", host.lower(), socket.gethostname().lower(), *given}
        token = secrets.token_urlsafe(18) if with_token or not is_loopback(host) else None
        return cls(frozenset(known), token, f"parcade_{port}", given)

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server: by address, or by a name that no stranger's DNS can point here."""
        name = _name_of(host)
        if name is None:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return True

    def is_same_origin(self, origin: str | None, host: str) -> bool:
        """Whether a page that asks is ours; a request without an Origin comes from no page of others."""
        if origin is None:
            return True
        try:
            asked = urlsplit(origin)
        except ValueError:
            return False
        if asked.scheme not in ("http", "https"):
            return False
        return asked.netloc.lower() == host.lower() or (asked.hostname or "") in self.proxies

    def opens_to(self, given: str | None) -> bool:
        """Compare a token in constant time."""
        return self.token is None or hmac.compare_digest((given or "").encode(), self.token.encode())


class Guard:
    """ASGI middleware around the whole server."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        answer = self._answer(scope)
        if answer is None:
            return await self._app(scope, receive, _with_headers(send))
        if scope["type"] == "websocket":  # refused before it is accepted: the client sees a 403
            return await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        await answer(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> Response | None:
        """Return what a request that must not pass gets; None lets it pass."""
        headers, door = Headers(scope=scope), self._door
        host = headers.get("host", "")
        if not door.knows(host):
            return _refused(421, f"this server is not called {host!r}; start it with --allow-host NAME if it is")
        if not door.is_same_origin(headers.get("origin"), host):
            return _refused(403, "this server refuses requests from pages of other sites")
        if scope["type"] == "http" and scope["method"] not in _METHODS:
            return _refused(405, "only GET and POST are answered")
        if scope["type"] == "http" and scope["method"] == "POST" and headers.get("origin") is None:
            return _refused(403, "only the page itself may ask for this")
        return self._check_token(scope, headers)

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        door = self._door
        if door.token is None or door.opens_to(_cookies(headers).get(door.cookie)):
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [None])[0]
        if scope["type"] == "http" and given is not None and door.opens_to(given):
            answer = RedirectResponse("./", 303)  # the token leaves the address bar
            answer.headers["set-cookie"] = f"{door.cookie}={door.token}; HttpOnly; SameSite=Strict; Max-Age=2592000"
            return answer
        return _refused(401, "this page needs its token: open the address that parcade printed when it started")


def _refused(status: int, words: str) -> Response:
    return PlainTextResponse(f"{words}\n", status)


def _name_of(host: str) -> str | None:
    """Return the name in a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _cookies(headers: Headers) -> dict[str, str]:
    pairs = (part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";"))
    return {name: value for name, _, value in pairs}


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
