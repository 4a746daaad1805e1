"""Slots that play by themselves: what they leave is what steps sent one by one would, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time

import numpy as np
import pytest
import toy_envs as toys
from actors import Nonsense, Remembering, Scripted, Stumbling, Watchful
from pool_support import copied, no_leaks, own_blocks, play, same  # noqa: F401
from toy_envs import KILL, one

from parcade.api import make_pool
from parcade.errors import PoolError, SettingsError
from parcade.pool.progress import StepRows
from parcade.pool.seeding import NumberedEpisodes, episode_seed

SEED, N, STEPS = 5, 5, 24


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Restart dead workers at once."""
    monkeypatch.setattr("parcade.pool.lifecycle.PAUSES_S", (0.0,))


class Told:
    """One action for each step and slot: 0 and 1 in turn, and KILL where it is said."""

    def __init__(self, steps=STEPS, n_envs=N, kills=()):
        self.actions = (np.arange(steps)[:, None] + np.arange(n_envs)) % 2
        for step, slot in kills:
            self.actions[step, slot] = KILL

    def batch(self, t, group=0):
        return self.actions[t, group :: self.n_groups]

    n_groups = 1

    def actor(self, cls=Scripted):
        return cls(self.actions.shape[1], self.actions.size)

    @property
    def weights(self):
        return self.actions.astype(np.float32).ravel()


def pool_of(factory, n_envs=N, **options):
    pool = make_pool(factory, n_envs, seed=SEED, **options)
    pool.reset()
    return pool


def rows_of(block):
    """Return a block as the list that ``play`` returns."""
    out = [{f"obs:{leaf}": array[0].copy() for leaf, array in block.obs.items()}]
    places = np.cumsum(block.ended, 0) - block.ended
    for t in range(block.n_steps):
        out.append(
            copied(
                StepRows(
                    {leaf: array[t + 1] for leaf, array in block.obs.items()},
                    *(array[t] for array in (block.reward, block.terminated, block.truncated)),
                    {leaf: array[places[t], np.arange(block.n_envs)] for leaf, array in block.final.items()},
                    *(array[t] for array in (block.episode_return, block.episode_length, block.metrics)),
                )
            )
        )
    return out


def played(pool, told, steps=STEPS, first=0):
    return rows_of(pool.play(told.actor(), told.weights, first, steps))


def sent(told, factory=None, n_envs=N, **options):
    """The same steps, sent one by one to a pool in which nothing dies."""
    with pool_of(factory or one(toys.Toy), n_envs, n_workers=0, **options) as pool:
        rows = play(pool, len(told.actions), script=told)
        return rows, pool.dump()


@pytest.mark.parametrize("n_workers", [0, 1, 2, 3])
def test_a_fragment_is_what_single_steps_are(n_workers):
    told = Told()
    rows, dump = sent(told)
    with pool_of(one(toys.Toy), n_workers=n_workers) as pool:
        same(rows, played(pool, told))
        assert {name: a.tolist() for name, a in pool.dump().items()} == {n: a.tolist() for n, a in dump.items()}


@pytest.mark.parametrize("n_workers", [0, 2])
def test_fragments_and_single_steps_follow_each_other(n_workers):
    told = Told(4 * STEPS)
    rows, _ = sent(told)
    with pool_of(one(toys.Toy), n_workers=n_workers, n_groups=2) as pool:
        told.n_groups = 2
        first = played(pool, told)
        between = play(pool, STEPS, first=STEPS, script=told)[2:]
        saved = pool.dump()
        last = played(pool, told, first=2 * STEPS)
        pool.load(saved)
        again = played(pool, told, first=2 * STEPS)
        end = played(pool, told, first=3 * STEPS)
    same(last, again)
    same(rows[: STEPS + 1], first)
    joined = [{name: np.empty((N, *a.shape[1:]), a.dtype) for name, a in row.items()} for row in between[::2]]
    for index, row in enumerate(joined):
        for group in (0, 1):
            for name in row:
                row[name][group::2] = between[2 * index + group][name]
    same(rows[STEPS + 1 : 2 * STEPS + 1], joined)
    same(rows[2 * STEPS + 1 :], [*last[1:], *end[1:]])


def test_lantern_plays_the_same_in_any_number_of_workers():
    options = {"max_steps": 9}
    told = Told(20, 6)
    rows, _ = sent(told, "lantern", 6, **options)
    for n_workers in (0, 2, 4):
        with pool_of("lantern", 6, n_workers=n_workers, **options) as pool:
            same(rows, played(pool, told, 20))


def test_another_length_takes_another_block_and_the_first_is_removed():
    told = Told()
    with pool_of(one(toys.Toy), n_workers=2) as pool:
        played(pool, told, 4)
        played(pool, told, 8)
        assert len(own_blocks()) == 3  # the status, the showcase and one block
    assert own_blocks() == []


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (toys.Raise, "raised ZeroDivisionError: a toy fault"),
        (toys.Segfault, "killed by SIGSEGV"),
        (toys.Exit, "exited by itself with code 7"),
        (toys.Hang, "did not move for 0.5 s and was killed"),
    ],
)
def test_a_step_that_kills_once_changes_nothing(cls, words, tmp_path):
    told = Told(kills=[(15, 1)])
    rows, dump = sent(told)
    deadline = 0.5 if cls is toys.Hang else 60.0
    with pool_of(one(cls, marker=str(tmp_path / "died")), n_workers=2, step_deadline_s=deadline) as pool:
        same(rows, played(pool, told))
        (line,) = pool.restarts
        assert words in line
        assert " in slot 1 at step " in line
        assert "restored exactly" in line
        assert {name: a.tolist() for name, a in pool.dump().items()} == {n: a.tolist() for n, a in dump.items()}


def test_a_step_that_always_kills_is_cut_out_and_the_fragment_goes_on():
    told = Told(kills=[(3, 1)])
    rows, _ = sent(told)
    with pool_of(one(toys.Segfault), n_workers=1) as pool:
        found = played(pool, told)
        assert found[1 + 3]["truncated"].tolist() == [False, True, False, False, False]
        assert found[1 + 3]["length"][1] == 3
        assert (found[1 + 3]["final:obs"][1] == found[3]["obs:obs"][1]).all()
        assert (pool.cut_episodes, len(pool.restarts)) == (1, 2)
        others = [0, 2, 3, 4]
        for a, b in zip(rows, found, strict=True):
            assert all(a[name][others].tobytes() == b[name][others].tobytes() for name in a)
        dump = pool.dump()
        assert (dump["episode"] == pool.status["episode"]).all()


def test_resets_that_kill_are_skipped():
    seeds = (episode_seed(SEED, 1, 1), episode_seed(SEED, 4, 2))
    with pool_of(one(toys.Segfault, where="reset", seeds=seeds), n_workers=2, restarts=6) as pool:
        found = played(pool, Told(60), 60)
        assert all(np.isfinite(row["obs:obs"]).all() for row in found)
        assert pool.cut_episodes == 2
        assert (pool.dump()["episode"] == pool.status["episode"]).all()


def test_workers_killed_from_outside_at_any_moment_change_nothing():
    told = Told(160)
    rows, dump = sent(told, one(toys.Slow, base_s=0.0))
    random.seed(3)
    with pool_of(one(toys.Slow, base_s=0.001), n_workers=2, restarts=100) as pool:
        done = threading.Event()

        def kill():
            while not done.wait(random.uniform(0.05, 0.25)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(pool.worker_pids), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        found = []
        for first in range(0, 160, 40):
            found += played(pool, told, 40, first)[1 if first else 0 :]
        done.set()
        killer.join()
        same(rows, found)
        assert len(pool.restarts) > 2
        assert {name: a.tolist() for name, a in pool.dump().items()} == {n: a.tolist() for n, a in dump.items()}


@pytest.mark.parametrize("n_workers", [0, 2])
def test_an_actor_that_stumbles_is_told_at_once(n_workers):
    told = Told()
    with pool_of(one(toys.Toy), n_workers=n_workers) as pool:
        with pytest.raises(PoolError, match="the actor raised ValueError: the actor stumbles"):
            pool.play(told.actor(Stumbling), told.weights, 0, STEPS)
        assert pool.restarts == []


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("far", "wanted numbers from 0 to 2"),
        ("half", "float64 of shape"),
        ("few", r"int64 of shape \(1,\), wanted"),
        ("none", "object of shape"),
    ],
)
def test_choices_that_are_none_are_the_actors_fault(kind, words, n_workers):
    with pool_of(one(toys.Toy), n_workers=n_workers) as pool:
        with pytest.raises(PoolError, match=f"the actor raised ValueError: .*{words}"):
            pool.play(Nonsense(N, 1, kind), np.zeros(1), 0, STEPS)
        assert pool.restarts == []
        assert pool.cut_episodes == 0


@pytest.mark.parametrize(
    ("weights", "seed", "steps", "words"),
    [
        (None, 0, 0, "n_steps is 0, wanted a whole number from 1 on"),
        (None, 0, -1, "n_steps is -1, wanted"),
        (None, 0, 2.5, "n_steps is 2.5, wanted"),
        (np.zeros(3), 0, STEPS, r"the actor wants 120 numbers as weights, got float64 of shape \(3,\)"),
        (np.full(120, "x"), 0, STEPS, "got <U1 of shape"),
        (None, -1, STEPS, "the actor's seed is -1, wanted"),
        (None, 2**64, STEPS, "the actor's seed is 18446744073709551616, wanted"),
        (None, None, STEPS, "the actor's seed is None, wanted"),
    ],
)
def test_an_impossible_fragment_is_refused_and_leaves_nothing_under_way(weights, seed, steps, words):
    told = Told()
    with pool_of(one(toys.Toy), n_workers=0) as pool:
        with pytest.raises(SettingsError, match=words):
            pool.play(told.actor(), told.weights if weights is None else weights, seed, steps)
        played(pool, told)
    assert own_blocks() == []


@pytest.mark.parametrize("n_workers", [0, 2])
def test_a_fragment_waits_for_no_steps_under_way(n_workers):
    told = Told()
    with pool_of(one(toys.Toy), n_workers=n_workers) as pool:
        pool.send(told.batch(0))
        with pytest.raises(PoolError, match="steps are under way"):
            played(pool, told)
        pool.recv()
        played(pool, told)


def test_a_pool_left_in_the_middle_of_a_fragment_can_be_reset():
    """As after a Ctrl-C: workers finish what they began, and it is forgotten."""
    told = Told(100)
    rows, _ = sent(told, one(toys.Slow, base_s=0.0))
    with pool_of(one(toys.Slow), n_workers=2) as pool:
        interrupt = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
        interrupt.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            played(pool, told, 100)
        assert time.monotonic() - began < 10
        pool.reset()
        same(rows, played(pool, told, 100))


def test_an_actor_sees_the_rows_of_its_slots():
    def watched(n_workers):
        with pool_of(one(toys.Toy), n_workers=n_workers) as pool:
            return rows_of(pool.play(Watchful(N, 1), np.zeros(1), 0, STEPS))

    same(watched(0), watched(2))


def remembered(pool, steps=STEPS, **options):
    """Play in two fragments; return everything, what the actor left too."""
    found = []
    for _ in range(2):
        block = pool.play(Remembering(N, 1), np.zeros(1), 0, steps, **options)
        kept = {"memory": block.memory, "params": block.params, "value": block.value, "drawn": block.drawn}
        found += [*rows_of(block), {name: array.copy() for name, array in kept.items()}]
    return [*found, {"memory": pool.progress.memory()}]


def test_memory_goes_on_over_fragments_and_ends_with_its_episode():
    with pool_of(one(toys.Toy), n_workers=0) as pool:
        expected = remembered(pool)
        assert pool.progress.memory().any()
    for n_workers in (1, 2):
        with pool_of(one(toys.Toy), n_workers=n_workers) as pool:
            same(expected, remembered(pool))


def test_memory_is_restored_exactly_after_deaths():
    with pool_of(one(toys.Slow, base_s=0.0), n_workers=0) as pool:
        expected = remembered(pool, 80)
    random.seed(5)
    with pool_of(one(toys.Slow, base_s=0.001), n_workers=2, restarts=100) as pool:
        done = threading.Event()

        def kill():
            while not done.wait(random.uniform(0.05, 0.2)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(pool.worker_pids), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            found = remembered(pool, 80)
        finally:
            done.set()
            killer.join()
        same(expected, found)
        assert pool.restarts


@pytest.mark.parametrize("n_workers", [0, 2])
def test_two_blocks_in_turn_hold_what_one_block_holds(n_workers):
    """While one is read, the next is written: what overlapping learning and playing needs."""
    told = Told(4 * STEPS)
    rows, _ = sent(told)
    with pool_of(one(toys.Toy), n_workers=n_workers) as pool:
        pool.make_room(STEPS, told.actor(), n_blocks=2)
        found, before = [], None
        for turn in range(4):
            pool.start_play(told.actor(), told.weights, turn * STEPS, STEPS, block=turn % 2)
            if before is not None:
                found += rows_of(before)[1 if turn > 1 else 0 :]
            before = pool.finish_play()
        same(rows, [*found, *rows_of(before)[1:]])


def test_slots_with_numbered_episodes_stop_when_they_are_all_played():
    seeds = NumberedEpisodes(first_seed=1000, n_slots=3, n_episodes=7)

    def ended(n_workers):
        with make_pool(one(toys.Toy), 3, n_workers=n_workers, episodes=seeds) as pool:
            pool.reset()
            found = {}
            for _ in range(40):
                block = pool.play(Watchful(3, 1), np.zeros(1), 0, 10)
                found |= {seeds.number(e.slot, e.number): (e.total_reward, e.length) for e in block.episodes()}
            return found

    alone = ended(0)
    assert sorted(alone) == list(range(7))
    assert ended(2) == alone
