"""What every pool promises: the same numbers, however its envs are run, and whatever happens to its workers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
import toy_envs as toys
from gymnasium import spaces
from pool_support import Script, copied, no_leaks, play, reference, same, until  # noqa: F401
from toy_envs import one

from parcade.api import make_pool
from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom
from parcade.errors import EnvError, MissingExtraError, PoolError, SettingsError
from parcade.game.lantern import Lantern
from parcade.pool.mapped import POISON

SEED = 5
LANTERN = {"max_steps": 12}  # episodes end within the few steps a test takes
TOYS = (toys.Toy, toys.DictObs, toys.TupleObs, toys.BigObs, toys.MultiActions, toys.BinaryActions, toys.BoxActions)


def pool_of(env, n_envs, **options):
    pool = make_pool(env, n_envs, seed=SEED, **options)
    pool.reset()
    return pool


@pytest.fixture(scope="module")
def lantern():
    """The serial pool's play of 8 Lanterns: 30 steps of features, in one group."""
    return reference("lantern", 8, 30, seed=SEED, **LANTERN)


@pytest.mark.parametrize("n_workers", [1, 2, 4, 8])
def test_a_process_pool_equals_the_serial_pool_for_any_number_of_workers(lantern, n_workers):
    with pool_of("lantern", 8, n_workers=n_workers, **LANTERN) as pool:
        same(lantern, play(pool, 30))
        assert pool.restarts == []


def test_and_for_spawned_workers(lantern):
    with pool_of("lantern", 8, n_workers=2, start_method="spawn", **LANTERN) as pool:
        same(lantern, play(pool, 30))


def test_and_for_forked_workers():
    """In a process of its own: a fork copies the locks that threads of other tests may hold at that moment."""
    code = """
        from pool_support import play, reference, same
        from test_pool import LANTERN, SEED, pool_of
        expected = reference("lantern", 8, 30, seed=SEED, **LANTERN)
        with pool_of("lantern", 8, n_workers=2, start_method="fork", **LANTERN) as pool:
            same(expected, play(pool, 30))
    """
    here = os.path.dirname(__file__)
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=here, capture_output=True, text=True, timeout=120
    )
    assert answer.returncode == 0, answer.stderr


def test_and_for_pixels_and_both_kinds_of_observation():
    for options in ({"observation": "pixels", "frames_stack": 2}, {"observation": "both"}):
        expected = reference("lantern", 3, 20, seed=SEED, n_groups=2, **LANTERN, **options)
        with pool_of("lantern", 3, n_workers=2, n_groups=2, **LANTERN, **options) as pool:
            same(expected, play(pool, 20))


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("cls", [*TOYS, toys.TreeActions])
def test_and_for_any_space_with_slots_that_do_not_divide_evenly(cls, n_groups):
    expected = reference(one(cls), 5, 30, seed=SEED, n_groups=n_groups)
    with pool_of(one(cls), 5, n_workers=2, n_groups=n_groups) as pool:
        same(expected, play(pool, 30))


def test_and_for_a_gymnasium_id():
    expected = reference("CartPole-v1", 4, 40, seed=SEED)
    with pool_of("CartPole-v1", 4, n_workers=2) as pool:
        same(expected, play(pool, 40))


class Killer:
    """Hits one worker after another with one signal after another, while steps are under way."""

    def __init__(self, pool, signals, every):
        self._pool, self._signals, self._every, self.hits = pool, signals, every, 0

    def __call__(self, t, group):
        if t % self._every == 1 and group == t // self._every % self._pool.n_groups:
            pid = self._pool.worker_pids[self.hits % self._pool.n_workers]
            os.kill(pid, self._signals[self.hits % len(self._signals)])
            self.hits += 1


@pytest.fixture
def no_pauses(monkeypatch):
    """Restart dead workers at once, however often they die."""
    monkeypatch.setattr("parcade.pool.lifecycle.PAUSES_S", (0.0,))


@pytest.mark.parametrize(("n_workers", "n_groups"), [(1, 1), (2, 2), (4, 1)])
@pytest.mark.usefixtures("no_pauses")
def test_the_numbers_stay_the_same_while_workers_are_being_killed(n_workers, n_groups):
    expected = reference("lantern", 4, 40, seed=SEED, n_groups=n_groups, **LANTERN)
    options = {"n_workers": n_workers, "n_groups": n_groups, "restarts": 1000, "step_deadline_s": 2.0}
    with pool_of("lantern", 4, **options, **LANTERN) as pool:
        killer = Killer(pool, [signal.SIGKILL, signal.SIGSEGV, signal.SIGKILL, signal.SIGSTOP], every=5)
        same(expected, play(pool, 40, disturb=killer))
        assert killer.hits == 8
        assert len(pool.restarts) >= 7  # two hits may find the same worker before it was missed
        assert pool.cut_episodes == 0
        words = " | ".join(pool.restarts)
        assert "killed by SIGKILL" in words
        assert "did not move for 2 s and was killed" in words


@pytest.mark.parametrize("cls", [toys.Toy, toys.DictObs, toys.TreeActions])
@pytest.mark.usefixtures("no_pauses")
def test_and_while_they_are_killed_at_any_moment(cls):
    """In a step, in a reset, in a replay, between recv and send: wherever the worker is after so many heartbeats."""
    expected = reference(one(cls), 6, 600, seed=SEED, n_groups=2)
    with pool_of(one(cls), 6, n_workers=2, n_groups=2, restarts=1000) as pool:
        stop, beats, kills = threading.Event(), pool.status["beats"], []

        def kill_all_along():
            rng = np.random.default_rng(0)
            while len(kills) < 25:
                wanted, worker = int(beats.sum()) + int(rng.integers(1, 150)), int(rng.integers(2))
                while int(beats.sum()) < wanted:
                    if stop.wait(0.0002):
                        return
                with contextlib.suppress(ProcessLookupError, IndexError):
                    os.kill(pool.worker_pids[worker], signal.SIGKILL)
                    kills.append(worker)

        thread = threading.Thread(target=kill_all_along)
        thread.start()
        try:
            played = play(pool, 600)
        finally:
            stop.set()
            thread.join()
        same(expected, played)
        assert pool.cut_episodes == 0
        assert len(pool.restarts) >= 10


@pytest.mark.usefixtures("no_pauses")
def test_a_death_that_is_found_while_another_worker_is_awaited_changes_nothing():
    """The dead worker had answered: its ended episodes are in the block, and recv has not handed them out yet."""
    expected = reference(one(toys.Slow, base_s=0.01), 2, 40, seed=SEED)
    with pool_of(one(toys.Slow, base_s=0.01), 2, n_workers=2, restarts=1000) as pool:

        def kill_who_is_done(t, group):
            taken = pool.status["taken"]  # a slot for each worker
            until(lambda: bool((taken == 1).any()), what="a finished worker")
            if t % 4 == 3:
                os.kill(pool.worker_pids[int(np.argmax(taken))], signal.SIGKILL)

        same(expected, play(pool, 40, disturb=kill_who_is_done))
        assert len(pool.restarts) >= 9  # nobody looks for the one killed last


def test_every_slot_has_its_own_episodes():
    with pool_of(one(toys.Toy), 6, n_workers=2) as pool:
        first = pool.observations()["obs"].copy()
        assert len({row.tobytes() for row in first}) == 6
    with make_pool(one(toys.Toy), 6, n_workers=0, seed=SEED + 1) as pool:
        pool.reset()
        assert not (pool.observations()["obs"] == first).any()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_reset_begins_again_goes_on_or_takes_a_new_seed(n_workers):
    with pool_of(one(toys.Toy), 3, n_workers=n_workers) as pool:
        first = pool.observations()["obs"].copy()
        pool.send(np.ones(3, int))  # abandoned under way
        pool.reset()
        assert (pool.observations()["obs"] == first).all()
        pool.reset(onward=True)
        second = pool.observations()["obs"].copy()
        assert not (second == first).any()
        pool.reset(seed=SEED + 1)
        assert not (pool.observations()["obs"] == first).any()
        pool.reset(seed=SEED)
        assert (pool.observations()["obs"] == first).all()


@pytest.mark.parametrize("cut_short", ["before any worker knows", "after one knows", "under way", "answered"])
def test_a_reset_forgets_a_step_wherever_ctrl_c_cut_it_short(cut_short):
    expected = reference(one(toys.Slow), 4, 20, seed=SEED)
    with pool_of(one(toys.Slow), 4, n_workers=2) as pool:
        play(pool, 3)
        if cut_short in ("under way", "answered"):
            pool.send(np.ones(4, int))
        else:  # what send does, up to the moment
            fragment = pool.progress.begin(0, 1, has_actor=False)
            pool.progress.write_actions(fragment, np.ones(4, int))
            for pending in pool._pending:
                pending.add(0)
        if cut_short == "after one knows":
            pool._supervisor.handles[1].send_fragment(fragment)
        if cut_short == "answered":
            until(lambda: pool.progress.taken() == 4, what="the step")
        pool.reset()
        same(expected, play(pool, 20))
        assert pool.restarts == []


@pytest.mark.parametrize("n_workers", [0, 2])
def test_poison_never_reaches_a_recv(n_workers):
    with make_pool("lantern", 4, n_workers=n_workers, observation="both", max_steps=8) as pool:
        assert (pool.observations()["pixels"] == POISON).all()  # nothing was written yet
        pool.reset()
        for row in play(pool, 20):
            for name, array in row.items():
                if array.dtype.kind == "f":
                    assert np.isfinite(array).all(), name
                elif name.startswith("obs:"):
                    assert not (array == POISON).all(axis=tuple(range(1, array.ndim))).any(), name


@pytest.mark.parametrize("cls", ["lantern", toys.TreeActions])
def test_a_dumped_pool_goes_on_bit_for_bit_in_another_with_other_workers(cls):
    env, options = (cls, LANTERN) if isinstance(cls, str) else (one(cls), {})
    with pool_of(env, 5, n_workers=0, n_groups=2, **options) as pool:
        whole = play(pool, 40)
    with pool_of(env, 5, n_workers=3, n_groups=2, **options) as pool:
        play(pool, 17)
        dump = pool.dump()
    for n_workers in (0, 2):
        with make_pool(env, 5, n_workers=n_workers, n_groups=2, **options) as pool:  # the seed comes with the dump
            pool.load(dump)
            rest = play(pool, 23, first=17)
            same(whole[2 + 17 * 2 :], rest[2:])
            assert all((rest[g]["obs:obs"] == whole[2 + 16 * 2 + g]["obs:obs"]).all() for g in range(2))


def test_a_dump_taken_while_steps_are_under_way_is_refused():
    for n_workers in (0, 1):
        with pool_of(one(toys.Toy), 2, n_workers=n_workers) as pool:
            pool.send(np.zeros(2, int))
            with pytest.raises(PoolError, match="only between recv and send"):
                pool.dump()
            pool.recv()
            with pytest.raises(PoolError, match="no step of group 0 is under way"):
                pool.recv()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_calls_reach_one_slot(n_workers):
    with pool_of(one(toys.Toy), 3, n_workers=n_workers) as pool:
        assert pool.call(2, "call", "sum_of", 1, 2, plus=3) == 6
        assert [pool.call(slot, "get", "level") for slot in range(3)] == [1, 1, 1]
        pool.call(1, "set", "level", 7)
        assert [pool.call(slot, "get", "level") for slot in range(3)] == [1, 7, 1]
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            pool.call(0, "get", "nothing")
        with pytest.raises(PoolError, match=r"call 'sum_of' in slot 0 failed: TypeError"):
            pool.call(0, "call", "sum_of", "a", 1)
        with pytest.raises(SettingsError, match="slot is 3, wanted 0 to 2"):
            pool.call(3, "get", "level")


def test_a_call_while_a_step_is_under_way_takes_nothing_from_it():
    with pool_of(one(toys.Toy), 4, n_workers=2) as pool:
        pool.send(np.ones(4, int))
        assert pool.call(3, "get", "level") == 1
        assert pool.recv().reward.shape == (4,)


def test_what_cannot_be_sent_back_is_said():
    with pool_of(_Walker, 1, n_workers=1) as pool:
        pool.call(0, "set", "made_by", lambda: 3)  # cloudpickle carries it
        assert pool.call(0, "call", "made_by") == 3
        with pytest.raises(PoolError, match=r"its result, a generator, cannot be sent back"):
            pool.call(0, "get", "walk")


class _Walker(toys.Toy):
    @property
    def walk(self):
        return (step for step in range(3))


def test_a_factory_may_be_a_closure():
    level = 3

    def factory():
        env = toys.Toy()
        env.level = level
        return env

    expected = reference(factory, 2, 10, seed=SEED)
    with pool_of(factory, 2, n_workers=2) as pool:
        same(expected, play(pool, 10))
        assert pool.call(1, "get", "level") == 3


def test_what_cannot_be_pickled_is_named():
    lock = threading.Lock()
    with pytest.raises(EnvError, match=r"because of 'lock' \(lock\)"):
        make_pool(lambda: (lock, toys.Toy())[1], 1, n_workers=1)
    with pytest.raises(EnvError, match=r"because of env_kwargs\['lock'\], a lock"):
        make_pool("CartPole-v1", 1, n_workers=1, env_kwargs={"lock": lock})


def test_what_makes_no_env_is_told_as_the_users_error():
    with pytest.raises(SettingsError, match=r"an env has no option 'n_wrokers' \(did you mean 'n_workers'"):
        make_pool(toys.Toy, 1, n_wrokers=2)
    with pytest.raises(EnvError, match=r"returned int, wanted a gymnasium\.Env"):
        make_pool(lambda: 3, 1, n_workers=1)
    with pytest.raises(EnvError, match=r"id 'CartPole-v11' is not registered \(did you mean"):
        make_pool("CartPole-v11", 1, n_workers=1)
    with pytest.raises(EnvError, match="Text spaces cannot be shared between processes"):
        make_pool(_Texts, 1, n_workers=1)
    with pytest.raises(EnvError, match=r"the space 'b' is Box\(.*and holds no number"):
        make_pool(_HoldsNothing, 1, n_workers=1)
    with pytest.raises(SettingsError, match="start method 'thread' is not known"):
        make_pool(toys.Toy, 1, start_method="thread")
    with pytest.raises(SettingsError, match="n_workers is -1, wanted 1 or more"):
        make_pool(toys.Toy, 1, n_workers=-1)


class _HoldsNothing(toys.Toy):
    observation_space = spaces.Dict({"a": spaces.Box(0, 1, (2,)), "b": spaces.Box(0, 1, (0,))})


class _Texts(toys.Toy):
    observation_space = spaces.Text(4)


class _FiveActions(toys.Toy):
    action_space = spaces.Discrete(5)


class _OtherBounds(toys.BoxActions):
    action_space = spaces.Box(-2, 2, toys.BoxActions.action_space.shape)


@pytest.mark.parametrize("n_workers", [0, 1])
@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        (toys.Toy, toys.BigObs, r"the observation space of slot 1 is .*, that of slot 0 is Box"),
        (toys.Toy, _FiveActions, r"the action space of slot 1 is Discrete\(5\), that of slot 0 is Discrete\(3\)"),
        (toys.BoxActions, _OtherBounds, r"the action space of slot 1 is Box\(-2\.0, 2\.0"),
    ],
)
def test_envs_of_different_spaces_are_refused(tmp_path, n_workers, first, other, words):
    def factory():
        number = len(list(tmp_path.iterdir()))
        (tmp_path / str(number)).touch()
        return first() if number == 0 else other()

    with pytest.raises(EnvError, match=words):
        make_pool(factory, 2, n_workers=n_workers)


SCRIPT = """
import sys
import gymnasium
import numpy as np
from parcade import make_pool

class Mine(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.random(2, np.float32), {}
    def step(self, action):
        return self.np_random.random(2, np.float32), 1.0, False, False, {}
    def twin(self):
        return Mine()

print("script runs", flush=True)
pool = make_pool(Mine, 3, n_workers=2, start_method=sys.argv[1])
pool.reset()
pool.send(np.zeros(3, int))
print("reward", pool.recv().reward.sum(), type(pool.call(0, "call", "twin")) is Mine)
pool.close()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_script_without_a_main_guard_runs_once(tmp_path, method):
    script = tmp_path / "train_mine.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, script, method], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["script runs", "reward 3.0 True"], done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("n_workers", [0, 1])
def test_a_step_before_reset_or_after_close_is_refused(n_workers):
    with make_pool(one(toys.Toy), 2, n_workers=n_workers) as pool, pytest.raises(PoolError, match="call reset before"):
        pool.send(np.zeros(2, int))
    for use in (lambda: pool.send(np.zeros(2, int)), pool.recv, pool.reset, lambda: pool.call(0, "get", "level")):
        with pytest.raises(PoolError, match="the pool is closed"):
            use()


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (2, r"int64 of shape \(\), wanted whole numbers of shape \(4,\)"),
        ([0, 1], r"shape \(2,\), wanted whole numbers of shape \(4,\)"),
        ([0.9, 0, 0, 0], "float64 of shape"),
        ([float("nan")] * 4, "float64 of shape"),
        ([0, 1, 99, 0], r"\[0, 1, 99, 0\], wanted numbers from 0 to 2"),
        (None, "object of shape"),
    ],
)
def test_actions_that_do_not_fit_are_refused_and_nothing_is_under_way(actions, words):
    with pool_of(one(toys.Toy), 4, n_workers=0) as pool:
        with pytest.raises(SettingsError, match=f"the actions of group 0 are .*{words}"):
            pool.send(actions)
        pool.send([0, 1, 0, 1])
        assert pool.recv().reward.shape == (4,)


def test_continuous_actions_that_are_no_numbers_are_refused():
    with pool_of(one(toys.BoxActions), 2, n_workers=0) as pool:
        shape = (2, *pool.action_space.shape)
        with pytest.raises(SettingsError, match="holds what is no number"):
            pool.send(np.full(shape, np.nan))


def test_sixty_four_envs_and_more_workers_than_slots_start():
    with pool_of(one(toys.Toy), 64) as pool:
        assert len(play(pool, 3)) == 4
    with pool_of(one(toys.Toy), 2, n_workers=16) as pool:
        assert pool.n_workers == 2


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.delitem(sys.modules, "parcade.pool.sb3_adapter", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'parcade\[sb3\]'"):
        from parcade.pool.adapters import Sb3VecEnv  # noqa: F401


@pytest.mark.parametrize("n_workers", [0, 1, 2])
def test_a_folder_of_states_is_dealt_out_to_the_slots_in_turn(tmp_path, n_workers):
    console, states = GameBoy(builtin_rom("lantern.gb")), []
    for seed, name in enumerate(("a.state", "b.state")):
        Lantern().start(console, seed)
        states.append(console.save())
        (tmp_path / name).write_bytes(states[-1])
    console.close()
    with pool_of("lantern", 5, n_workers=n_workers, state=str(tmp_path)) as pool:
        starts = [pool.call(slot, "get", "_save_states") for slot in range(5)]
    assert starts == [(states[slot % 2],) for slot in range(5)]


def test_workers_carry_a_readable_name():
    with make_pool("lantern", 2, n_workers=2) as pool:
        told = [Path(f"/proc/{pid}") for pid in pool.worker_pids]
        names = [(path / "comm").read_text().strip() for path in told]
        titles = [(path / "cmdline").read_text().rstrip("\0") for path in told]
    assert names == ["parcade 0:lante", "parcade 1:lante"]
    assert titles == ["parcade worker 0: lantern", "parcade worker 1: lantern"]
