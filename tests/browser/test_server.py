"""The page's server as strangers meet it: over real sockets, with foreign names, without tokens, with nonsense."""

import http.client
import json
import socket
import subprocess
import threading
import urllib.parse
from collections import deque
from contextlib import ExitStack

import pytest
from browser_support import DEADLINE_S, PARCADE, Watch, until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from parcade.view.attached import attach


def asked(port, path="/", host=None, method="GET", **headers):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    link.putrequest(method, path, skip_host=True)
    link.putheader("Host", host or f"localhost:{port}")
    for name, value in headers.items():
        link.putheader(name.replace("_", "-"), value)
    link.endheaders()
    answer = link.getresponse()
    body = answer.read()
    link.close()
    return answer.status, answer.headers, body


def socket_of(port, run, origin=None, host=None, **options):
    address = f"ws://127.0.0.1:{port}/ws?run={urllib.parse.quote(run)}"
    headers = {"Host": host} if host else {}
    options = {"open_timeout": DEADLINE_S, "compression": None, **options}
    return connect(address, origin=origin, additional_headers=headers, **options)


def run_name(training):
    return training.run.relative_to(training.home / "results").as_posix()


def test_only_our_own_names_and_pages_are_answered(watch, training):
    port, run = watch.port, run_name(training)
    assert asked(port)[0] == 200
    assert asked(port, host="evil.example")[0] == 421
    assert asked(port, "/api/runs", Origin="http://evil.example")[0] == 403
    assert asked(port, "/api/runs", method="PUT")[0] == 405
    for origin in ("http://evil.example", "null"):
        with pytest.raises(InvalidStatus, match="403"):
            socket_of(port, run, origin)
    with socket_of(port, run, f"http://127.0.0.1:{port}") as link:
        assert json.loads(link.recv(timeout=DEADLINE_S))["kind"] == "about"


def test_other_addresses_need_the_token(home, training):
    serving = Watch(home, "--host", "0.0.0.0", "--port", "0")
    try:
        port, token = serving.port, serving.url.partition("token=")[2]
        assert asked(port)[0] == 401
        assert asked(port, "/api/runs")[0] == 401
        assert asked(port, "/?token=wrong")[0] == 401
        with pytest.raises(InvalidStatus, match="403"):
            socket_of(port, run_name(training))
        status, headers, _ = asked(port, f"/?token={token}")
        cookie = headers["set-cookie"].partition(";")[0]
        assert (status, headers["location"]) == (303, "./")
        assert asked(port, "/api/runs", Cookie=cookie)[0] == 200
    finally:
        serving.stop()


def test_only_files_of_runs_are_served(watch, training, home):
    port, run = watch.port, urllib.parse.quote(run_name(training))
    (home / "secret.txt").write_text("secret")
    for name in ("config.json", "../../../secret.txt", "models/../config.json", "/etc/passwd", "logs/train.log"):
        assert asked(port, f"/api/file?run={run}&name={urllib.parse.quote(name)}")[0] == 404, name
    for path in ("/static/../../app.py", "/static/..%2f..%2fapp.py", "/static/%2e%2e/app.py"):
        assert asked(port, path)[0] == 404, path
    for other in ("..", "../home", "no/such", "", "%00"):
        assert asked(port, f"/api/run?run={other}")[0] == 404, other
    checkpoint = until(lambda: next((training.run / "checkpoints").glob("*.ckpt"), None), "a checkpoint")
    status, headers, body = asked(port, f"/api/file?run={run}&name=checkpoints/{checkpoint.name}")
    assert status in (200, 404)  # it may have been replaced meanwhile
    if status == 200:
        assert headers["content-disposition"].startswith("attachment")
        assert len(body) > 1000


def test_nonsense_does_not_harm_a_client_or_the_training(watch, training):
    before = (training.run / "metrics.jsonl").stat().st_size
    with socket_of(watch.port, run_name(training)) as link:
        for text in (
            "",
            "{",
            "[]",
            '{"slots": [-1, 99999, "x", null, 1.5]}',
            '{"ack": 10000000}',
            '{"detail": "x"}',
            '{"map": 5}',
            "[" * 5000,
        ):
            link.send(text)
        link.send(json.dumps({"slots": [0], "detail": 0, "map": "floor 1"}))
        kinds = set()

        def all_came():
            message = link.recv(timeout=DEADLINE_S)
            kinds.add(message[0] if isinstance(message, bytes) else json.loads(message)["kind"])
            if message[0] == 1:  # pictures are acknowledged, or no more come, and no map and no detail either
                link.send(json.dumps({"ack": int.from_bytes(message[4:8], "little")}))
            return {1, 3, "detail", "places", "status"} <= kinds

        until(all_came, "all kinds of messages")
    with socket_of(watch.port, run_name(training)) as link:
        link.send("x" * (1 << 17))
        with pytest.raises(ConnectionClosed, match="1009"):
            deque(iter(lambda: link.recv(timeout=DEADLINE_S), None), maxlen=0)
    until(lambda: (training.run / "metrics.jsonl").stat().st_size > before, "the training to go on")


def test_clients_are_counted(home, training):
    serving = Watch(home, "--port", "0")
    try:
        with ExitStack() as links:
            for _ in range(32):
                links.enter_context(socket_of(serving.port, run_name(training), close_timeout=0.1))
            with socket_of(serving.port, run_name(training)) as one_more:
                told = json.loads(one_more.recv(timeout=DEADLINE_S))
        assert told["kind"] == "problem"
        assert "32 pages" in told["words"]
    finally:
        serving.stop()


def test_a_client_that_does_not_read_gets_little(watch, training):
    """Pictures are sent as far as a client acknowledges them: one that is silent gets two."""
    with socket_of(watch.port, run_name(training)) as link:
        json.loads(link.recv(timeout=DEADLINE_S))
        link.send(json.dumps({"slots": list(range(12))}))
        numbers, statuses = [], 0
        while statuses < 6:
            message = link.recv(timeout=DEADLINE_S)
            if isinstance(message, bytes):
                numbers.append(int.from_bytes(message[4:8], "little"))
            else:
                statuses += json.loads(message)["kind"] == "status"
        assert numbers == [1, 2]
        link.send(json.dumps({"ack": 2}))
        until(lambda: isinstance(link.recv(timeout=DEADLINE_S), bytes), "the next picture")


def test_replays_are_counted(watch, training):
    index = training.run / "episodes" / "index.json"

    def best():
        return until(lambda: index.exists() and json.loads(index.read_text())["kinds"]["best"], "a kept episode")[0]

    def begun():
        link = links.enter_context(replay_of(watch.port, run_name(training), best()))
        told = json.loads(link.recv(timeout=DEADLINE_S))
        if told["kind"] == "about":
            return True
        assert "is no longer kept" in told["words"]  # a better one has come: the training goes on
        return False

    with ExitStack() as links:
        for _ in range(4):
            until(begun, "a replay")
        with replay_of(watch.port, run_name(training), best()) as one_more:
            told = json.loads(one_more.recv(timeout=DEADLINE_S))
    assert (told["kind"], told["words"]) == ("problem", "4 episodes are being replayed already; close one")
    with replay_of(watch.port, "no/such", 1) as nowhere:
        assert "this server has no such run" in json.loads(nowhere.recv(timeout=DEADLINE_S))["words"]


def replay_of(port, run, episode):
    address = f"ws://127.0.0.1:{port}/replay?run={urllib.parse.quote(run)}&episode={episode}"
    return connect(address, compression=None, open_timeout=DEADLINE_S, close_timeout=0.1)


def test_two_servers_watch_one_training(home, watch, training):
    other = Watch(home, str(training.run), "--port", "0")
    try:
        with socket_of(watch.port, run_name(training)) as first, socket_of(other.port, training.run.name) as second:
            for link in (first, second):
                link.send(json.dumps({"slots": [0, 1]}))
                link.recv(timeout=DEADLINE_S)
                link.send(json.dumps({"slots": [0, 1]}))
                until(lambda link=link: isinstance(link.recv(timeout=DEADLINE_S), bytes), "a picture")
    finally:
        other.stop()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "there is no folder nowhere"),
        (["empty"], "there is no run in empty or below it"),
        (["--port", "70000"], "--port is 70000, wanted 0 to 65535"),
        (["--host", "192.0.2.77"], "no page can be served at 192.0.2.77"),
    ],
)
def test_bad_input_gets_one_sentence(home, words, sentence):
    for folder in ("results", "empty"):
        (home / folder).mkdir(exist_ok=True)
    done = subprocess.run([*PARCADE, "watch", *words], cwd=home, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.long
def test_a_port_that_is_taken_is_told(home):
    (home / "results").mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for verb in (["watch", "--port"], ["train", "--view", "--view-port"]):
            done = subprocess.run(
                [*PARCADE, *verb, str(port)], cwd=home, capture_output=True, text=True, timeout=DEADLINE_S
            )
            assert done.returncode == 2
            assert f"port {port} is taken" in done.stderr


def test_train_with_view_prints_an_address_and_serves(home):
    command = [
        *PARCADE,
        "train",
        "--view",
        "--view-port",
        "0",
        "--timesteps",
        "500M",
        "--n-envs",
        "2",
        "--n-workers",
        "1",
    ]
    process = subprocess.Popen(
        [*command, "--n-steps", "16", "--run-name", "viewed", "--plain"], cwd=home, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("watch at http://localhost:")
        port = int(line.rsplit(":", 1)[1].strip("/\n "))
        threading.Thread(target=process.stderr.read, daemon=True).start()

        def runs():
            return [run for run in json.loads(asked(port, "/api/runs")[2])["runs"] if run["name"].startswith("viewed/")]

        until(lambda: runs() and runs()[0]["is_live"] and runs()[0]["env_steps"], "the run", process=process)
        process.terminate()
        assert process.wait(DEADLINE_S) == 143
        until(lambda: not is_open(port), "the end of the server")
    finally:
        process.kill()
        process.wait()


def is_open(port):
    with socket.socket() as link:
        return link.connect_ex(("127.0.0.1", port)) == 0


def test_without_clients_nothing_is_drawn(home, training, watch):
    found = attach(training.run)
    arrays, metrics = found.showcase.arrays, training.run / "metrics.jsonl"

    def is_quiet_over_an_update():  # other tests' clients may be on their way out
        n_requests, size = int(arrays["n_requests"][0]), metrics.stat().st_size
        until(lambda: metrics.stat().st_size > size, "an update")
        return n_requests == int(arrays["n_requests"][0])

    try:
        until(is_quiet_over_an_update, "the last client to go")
        counts, rows = arrays["count"].copy(), metrics.stat().st_size
        until(lambda: metrics.stat().st_size > rows + 2000, "some updates")
        assert (arrays["count"] == counts).all()
        with pytest.raises(ValueError, match="read-only"):
            found.status["episode"][0] = 7
        with pytest.raises(ValueError, match="read-only"):
            found.blocks[0].reward[0, 0] = 1.0
    finally:
        found.close()
