"""A coached run that was stopped, killed or moved: the same numbers, with the server off."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from coach_support import (
    COACH,
    GUIDE,
    KEY,
    SMALL,
    SPLIT,
    assert_same,
    coached,
    lines_of,
    numbers_of,
    waits_for_answers,
)
from llm_support import llm_server, text

from parcade import resume
from parcade.run.checkpoint import list_checkpoints
from parcade.run.directory import RunFolder
from parcade.train.coach_asking import Asking
from parcade.train.given import settings_for
from parcade.train.scaling import Scaling
from parcade.train.training import Training


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was coached by a server, which is off by now."""
    with pytest.MonkeyPatch.context() as patch, llm_server(text(SPLIT)) as server:
        waits_for_answers.__wrapped__(patch)  # type: ignore[attr-defined]
        run = coached(tmp_path_factory.mktemp("whole"), server)
    assert [line["what"] for line in lines_of(run)][:2] == ["revised", "kept"]
    return run


@pytest.mark.parametrize("steps", [256, 512, 768, 1024])
def test_a_run_resumed_before_and_after_a_decision_gives_the_same_bits(steps: int, whole: Path, tmp_path: Path) -> None:
    run = cut_back(whole, tmp_path / "run", steps)
    resume(run, n_workers=2 if steps == 512 else 0)
    assert_same(whole, run)
    assert lines_of(run) == lines_of(whole)


def test_overlap_repeats_and_resumes_too(whole: Path, tmp_path: Path) -> None:
    first = coached(tmp_path / "a", None, coach_replay=str(whole), overlap=True)
    assert lines_of(first)[0]["what"] == "revised"
    assert numbers_of(first) != numbers_of(whole)
    run = cut_back(first, tmp_path / "b", 768)
    resume(run, n_workers=2)
    assert_same(first, run)


def test_games_that_move_to_other_workers_keep_their_guides(whole: Path, tmp_path: Path) -> None:
    given = {**SMALL, "coach": COACH, "coach_replay": str(whole), "log_root": str(tmp_path)}
    moved: list[int] = []

    class Moving(Scaling):
        def before_play(self) -> None:
            if self._training.updates in (5, 7) and self._training.updates not in moved:
                moved.append(self._training.updates)
                self._move(lambda: self._open(n_workers=len(moved)), "a test")

    with Training(settings_for(given), RunFolder.create(str(tmp_path), "moved")) as training:
        training.scaling = Moving(training)
        training.begin()
        training.run()
    assert moved == [5, 7]
    assert_same(whole, training.folder.path)


def test_a_workers_death_changes_nothing(whole: Path, tmp_path: Path) -> None:
    killed: list[int] = []
    given = {**SMALL, "coach": COACH, "coach_replay": str(whole), "log_root": str(tmp_path), "n_workers": 2}
    with Training(settings_for(given), RunFolder.create(str(tmp_path), "killed")) as training:

        class Killing(Scaling):
            def before_play(self) -> None:
                if self._training.updates in (3, 6, 7):
                    killed.append(self._training.pool.worker_pids[0])  # type: ignore[attr-defined]
                    os.kill(killed[-1], signal.SIGKILL)

        training.scaling = Killing(training)
        training.begin()
        training.run()
    assert len(killed) == 3
    assert_same(whole, training.folder.path)


def test_a_damaged_record_is_refused_or_left_out(whole: Path, tmp_path: Path, caplog: Any) -> None:
    run = cut_back(whole, tmp_path / "run", 256)
    with (run / "coach.jsonl").open("ab") as file:
        file.write(b'{"update": 10, "wha')  # a kill in the middle of a line
    resume(run, n_workers=0)
    assert_same(whole, run)
    assert "cannot be read; it is left out" in caplog.text


def test_a_foreign_record_runs_nothing(tmp_path: Path) -> None:
    evil = tmp_path / "evil.jsonl"
    evil.write_text(
        '{"update": 6, "what": "revised", "revision": {"add": [{"name": "x", "when": "__import__(\'os\')"}]}}\n'
        '{"update": "6", "what": "revised"}\n[]\n' + "[" * 5000 + "\n"
    )
    run = coached(tmp_path, None, coach_replay=str(evil), total_timesteps=128 * 7)
    (line,) = lines_of(run)
    assert line["what"] == "refused"


SCRIPT = """
from parcade import train
from parcade.train.coach_asking import Asking
Asking.priority = "usual"
train(**{settings!r})
"""


@pytest.mark.long
@pytest.mark.timeout(240)
def test_kill_9_while_a_request_is_under_way_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asking, "priority", "usual")
    given = {**SMALL, "guide": GUIDE, "coach": {**COACH, "every": 120, "effect": 119}, "log_root": str(tmp_path)}
    with llm_server(lambda handler, _: handler.server.closing.wait(200)) as silent:
        endless = {**given, "llm": silent.url, "llm_model": "m", "total_timesteps": 1 << 30}
        environment = {**os.environ, "PARCADE_LLM_KEY": KEY}
        process = subprocess.Popen([sys.executable, "-c", SCRIPT.format(settings=endless)], env=environment)
        try:
            wait_for(lambda: bool(silent.requests), 150)
            (asking,) = [one for one in psutil.Process(process.pid).children() if "coach_process" in one.cmdline()[2]]
        finally:
            process.kill()
            process.wait()
        wait_for(lambda: not asking.is_running(), 20)
    run = next((tmp_path / "lantern").iterdir())
    done = int(list_checkpoints(run / "checkpoints")[-1].stem.removeprefix("step_"))
    more = done + 128 * 130
    with llm_server(text({"reason": "fine"})) as server:
        result = resume(run, llm=server.url, total_timesteps=more)
        assert server.requests  # what was under way is asked again
    assert result.env_steps >= more
    rows = [row["update"] for row in numbers_of(run)]
    assert rows == list(range(1, len(rows) + 1))


def cut_back(run: Path, to: Path, steps: int) -> Path:
    """Copy a run as it would be had it been killed after the checkpoint of this step."""
    shutil.copytree(run, to)
    for path in list_checkpoints(to / "checkpoints"):
        if int(path.stem.removeprefix("step_")) > steps:
            path.unlink()
    (to / "summary.json").unlink()
    return to


def wait_for(fact: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.05)
