"""Before a training the env is looked at: refused where nothing can be learned, else said once what is wrong."""

import logging
import warnings

import numpy as np
import pytest
from looked_at_envs import (
    Clock,
    HangsInReset,
    LateBrightPicture,
    LateCutPicture,
    LateEnd,
    LateHuge,
    LateInfinite,
    LateNan,
    LatePicture,
    LateReward,
    LateText,
    LateTextEnd,
    Scalar,
)

from parcade import make_pool, train
from parcade.errors import EnvError, PoolError, RunError
from parcade.pool import supervisor

SETTINGS = {
    **{"n_envs": 2, "n_steps": 16, "batch_size": 16, "save_freq": 0, "total_timesteps": 64},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False},
}


@pytest.mark.parametrize("n_workers", [0, 1])
def test_an_env_that_nothing_can_be_learned_in_is_refused_and_leaves_no_folder(tmp_path, n_workers):
    with pytest.raises(EnvError, match=r"cannot be trained on: The observation of reset in slot 0 is .*float32"):
        train(env=Scalar, n_workers=n_workers, log_root=str(tmp_path), **SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_an_env_that_is_not_repeatable_is_told_once_and_trained(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "parcade"):
        result = train(env=Clock, n_workers=1, log_root=str(tmp_path), **SETTINGS)
    told = [record.getMessage() for record in caplog.records if "brought back exactly" in record.getMessage()]
    assert len(told) == 1
    assert result.env_steps == 64


@pytest.mark.parametrize("n_workers", [0, 1])
def test_a_number_that_is_none_is_told_with_slot_key_and_step(tmp_path, n_workers):
    words = r"are no numbers: the observation 'obs' of slot 0 is no number at step 35 of its episode, step 70 of the"
    with pytest.raises(RunError, match=words):
        train(env=LateNan, n_workers=n_workers, log_root=str(tmp_path), **SETTINGS | {"n_steps": 64, "batch_size": 64})


ONE_ROLLOUT = SETTINGS | {"n_steps": 64, "batch_size": 64}
TOO_LARGE = {
    LateHuge: r"at step 34: its observation 'obs' is \[0.0, 1e\+300, 0.0\], which does not fit float32",
    LateInfinite: "the observation 'obs' of slot 0 is no number at step 35",
    LateReward: "the reward of slot 0 is beyond 32 bits at step 35",
}


@pytest.mark.parametrize("env", TOO_LARGE)
def test_a_number_too_large_for_32_bits_is_told_without_warnings_of_numpys(tmp_path, env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((RunError, EnvError), match=TOO_LARGE[env]):
            train(env=env, n_workers=0, log_root=str(tmp_path), **ONE_ROLLOUT)


PICTURES = {
    LatePicture: "is an array of float64 with nan in it, which does not fit uint8",
    LateBrightPicture: "is an array of int64 with 300 in it, which does not fit uint8",
    LateCutPicture: r"has shape \(20, 40, 3\), its space \(36, 40, 3\)",
}


@pytest.mark.parametrize("env", PICTURES)
@pytest.mark.parametrize("options", [{}, {"resize": (20, 20), "grayscale": True}])
def test_a_picture_that_is_none_is_told_with_its_slot_and_step(env, options):
    with make_pool(env, 1, n_workers=0, **options) as pool:
        pool.reset()
        for _ in range(34):
            pool.send(np.zeros(1, int))
            pool.recv()
        pool.send(np.zeros(1, int))
        with pytest.raises(EnvError, match=rf"slot 0 of 'factory' at step 34: its observation 'obs' {PICTURES[env]}"):
            pool.recv()


def test_a_hang_at_the_start_of_an_episode_is_told_at_once(caplog, monkeypatch):
    monkeypatch.setattr(supervisor, "SILENT_S", 0.5)
    with (
        make_pool(HangsInReset, 1, n_workers=1, step_deadline_s=2.0, restarts=0) as pool,
        caplog.at_level(logging.WARNING, "parcade"),
        pytest.raises(PoolError, match="in slot 0 at its reset of"),
    ):
        pool.call(0, "check", "env")
    assert any("slot 0 of 'factory' makes no progress" in one.getMessage() for one in caplog.records)
    assert "(worker 0, in its reset)" in caplog.text


def test_a_reward_that_is_text_is_told_with_its_slot_and_step():
    with make_pool(LateText, 1, n_workers=1) as pool:
        pool.reset()
        for _ in range(35):
            pool.send(np.zeros(1, int))
            rows = pool.recv()
        assert rows.truncated[0]
        assert "raised EnvError: its reward is '5', wanted a number in slot 0 at step 34" in pool.restarts[0]


def test_without_workers_too():
    with make_pool(LateText, 1, n_workers=0) as pool:
        pool.reset()
        for _ in range(34):
            pool.send(np.zeros(1, int))
            pool.recv()
        pool.send(np.zeros(1, int))
        with pytest.raises(EnvError, match=r"slot 0 of 'factory' at step 34: its reward is '5', wanted a number"):
            pool.recv()


ENDS = {LateEnd: "its terminated is None, wanted True or False", LateTextEnd: "its truncated is 'False', wanted True"}


@pytest.mark.parametrize("env", ENDS)
def test_an_end_that_is_neither_true_nor_false_is_told_with_its_slot_and_step(env):
    with make_pool(env, 1, n_workers=1) as pool:
        pool.reset()
        for _ in range(35):
            pool.send(np.zeros(1, int))
            rows = pool.recv()
        assert rows.truncated[0]
        assert f"raised EnvError: {ENDS[env]}" in pool.restarts[0]
        assert "in slot 0 at step 34" in pool.restarts[0]


@pytest.mark.parametrize("frame_skip", [None, 5])
@pytest.mark.parametrize("env", ENDS)
def test_such_an_end_without_workers_and_with_preprocessing(env, frame_skip):
    steps = 34 // (frame_skip or 1)
    with make_pool(env, 1, n_workers=0, frame_skip=frame_skip) as pool:
        pool.reset()
        for _ in range(steps):
            pool.send(np.zeros(1, int))
            pool.recv()
        pool.send(np.zeros(1, int))
        with pytest.raises(EnvError, match=rf"slot 0 of 'factory' at step {steps}: {ENDS[env]}"):
            pool.recv()
