"""An env of the user's own, `module:Class`, that is none: the sentence says what was found."""

from pathlib import Path

import pytest

from parcade.cli.main import main

MODULE = """
import gymnasium as gym

class Mine(gym.Env):
    pass

class NotEnv:
    pass

def make():
    return Mine()
"""


@pytest.mark.parametrize("verb", ["train", "check"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("NotEnv", "notenvs:NotEnv is a class, wanted a subclass of gymnasium.Env"),
        ("make", "notenvs:make is a function, wanted a subclass of gymnasium.Env"),
        ("Mien", "the module notenvs has no Mien (did you mean 'Mine'?) and registers no such id"),
        ("Nothing-v0", "the module notenvs has no Nothing-v0 and registers no such id"),
    ],
)
def test_what_is_no_env_is_named(verb, name, told, tmp_path, capsys, monkeypatch):
    Path(tmp_path, "notenvs.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    assert main([verb, "--env-id", f"notenvs:{name}"]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert "--import" not in captured.err


TRAINS = """
import gymnasium as gym
import parcade
from parcade.game.lantern import Lantern

class Mine(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

class Title(Lantern):
    pass

gym.registry.pop("Mine-v7", None)
gym.register("Mine-v7", Mine)
{starts}
"""
STARTS = {
    "a training": "parcade.train(env=Mine, total_timesteps=64)",
    "an evaluation": "parcade.evaluate(None, env=Mine)",
    "a pool of envs": "parcade.make_pool(Mine, 2, n_workers=1)",
}


@pytest.mark.parametrize(
    ("verb", "what"),
    [
        (["train", "--env-id", "{module}:Mine"], "a training"),
        (["train", "--env-id", "{module}:Mine", "--n-workers", "0"], "a training"),
        (["train", "--env-id", "Mine-v7", "--import", "{module}"], "an evaluation"),
        (["train", "--game", "{module}:Title"], "a training"),
        (["check", "{module}:Mine"], "a pool of envs"),
    ],
)
def test_a_module_that_trains_when_it_is_imported_is_named(verb, what, tmp_path, capsys, monkeypatch):
    module = f"trains_{len(verb)}_{what.split()[-1]}_{verb[0]}"
    Path(tmp_path, f"{module}.py").write_text(TRAINS.format(starts=STARTS[what]))
    monkeypatch.chdir(tmp_path)
    assert main([word.format(module=module) for word in verb]) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("parcade: ")]
    wanted = f'the module {module} starts {what} when it is imported; put that under if __name__ == "__main__": in it'
    assert told == [f"parcade: {wanted}"]
    assert list(Path(tmp_path).glob("results/*/*")) == []
