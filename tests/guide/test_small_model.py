"""The small model itself, in a real llama.cpp server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from coach_support import assert_same, coached, lines_of

from parcade import train
from parcade.cli.main import main
from parcade.config.file import read_guide
from parcade.game.condition import condition_faults
from parcade.game.guide import guide_milestones
from parcade.game.titles import find_title
from parcade.guide.embedded import embedded_model
from parcade.guide.schema import guide_schema
from parcade.train.coach_asking import Asking

pytest.importorskip("llama_cpp", reason="the small model is not installed; `make test-guide` does that")
pytestmark = pytest.mark.timeout(900)


def servers_of(pid: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(pid).children(recursive=True) if "llama_server" in " ".join(one.cmdline())]


@pytest.mark.parametrize("title", ["lantern", "meadow"])
def test_a_guide_is_written_with_no_server_and_no_key(
    title: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARCADE_LLM_KEY", raising=False)
    assert main(["guide", "write", "--game", title, "--json"]) == 0
    told = capsys.readouterr()
    assert "small model" in told.err
    assert json.loads(told.out)["milestones"] >= 1
    guide = read_guide("guide.yaml")
    assert guide_milestones(guide, find_title(title))
    assert main(["guide", "check", "guide.yaml"]) == 0
    assert servers_of(os.getpid()) == []
    small = {"n_envs": 2, "n_workers": 0, "n_steps": 32, "max_steps": 40, "hidden": (8,), "video": False}
    result = train(game=title, guide="guide.yaml", total_timesteps=256, final_eval_episodes=0, **small)
    assert set(result.milestones) >= {f"guide_{one['name']}" for one in guide["milestones"]}


def test_the_server_holds_its_model_to_a_schema_and_its_door_shut() -> None:
    fields = find_title("lantern").fields
    with embedded_model() as client:
        said = client.ask([{"role": "user", "content": "Write milestones."}], guide_schema(fields, simple=True))
        data = json.loads(said.text)
        assert not [fault for one in data["milestones"] for fault in condition_faults(one["when"], fields)]
        assert said.tokens["completion_tokens"] > 0
        url = f"{client.url}/chat/completions"
        assert httpx.post(url, json={}).status_code == 401
        assert httpx.post(url, content=b"[", headers=client.key.headers).status_code == 400
        assert httpx.post(f"{client.url}/files", json={}, headers=client.key.headers).status_code == 404
        (server,) = servers_of(os.getpid())
        assert {one.laddr.ip for one in server.net_connections() if one.status == "LISTEN"} == {"127.0.0.1"}
    assert not server.is_running()


def test_the_server_ends_with_the_process_that_started_it() -> None:
    script = "from parcade.guide.embedded import embedded_model\nwith embedded_model(): input()\n"
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (found := servers_of(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    while found[0].is_running() and found[0].status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_small_model_coaches_and_the_run_repeats_without_it(tmp_path: Path, monkeypatch: Any) -> None:
    answer = Asking.answer

    def waited(self: Asking) -> Any:
        self.wait(600)
        return answer(self)

    monkeypatch.setattr(Asking, "answer", waited)
    monkeypatch.setattr(Asking, "priority", "usual")
    run = coached(tmp_path / "a", None, total_timesteps=128 * 7)
    (line, *_) = lines_of(run)
    assert line["what"] in ("revised", "unchanged", "failed"), line
    assert "cannot" not in line["words"] or line["what"] != "failed", line  # it was asked, whatever it said
    conversation = json.loads((run / "coach" / "update_000000004.json").read_text())
    assert conversation["model"] == "SmolLM2-135M-Instruct"
    assert_same(run, coached(tmp_path / "b", None, coach_replay=str(run), total_timesteps=128 * 7))
