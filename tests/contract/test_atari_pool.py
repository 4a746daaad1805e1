"""Atari games in a pool: the same numbers for any number of workers, and after a worker's death."""

import os
import signal

import numpy as np
import pytest

from parcade import EnvSpec, make_pool
from parcade.env.by_id import registered_env

pytest.importorskip("ale_py", reason="Atari needs the extra `atari`")
SPEC = EnvSpec(
    env_id="ALE/Breakout-v5",
    **{"grayscale": True, "resize": (42, 42), "frames_stack": 2, "noop_max": 9, "fire_on_reset": True},
    **{"terminal_on_life_loss": True, "max_over_frames": True, "sticky_actions": 0.25, "reward_clip": 1.0},
)


def played(n_workers, kill_at=None):
    rng, told = np.random.default_rng(4), []
    with make_pool(SPEC, 3, n_workers=n_workers, seed=5) as pool:
        pool.reset()
        for step in range(70):
            if step == kill_at:
                os.kill(pool.worker_pids[0], signal.SIGKILL)
            pool.send(rng.integers(4, size=3))
            rows = pool.recv()
            told.append((rows.obs["obs"].tobytes(), rows.reward.tolist(), rows.terminated.tolist()))
    return told


def test_the_same_numbers_for_any_workers_and_after_a_death():
    alone = played(0)
    assert any(any(terminated) for _, _, terminated in alone)  # a life was lost
    assert played(2, kill_at=60) == alone


def test_workers_register_the_games_without_a_word(capfd):
    registered_env(SPEC)  # as a training does before its workers start: what it registered is sent to them
    with make_pool(SPEC, 1, n_workers=1, start_method="spawn") as pool:
        pool.reset()
    assert capfd.readouterr().err == ""
