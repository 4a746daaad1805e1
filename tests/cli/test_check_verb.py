"""`parcade check`: what is wrong with an env, a title or a config file, also where the env crashes or hangs."""

import json

import pytest

from parcade.cli.main import main

ENVS = """
import ctypes
import time

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Good(gym.Env):
    observation_space = spaces.Dict({"place": spaces.Box(-9, 9, (2,), np.float32), "turn": spaces.Discrete(99)})
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.turn = 0
        return self.seen(), {}

    def seen(self):
        return {"place": self.np_random.uniform(-1, 1, 2).astype(np.float32), "turn": self.turn}

    def step(self, action):
        self.turn += 1
        return self.seen(), 1.0, self.turn >= 12, False, {}


class OldStep(Good):
    def step(self, action):
        return super().step(action)[:4]


class Crashes(Good):
    def step(self, action):
        if self.turn == 3:
            ctypes.string_at(0)
        return super().step(action)


class Hangs(Good):
    def reset(self, *, seed=None, options=None):
        time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    (tmp_path / "checked_envs.py").write_text(ENVS)
    monkeypatch.chdir(tmp_path)


def checked(capsys, *words):
    code = main(["check", *words, "--json", "--steps", "20"])
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_a_good_title_has_nothing_wrong(capsys):
    assert main(["check", "lantern", "--slots", "1", "--steps", "5"]) == 0
    assert "lantern: nothing is wrong (1 game of up to 5 steps" in capsys.readouterr().out


def test_a_fault_is_told_with_its_place(capsys):
    code, told = checked(capsys, "checked_envs:OldStep")
    assert (code, told["ok"], told["env"]) == (1, False, "checked_envs:OldStep")
    assert told["faults"][0].startswith("step 1 in slot 0 returned a tuple of 4 parts.")


def test_a_crash_is_told_in_words(capsys):
    code, told = checked(capsys, "checked_envs:Crashes")
    assert code == 1
    assert told["faults"][0].startswith("The env was killed by SIGSEGV at step 4 in slot 0.")


def test_a_hang_is_told_and_ended(capsys):
    code, told = checked(capsys, "checked_envs:Hangs", "--deadline-s", "3")
    assert code == 1
    assert told["faults"][0].startswith("The env did not move for 3 s at reset in slot 0 and was ended.")


def test_a_config_file_is_checked_whole(tmp_path, capsys):
    (tmp_path / "mine.yaml").write_text("env_id: checked_envs:Good\ncnn: nature\ntotal_timesteps: 10\n")
    code, told = checked(capsys, "mine.yaml")
    assert (code, told["faults"]) == (0, [])
    assert any("cnn nature has no effect" in note for note in told["notes"])
    assert any("longer than total_timesteps 10" in note for note in told["notes"])
    (tmp_path / "mine.yaml").write_text("env_id: checked_envs:Good\nhidden: [3000000, 3000000]\n")
    code, told = checked(capsys, "mine.yaml")
    assert code == 1
    assert "GiB" in told["faults"][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "check needs a title, a Gymnasium id"),
        (["CartPole-v9"], "'CartPole-v9' is not registered (did you mean 'CartPole-v1'?)"),
        (["nothere.yaml"], "the config file nothere.yaml cannot be read"),
        (["CartPole-v1", "--slots", "0"], "--slots is 0, wanted 1 or more"),
        (["checked_envs:Good", "--resize", "84"], "need a uint8 picture"),
    ],
)
def test_bad_input_is_one_sentence(words, told, capsys):
    code = main(["check", *words])
    printed = capsys.readouterr()
    assert told in printed.err + printed.out
    assert code == (1 if "--resize" in words else 2)
