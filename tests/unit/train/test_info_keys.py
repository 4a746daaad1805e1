"""A key of ``info_keys`` that no info has is named once, with the keys there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from parcade import train

ROLLOUT: dict[str, Any] = {"n_envs": 2, "n_steps": 64, "batch_size": 128, "total_timesteps": 384}
QUIET: dict[str, Any] = {"final_eval_episodes": 0, "video": False}


class Told(gym.Wrapper):  # type: ignore[type-arg]
    """CartPole whose infos hold something."""

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1", max_episode_steps=6))

    def step(self, action: Any) -> Any:
        *told, info = self.env.step(action)
        return *told, {**info, "zap": 1.0, "colour": "red"}


@pytest.mark.parametrize("n_workers", [0, 1])
def test_a_mistyped_key_is_told_once(n_workers: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys = ("zap", "zip", "colour")
    train(env=Told, info_keys=keys, n_workers=n_workers, log_root=str(tmp_path), **ROLLOUT, **QUIET)
    told = [record.getMessage() for record in caplog.records if "info_keys" in record.getMessage()]
    assert told[0] == "info_keys: 'colour' is a str, no number; its metric stays empty"
    assert told[1].startswith("info_keys: no info had 'zip' (did you mean 'zap'?) at the end of the first ")
    assert told[1].endswith(" episodes; an info has colour, zap")
    assert len(told) == 2


def test_with_overlap_nobody_asks_the_games(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    train(env=Told, info_keys=("zip",), n_workers=1, overlap=True, log_root=str(tmp_path), **ROLLOUT, **QUIET)
    (told,) = [record.getMessage() for record in caplog.records if "info_keys" in record.getMessage()]
    assert told.endswith("episodes")
