"""What a person reads at the end of a training, and while it goes wrong."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from parcade import train
from parcade.cli.main import main
from parcade.env.spec import EnvSpec
from parcade.train.events import EvaluationFailed, Event, Finished, Opening, Playing, Started, Stopping
from parcade.train.go_on import eval_command, resume_command
from parcade.train.plain_progress import PlainProgress
from parcade.train.progress_text import evaluation_failed, headline, starting, stopping
from parcade.train.results import TrainResult
from parcade.train.summary import summary_text

SMALL: dict[str, Any] = {"n_envs": 2, "n_workers": 0, "n_steps": 32, "batch_size": 64, "video": False}
OWN = """
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv

class Good(CartPoleEnv):
    def __init__(self, place="", render_mode=None):
        super().__init__(render_mode=render_mode)
"""


def result(**changes: Any) -> TrainResult:
    numbers: dict[str, Any] = {"env_steps": 0, "episodes": 0, "seconds": 0.0, "steps_per_s": 0.0, "episodes_per_s": 0.0}
    outcome: dict[str, Any] = {"return_mean": None, "success_rate": None, "train_success_rate": None}
    told: dict[str, Any] = {"evaluation": None, "model": "m", "worker_restarts": 0, "interrupted": True}
    return TrainResult("run", **{**numbers, **outcome, **told, **changes})


def test_a_rollout_that_was_given_up_is_told_and_no_mean_of_nothing() -> None:
    text = summary_text(Finished(result(), None, 2, 0, dropped_steps=780))
    assert (
        "  steps        0 in 0.0 s (0 steps/s)\n               780 steps of an unfinished rollout were dropped" in text
    )
    assert "mean return" not in text
    assert "dropped" not in summary_text(Finished(result(return_mean=1.0, episodes=3), None, 2, 0))


def test_ctrl_c_in_a_rollout_says_how_many_steps_it_dropped(tmp_path: Path) -> None:
    finished = []

    def stop(event: Event) -> None:
        if isinstance(event, Playing):
            signal.raise_signal(signal.SIGINT)
        elif isinstance(event, Finished):
            finished.append(event)

    done = train(env_id="CartPole-v1", n_envs=2, n_workers=0, n_steps=4096, log_root=str(tmp_path), on_event=stop)
    assert done.env_steps == 0
    assert finished[0].dropped_steps > 0


def test_a_failed_final_evaluation_is_in_the_summary() -> None:
    failed = EvaluationFailed(256, "bad luck", is_final=True)
    assert evaluation_failed(failed) == "the final evaluation, after step 256, failed: bad luck"
    assert evaluation_failed(EvaluationFailed(128, "bad luck")).endswith("failed: bad luck; training goes on")
    told: list[str] = []
    PlainProgress(told.append)(failed)
    assert told == [], "the warning has told it"
    text = summary_text(Finished(result(), None, 2, 0, evaluation_failed="bad luck " * 20))
    assert "  evaluated    no: it failed (bad luck bad luck" in text
    assert max(map(len, text.splitlines())) <= 80


def test_only_ctrl_c_can_be_pressed_again() -> None:
    assert stopping(Stopping(signal.SIGINT)) == "stopping, with a checkpoint; Ctrl-C again stops at once"
    for number in (signal.SIGTERM, signal.SIGHUP):
        assert stopping(Stopping(number)).endswith(f"{number.name}, with a checkpoint; Ctrl-C stops at once")


def test_a_factory_goes_by_its_name(tmp_path: Path) -> None:
    told: dict[type, Any] = {}

    class Mine(gym.Wrapper):  # type: ignore[type-arg]
        def __init__(self) -> None:
            super().__init__(gym.make("CartPole-v1"))

    train(
        env=Mine,
        total_timesteps=64,
        final_eval_episodes=1,
        log_root=str(tmp_path),
        on_event=lambda event: told.update({type(event): event}),
        **SMALL,
    )
    name = Mine.__qualname__
    assert starting(told[Opening]) == f"starting 2 games of {name} …"
    assert headline(told[Started]).startswith(f"{name}: 2 games")
    assert f"of {name}, by the final model" in summary_text(told[Finished])
    assert told[Finished].resume_command.endswith(f"env={name})")


def test_commands_name_again_what_a_file_is_not_trusted_for() -> None:
    run = Path("results/a b")
    assert resume_command(EnvSpec(game="lantern"), run) == "parcade resume 'results/a b'"
    assert resume_command(EnvSpec(game="mine:Game", rom="x.gb"), run).endswith("--game mine:Game")
    assert eval_command(EnvSpec(game="mine:Game", rom="x.gb"), run).endswith("--game mine:Game --rom x.gb")
    spec = EnvSpec(env_id="CartPole-v1", imports=("json", "math"))
    assert resume_command(spec, run).endswith("--import json,math")


@pytest.mark.parametrize("more", [[], ["--env-kwargs", "place=a/b"]])
def test_the_printed_commands_work(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(tmp_path, "ownenvs.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    flags = ["--env-id", "ownenvs:Good", "--n-envs", "2", "--n-workers", "0", "--n-steps", "32", "--no-video"]
    arguments = ["train", *flags, *more, "--batch-size", "64", "--final-eval-episodes", "0", "--json"]
    assert main([*arguments, "--timesteps", "64"]) == 0
    (run,) = Path("results").glob("*/*")
    kwargs = {"place": "a/b"} if more else {}
    spec = EnvSpec(env_id="ownenvs:Good", env_kwargs=kwargs)
    capsys.readouterr()
    assert main([*resume_command(spec, run).split()[1:], "--timesteps", "128", "--json"]) == 0
    assert main([*eval_command(spec, run / "models/best_model.zip").split()[1:], "--episodes", "1", "--json"]) == 0
    assert resume_command(spec, run) in Path(run, "report.html").read_text()
