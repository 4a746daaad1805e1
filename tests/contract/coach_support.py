"""What tests of a coach have in common: a small training with a guide, and a decision that waits for its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llm_support import LlmServer

from parcade import train
from parcade.run.model_file import load_model
from parcade.train.coach_asking import Asking

KEY = "sk-Sehr-Geheim-0123456789"
GUIDE = {
    "milestones": [
        {"name": "moved", "when": "changed(x) or changed(y)", "reward": 1},  # soon, so that a guide makes a difference
        {"name": "key", "when": "keys_taken >= 1", "reward": 2},
    ]
}
SMALL: dict[str, Any] = {
    **{"game": "lantern", "guide": GUIDE, "n_envs": 4, "n_workers": 0, "n_steps": 32, "batch_size": 64},
    **{"hidden": (8,), "video": False, "max_steps": 24, "final_eval_episodes": 0, "eval_freq": 0, "save_freq": 256},
    **{"total_timesteps": 128 * 10, "keep_checkpoints": 100},
}
COACH = {"every": 4, "effect": 2, "episodes": 4, "places": 3}
SPLIT = {
    "reason": "the key is <b>far</b>",
    "add": [
        {
            **{"name": "turned", "when": "changed(facing)", "reward": 0.5, "hint": "Look elsewhere."},
            **{"after": ["moved"], "before": ["key"]},
        }
    ],
    "reweight": [{"name": "moved", "reward": 0.5}],
    "reorder": [],
}


@pytest.fixture
def waits_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a decision wait for its answer: a test's updates take no time, and whether it comes in time is chance."""
    monkeypatch.setenv("PARCADE_LLM_KEY", KEY)
    answer: Callable[[Asking], Any] = Asking.answer

    def waited(self: Asking) -> Any:
        self.wait(200)
        return answer(self)

    monkeypatch.setattr(Asking, "answer", waited)
    monkeypatch.setattr(Asking, "priority", "usual")


def coached(root: Path, server: LlmServer | None, **more: Any) -> Path:
    asked = {} if server is None else {"llm": server.url, "llm_model": "m"}
    settings = {**SMALL, "coach": COACH, "log_root": str(root), **asked, **more}
    return Path(train(**settings).run_dir)


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "coach.jsonl").read_text().splitlines()]


def numbers_of(run: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "time"} for row in rows]


def assert_same(one: Path, other: Path) -> None:
    assert numbers_of(one) == numbers_of(other)
    weights, others = (load_model(run / "models" / "final_model.zip").weights for run in (one, other))
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight.numpy(), others[name].numpy())
