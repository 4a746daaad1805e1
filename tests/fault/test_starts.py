"""Episodes that begin at starts: the same numbers for any workers, while workers are killed, and bad input."""

import hashlib
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from parcade import make_pool, train
from parcade.errors import SettingsError
from parcade.explore.explorer import Explorer, ExploreSettings
from parcade.train.random_actor import RandomActor

SETTINGS = ExploreSettings(archive_share=0.7, novelty=0.3, novelty_kind="both", archive_size=50)
BY_MILESTONE = replace(SETTINGS, archive_strategy="milestone")
GUIDE = {"milestones": [{"name": "east", "when": "increased(x)"}, {"name": "south", "when": "increased(y)"}]}


def digests(n_workers, *, kills=(), settings=SETTINGS, **options):
    """Play five rollouts with an archive; return a digest of each block, and how many episodes began at a start."""
    found, begun = [], 0
    spec = {"max_steps": 30, "frame_skip": 24, "cells": True, **options}
    with make_pool("lantern", 5, n_workers=n_workers, seed=4, **spec) as pool:
        pool.reset()
        explorer = Explorer(settings, pool, seed=9)
        explorer.begin()
        actor = RandomActor(pool.action_space)
        for rollout in range(5):
            pool.start_play(actor, np.zeros(0, np.float32), 3, 40)
            if rollout in kills:
                os.kill(pool.worker_pids[rollout % n_workers], signal.SIGKILL)
            block = pool.finish_play()
            episodes = {(slot, int(number)) for slot in range(5) for number in block.episode[:, slot]}
            begun += sum(key in explorer._starts for key in episodes)
            explorer.after(block)
            parts = (block.reward, block.cell, block.action["obs"], *block.obs.values(), block.episode)
            parts += (*block.new_milestones.values(), *explorer.archive.state().values())
            found.append(hashlib.sha1(b"".join(part.tobytes() for part in parts)).hexdigest())
        assert len(pool.restarts) == len(kills)
    return found, begun


def test_workers_and_kills_change_no_number():
    wanted, begun = digests(0)
    assert begun > 10
    assert digests(1) == (wanted, begun)
    assert digests(2) == (wanted, begun)
    assert digests(3, kills=(1, 2, 4)) == (wanted, begun)


def test_neither_do_they_with_starts_by_milestones_and_visited_places():
    asked = {"settings": BY_MILESTONE, "guide": GUIDE, "visited": True}
    wanted, begun = digests(0, **asked)
    assert begun > 10
    assert digests(2, **asked) == (wanted, begun)
    assert digests(3, kills=(1, 2, 4), **asked) == (wanted, begun)


def test_a_step_tells_the_milestones_that_it_reached():
    with make_pool("lantern", 3, n_workers=0, seed=4, frame_skip=24, cells=True, guide=GUIDE) as pool:
        pool.reset()
        block = pool.play(RandomActor(pool.action_space), np.zeros(0, np.float32), 3, 60)
        reached = pool.status["guide"].copy()
        new = block.new_milestones["guide"]
        assert (np.bitwise_or.reduce(new) == reached).all()
        assert reached.all()
        assert new.sum() == reached.sum()  # each is told once in an episode


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"archive_share": 2}, "archive_share"),
        ({"env_id": "CartPole-v1", "novelty": 1.0}, "CartPole-v1 has no cells"),
        ({"archive_share": 0.5, "cell_kind": "picture"}, "needs pictures"),
        ({"archive_share": 0.5, "archive_strategy": "best"}, "archive_strategy"),
        ({"novelty": -1}, "novelty"),
        ({"env_id": "CartPole-v1", "archive_share": 0.5}, "CartPole-v1 has no cells"),
        ({"game": "airstriker", "archive_share": 0.5}, r"airstriker does not say what a cell is \(no method cell or"),
        (
            {"env_id": "CartPole-v1", "archive_share": 0.5, "archive_strategy": "milestone"},
            "archive_strategy milestone needs milestones, and CartPole-v1 has none",
        ),
        ({"shift_pixels": 2}, "shift_pixels is 2, but the policy sees no picture"),
        ({"shift_pixels": -1}, "shift_pixels"),
    ],
)
def test_bad_input_is_one_sentence(settings, told, tmp_path):
    with pytest.raises(SettingsError, match=told) as error:
        train(**settings, log_root=str(tmp_path), total_timesteps=64, n_envs=2, n_steps=8)
    assert "\n" not in str(error.value)
    assert not any(tmp_path.iterdir())
