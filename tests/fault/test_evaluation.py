"""Evaluations in a pool: the numbers of one env played alone, whatever the workers and whatever happens to them."""

import os
import time

import cloudpickle
import numpy as np
import pytest
import toy_envs as toys
from pool_support import no_leaks  # noqa: F401
from toy_envs import one

from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom
from parcade.env.make import make
from parcade.env.slot import as_slot_env, fresh_rows
from parcade.env.spec import EnvSpec
from parcade.errors import PoolError
from parcade.game.lantern import Lantern
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.single_actor import SingleActor
from parcade.train.assembly import leaf_shapes
from parcade.train.evaluation import evaluate, first_seed, play_episodes


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Restart dead workers at once."""
    monkeypatch.setattr("parcade.pool.lifecycle.PAUSES_S", (0.0,))


def toy_spec(cls, **options):
    return EnvSpec(factory=cloudpickle.dumps(one(cls, **options)))


def seen(result):
    return [(e.seed, e.total_reward, e.length) for e in result.episodes]


@pytest.mark.parametrize("net", [{}, {"lstm": 8}], ids=["vectors", "memory"])
def test_the_numbers_are_those_of_one_env_played_alone(net):
    spec = EnvSpec(game="lantern", max_steps=20)
    env = make(spec)
    policy = Policy(leaf_shapes(env.observation_space), env.action_space, NetSettings(**net))
    slot_env, rows, actor = as_slot_env(env), fresh_rows(env.observation_space), SingleActor(policy, seed=7)
    alone = []
    for number in range(6):
        episode_seed, total, length, over = first_seed(7) + number, 0.0, 0, False
        slot_env.begin(episode_seed, rows)
        actor.begin(episode_seed)
        while not over:
            reward, terminated, truncated = slot_env.advance(actor(rows), rows)
            total, length, over = total + reward, length + 1, terminated or truncated
        alone.append((episode_seed, total, length))
    env.close()
    for n_workers in (0, 1, 2):
        assert seen(play_episodes(policy, spec, episodes=6, seed=7, n_workers=n_workers)) == alone


def test_a_worker_that_dies_changes_nothing(tmp_path):
    calm = play_episodes(None, toy_spec(toys.Toy), episodes=9, n_workers=2)
    deadly = toy_spec(toys.Segfault, marker=str(tmp_path / "died"), where="reset", seeds=(first_seed(0) + 4,))
    assert seen(play_episodes(None, deadly, episodes=9, n_workers=2)) == seen(calm)
    assert (tmp_path / "died").exists()


def test_an_episode_that_cannot_be_begun_is_left_out_and_told(caplog):
    deadly = toy_spec(toys.Segfault, where="reset", seeds=(first_seed(0) + 4,))
    result = play_episodes(None, deadly, episodes=9, n_workers=2)
    assert [e.seed - first_seed(0) for e in result.episodes] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert result.cut_episodes == 1
    assert "1 of 9 episodes crashed every time and are left out" in caplog.text


class Falls(toys.Toy):
    """Kills its process in the third step of every episode, or only of those with these seeds."""

    def __init__(self, seeds=None):
        self._deadly = seeds

    def reset(self, *, seed=None, options=None):
        self._is_deadly = self._deadly is None or seed in self._deadly
        return super().reset(seed=seed)

    def step(self, action):
        if self._is_deadly and self._steps == 2:
            os._exit(7)
        return super().step(action)


@pytest.mark.long
@pytest.mark.parametrize("episodes", [1, 2, 8])
@pytest.mark.parametrize("env", [toy_spec(toys.Segfault, where="reset"), toy_spec(Falls)], ids=["reset", "step"])
def test_an_env_that_always_dies_ends_an_evaluation_of_any_length_with_one_error(env, episodes):
    which = "the only episode" if episodes == 1 else f"each of the first {min(3, episodes)} episodes"
    with pytest.raises(PoolError, match=f"{which} crashed every time: .*(killed by SIGSEGV|code 7)"):
        play_episodes(None, env, episodes=episodes, n_workers=1)


@pytest.mark.long
def test_episodes_that_crash_are_left_out_however_many_there_are(caplog):
    deadly = tuple(first_seed(0) + number for number in range(1, 12))
    calm = seen(play_episodes(None, toy_spec(toys.Toy), episodes=14, n_workers=0))
    result = play_episodes(None, toy_spec(Falls, seeds=deadly), episodes=14, n_workers=2)
    assert seen(result) == [calm[0], *calm[12:]]
    assert result.cut_episodes == result.to_dict()["cut_episodes"] == 11
    assert "11 of 14 episodes crashed every time and are left out" in caplog.text


def test_every_worker_takes_a_folder_of_states_in_turn(tmp_path):
    console = GameBoy(builtin_rom("lantern.gb"))
    for seed, name in enumerate(("a", "b", "c")):
        Lantern().start(console, seed)
        (tmp_path / f"{name}.state").write_bytes(console.save())
    console.close()
    spec = EnvSpec(game="lantern", state=str(tmp_path), max_steps=15)
    found = [seen(play_episodes(None, spec, episodes=7, n_workers=n)) for n in (0, 1, 2)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("n_workers", [0, 2])
def test_it_can_be_stopped_at_once(n_workers):
    asked = []

    def stopped():
        asked.append(True)
        return len(asked) > 3

    result = play_episodes(None, toy_spec(toys.Toy), episodes=10_000, n_workers=n_workers, stopped=stopped)
    assert len(result.episodes) < 10_000


def test_chance_is_the_same_twice_and_another_seed_is_another_chance():
    spec = EnvSpec(game="lantern", max_steps=15)
    first, again = (evaluate(random=True, spec=spec, episodes=3, seed=1, n_workers=n) for n in (0, 2))
    assert seen(first) == seen(again)
    other = evaluate(random=True, spec=spec, episodes=3, seed=2, n_workers=0)
    assert not np.array_equal([e.total_reward for e in first.episodes], [e.total_reward for e in other.episodes])


def test_a_hang_does_not_keep_an_evaluation_from_being_stopped():
    began, hanging = time.monotonic(), toy_spec(toys.Hang, where="reset")
    result = play_episodes(None, hanging, episodes=4, n_workers=1, stopped=lambda: time.monotonic() - began > 1)
    assert result.episodes == ()
    assert time.monotonic() - began < 20
