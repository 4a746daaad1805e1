"""Who may ask the page's server: names, origins, tokens."""

import asyncio
import hmac
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from parcade.view.page.guard import Door, Guard, is_loopback


async def answered(door, kind="http", method="GET", path="/", query=b"", **headers):
    """Return status, headers and body of one request to a guarded server."""

    async def socket(websocket):
        await websocket.accept()
        await websocket.close()

    routes = [
        Route("/", lambda request: PlainTextResponse("inside"), methods=["GET", "POST"]),
        WebSocketRoute("/ws", socket),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(Guard, door=door)])
    sent = []

    async def receive():
        return {"type": "websocket.connect"} if kind == "websocket" else {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": raw,
    }
    await app(
        {**scope, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 8700), "root_path": ""},
        receive,
        send,
    )
    return sent


def ask(door, **request):
    with ThreadPoolExecutor(1) as thread:  # a browser's tests may have left a loop running in this one
        sent = thread.submit(lambda: asyncio.run(answered(door, **request))).result()
    if request.get("kind") == "websocket":
        return sent[0]["type"]
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(part.get("body", b"") for part in sent[1:])


HERE = Door.at("127.0.0.1", 8700)


@pytest.mark.parametrize("host", ["localhost:8700", "127.0.0.1:8700", "localhost:9999", "[::1]:8700", "LOCALHOST"])
def test_our_own_names_are_let_in(host):
    assert ask(HERE, host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8700", "localhost.evil.example", "", "[", "a b"])
def test_foreign_names_are_refused_pages_and_sockets(host):
    assert ask(HERE, host=host)[0] == 421
    assert ask(HERE, kind="websocket", path="/ws", host=host) == "websocket.close"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "file://", "http://[", "https://evil.example:8700"]
)
def test_pages_of_other_sites_are_refused(origin):
    assert ask(HERE, host="localhost:8700", origin=origin)[0] == 403
    assert ask(HERE, kind="websocket", path="/ws", host="localhost:8700", origin=origin) == "websocket.close"


@pytest.mark.parametrize("origin", ["http://127.0.0.1:9999", f"http://{socket.gethostname()}:9999"])
def test_pages_of_other_ports_of_this_machine_are_refused(origin):
    assert ask(HERE, host="127.0.0.1:8700", origin=origin)[0] == 403
    assert ask(HERE, kind="websocket", path="/ws", host="127.0.0.1:8700", origin=origin) == "websocket.close"


def test_the_page_itself_may_ask():
    assert ask(HERE, host="localhost:8700", origin="http://localhost:8700")[0] == 200
    assert (
        ask(HERE, kind="websocket", path="/ws", host="localhost:8700", origin="http://localhost:8700")
        == "websocket.accept"
    )


def test_a_proxy_has_its_name_allowed():
    door = Door.at("127.0.0.1", 8700, ["games.example"])
    assert ask(door, host="games.example", origin="https://games.example")[0] == 200
    assert ask(door, host="127.0.0.1:8700", origin="https://games.example")[0] == 200
    assert ask(door, host="127.0.0.1:8700", origin="https://others.example")[0] == 403


def test_posts_come_from_the_page_only():
    assert ask(HERE, method="POST", host="localhost:8700")[0] == 403
    assert ask(HERE, method="POST", host="localhost:8700", origin="http://localhost:8700")[0] == 200
    assert ask(HERE, method="DELETE", host="localhost:8700", origin="http://localhost:8700")[0] == 405


def test_an_address_for_others_needs_a_token():
    door = Door.at("0.0.0.0", 8700)
    assert len(door.token) >= 20
    assert ask(door, host="192.0.2.1:8700")[0] == 401
    assert ask(door, host="192.0.2.1:8700", query=b"token=wrong")[0] == 401
    assert ask(door, kind="websocket", path="/ws", host="192.0.2.1:8700") == "websocket.close"
    status, headers, _ = ask(door, host="192.0.2.1:8700", query=f"token={door.token}".encode())
    assert (status, headers[b"location"]) == (303, b"./")
    cookie = headers[b"set-cookie"].decode()
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    kept = cookie.partition(";")[0]
    assert ask(door, host="192.0.2.1:8700", cookie=f"other=1; {kept}")[0] == 200
    assert ask(door, kind="websocket", path="/ws", host="192.0.2.1:8700", cookie=kept) == "websocket.accept"


def test_tokens_are_compared_in_constant_time(monkeypatch):
    compared, really = [], hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda *two: compared.append(two) or really(*two))
    door = Door(frozenset({"localhost"}), "secret")
    assert [door.opens_to(given) for given in ("secret", "secre", "", None)] == [True, False, False, False]
    assert compared == [(given, b"secret") for given in (b"secret", b"secre", b"", b"")]


def test_each_start_has_a_token_of_its_own():
    assert Door.at("0.0.0.0", 1).token != Door.at("0.0.0.0", 1).token
    assert Door.at("127.0.0.1", 1).token is None
    assert Door.at("127.0.0.1", 1, with_token=True).token


def test_answers_carry_a_strict_policy_refusals_too():
    for host in ("localhost", "evil.example"):
        headers = ask(HERE, host=host)[1]
        policy = headers[b"content-security-policy"].decode()
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers[b"x-content-type-options"] == b"nosniff"


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("games", False),
    ],
)
def test_loopback(host, is_local):
    assert is_loopback(host) is is_local
