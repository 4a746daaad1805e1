"""Milestones in envs and pools: which ones running and ended episodes have reached, whoever plays them."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
from actors import Wayfarer
from pool_support import no_leaks  # noqa: F401

from parcade.api import make_env, make_pool
from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom
from parcade.env.console_env import ConsoleEnv
from parcade.env.milestones import told_milestones
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.game.lantern import Lantern
from parcade.game.milestone import Milestone

BLOCK = 0xC100
ACTOR = Wayfarer(Lantern.feature_names.index("way_up"))
NO_WEIGHTS = np.zeros(0, np.float32)


def played(n_workers: int, *, hurt: bool = False, steps: int = 120) -> tuple[list[Any], list[int]]:
    """Return the episodes that ended in two rollouts of three dungeons, and what is reached in those under way."""
    with make_pool("lantern", 3, n_workers=n_workers, seed=4, max_steps=200) as pool:
        pool.reset()
        ended = pool.play(ACTOR, NO_WEIGHTS, 1, steps).episodes()
        if hurt:
            os.kill(pool.worker_pids[0], signal.SIGKILL)
        ended += pool.play(ACTOR, NO_WEIGHTS, 1, steps).episodes()
        return ended, pool.status["milestones"].tolist()


@pytest.fixture(scope="module")
def alone() -> tuple[list[Any], list[int]]:
    return played(0)


def test_episodes_tell_their_milestones(alone: tuple[list[Any], list[int]]) -> None:
    ended, running = alone
    assert len(ended) >= 3
    for episode in ended:
        told = episode.metrics
        assert told["milestone_second_room"] >= told["milestone_key"] >= told["milestone_door"] >= told["success"]
        assert told["milestone_key"] == min(1, told["keys"])
    assert sum(episode.metrics["milestone_key"] for episode in ended) >= 1
    assert max(running) >= 1


@pytest.mark.parametrize(("n_workers", "hurt"), [(1, False), (2, True)])
def test_they_are_the_same_for_any_number_of_workers_and_after_a_death(
    alone: tuple[list[Any], list[int]], n_workers: int, hurt: bool
) -> None:
    assert played(n_workers, hurt=hurt) == alone


def test_a_pool_that_is_brought_to_the_same_place_knows_them() -> None:
    with make_pool("lantern", 3, n_workers=0, seed=4) as first, make_pool("lantern", 3, n_workers=0, seed=4) as second:
        first.reset()
        first.play(ACTOR, NO_WEIGHTS, 1, 60)
        second.load(first.dump())
        assert second.status["milestones"].tolist() == first.status["milestones"].tolist()
        assert max(first.status["milestones"]) >= 1


def test_an_episode_begins_without_milestones_and_a_state_with_its_own(tmp_path: Any) -> None:
    env = make_env("lantern")
    env.reset(seed=1)
    env.console.write(BLOCK + 27, bytes([2]))
    env.console.write(BLOCK + 29, bytes([1]))
    assert env.step(0)[4]["metrics"]["milestone_key"] == 1.0
    (tmp_path / "key.state").write_bytes(env.console.save())
    assert env.reset(seed=1)[1]["metrics"]["milestone_key"] == 0.0
    env.close()
    later = make_env("lantern", state=str(tmp_path / "key.state"))
    told = later.reset(seed=1)[1]["metrics"]
    assert (told["milestone_key"], told["milestone_door"]) == (1.0, 0.0)
    later.close()


def test_metrics_of_a_title_stay_as_they_were_and_stand_first() -> None:
    env = make_env("meadow")
    assert env.metric_names[: len(env.game.metric_names)] == env.game.metric_names
    assert env.metric_names[len(env.game.metric_names) :] == tuple(
        f"milestone_{name}" for name in ("first_monster", "route1", "route2", "taro", "hall")
    )
    told = told_milestones(EnvSpec(game="meadow"))
    assert {milestone.metric for milestone in told} <= set(env.metric_names)
    env.close()


def test_envs_without_milestones_have_none() -> None:
    assert told_milestones(EnvSpec(env_id="CartPole-v1")) == ()
    with make_pool("CartPole-v1", 2, n_workers=0) as pool:
        pool.reset()
        pool.send(np.zeros(2, int))
        pool.recv()
        assert pool.status["milestones"].tolist() == [0, 0]


def test_a_title_with_a_wrong_milestone_is_named() -> None:
    class Wrong(Lantern):
        def __init__(self) -> None:
            super().__init__()
            self.milestones = (Milestone("key", "kyes >= 1", "a field that is not there"),)

    console = GameBoy(builtin_rom("lantern.gb"))
    with pytest.raises(SettingsError, match=r"lantern: milestone 'key': column 1: .* \(did you mean 'keys'\?\)"):
        ConsoleEnv(console, Wrong())
    console.close()
