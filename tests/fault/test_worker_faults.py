"""Every way a worker can die, and what the pool makes of it."""

from __future__ import annotations

import os
import re
import signal
import time

import numpy as np
import pytest
import toy_envs as toys
from pool_support import Script, gone, no_leaks, own_blocks, own_processes, play, reference, same, until  # noqa: F401
from toy_envs import KILL, one

from parcade.api import make_pool
from parcade.errors import EnvError, PoolError
from parcade.pool.seeding import episode_seed

SEED = 5
N, STEPS = 3, 20
KINDS = {
    toys.Raise: "raised ZeroDivisionError: a toy fault",
    toys.RaiseEOF: "raised EOFError: the toy's own pipe closed",
    toys.Segfault: "killed by SIGSEGV",
    toys.Exit: "exited by itself with code 7",
    toys.Hang: "did not move for 0.5 s and was killed",
    toys.Hoard: "raised MemoryError",
}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Restart dead workers at once."""
    monkeypatch.setattr("parcade.pool.lifecycle.PAUSES_S", (0.0,))


def options_for(cls):
    """A hang needs a short deadline, a hoard a limit it runs into."""
    return {
        "step_deadline_s": 0.5 if cls is toys.Hang else 60.0,
        "memory_limit_mb": 6000 if cls is toys.Hoard else None,
    }


def pool_of(factory, n_envs=N, *, n_workers=1, **options):
    pool = make_pool(factory, n_envs, n_workers=n_workers, seed=SEED, **options)
    pool.reset()
    return pool


class Deadly(Script):
    """Action 1 for all, but KILL for some slots at some steps."""

    def __init__(self, n_envs=N, kills=()):
        self._n, self._kills = n_envs, dict(kills)

    def batch(self, t, group=0):
        actions = np.ones(self._n, int)
        if t in self._kills:
            actions[self._kills[t]] = KILL
        return actions


def undisturbed(script, steps=STEPS, n_envs=N):
    """The play of an env that does the same and does not die."""
    with make_pool(one(toys.Toy), n_envs, n_workers=0, seed=SEED) as pool:
        pool.reset()
        return play(pool, steps, script=script)


@pytest.mark.parametrize(("cls", "words"), KINDS.items())
def test_a_step_that_kills_once_changes_nothing(cls, words, tmp_path):
    script = Deadly(kills={7: 1})
    factory = one(cls, marker=str(tmp_path / "died"))
    with pool_of(factory, **options_for(cls)) as pool:
        same(undisturbed(script), play(pool, STEPS, script=script))
        (line,) = pool.restarts
        assert line.startswith("worker 0 (slots 0-2, pid ")
        assert words in line
        assert " in slot 1 at step " in line
        assert line.endswith("of 'factory'; restored exactly (1 of 5 restarts used)")
        assert pool.cut_episodes == 0


@pytest.mark.parametrize("cls", [toys.Raise, toys.Segfault, toys.Exit, toys.Hang])
def test_a_step_that_always_kills_is_cut_out_and_the_run_goes_on(cls):
    script = Deadly(kills={3: 1})
    with pool_of(one(cls), **options_for(cls)) as pool:
        rows = play(pool, STEPS, script=script)
        cut = rows[1 + 3]
        assert cut["truncated"].tolist() == [False, True, False]
        assert cut["reward"][1] == 0
        assert cut["length"][1] == 3
        assert (cut["final:obs"][1] == rows[3]["obs:obs"][1]).all()  # the last observation before the deadly step
        assert pool.cut_episodes == 1
        assert len(pool.restarts) == (3 if cls is toys.Hang else 2)
        assert pool.restarts[-1].endswith("the same step killed it before, so the episode is truncated there")
        others = undisturbed(script)
        for index, (a, b) in enumerate(zip(rows, others, strict=True)):
            for name in a:
                assert a[name][[0, 2]].tobytes() == b[name][[0, 2]].tobytes(), (index, name)


def test_two_slots_whose_steps_kill_are_cut_one_after_the_other():
    script = Deadly(kills={3: [0, 2]})
    with pool_of(one(toys.Exit)) as pool:
        cut = play(pool, STEPS, script=script)[1 + 3]
        assert cut["truncated"].tolist() == [True, False, True]
        assert cut["length"].tolist() == [3, 0, 3]
        assert (pool.cut_episodes, len(pool.restarts)) == (2, 4)


@pytest.mark.parametrize("cls", [toys.Raise, toys.Segfault, toys.Hang])
def test_a_reset_that_always_kills_is_skipped(cls):
    seeds = (episode_seed(SEED, 1, 1), episode_seed(SEED, 2, 0))  # in the middle of the run, and at its start
    with pool_of(one(cls, where="reset", seeds=seeds), restarts=6, **options_for(cls)) as pool:
        assert pool.status["episode"].tolist() == [0, 0, 1]
        rows = play(pool, STEPS, script=Deadly())
        assert pool.cut_episodes == 2
        assert all(np.isfinite(row["obs:obs"]).all() for row in rows)
        assert pool.status["episode"][1] >= 2
        assert "at its reset of episode 1" in pool.restarts[-1]
        dump = pool.dump()
        assert (dump["episode"] == pool.status["episode"]).all()


def test_a_reset_that_kills_once_changes_nothing(tmp_path):
    factory = one(toys.Exit, where="reset", marker=str(tmp_path / "died"), seeds=(episode_seed(SEED, 1, 1),))
    with pool_of(factory) as pool:
        same(undisturbed(Deadly()), play(pool, STEPS, script=Deadly()))
        assert len(pool.restarts) == 1


@pytest.mark.parametrize("cls", [toys.Raise, toys.Hoard])
def test_a_constructor_that_raises_at_the_start_is_the_users_error_at_once(cls):
    with pytest.raises(EnvError, match=r"the env 'factory' cannot be made: it raised (ZeroDivisionError|MemoryError)"):
        make_pool(one(cls, where="make"), N, n_workers=2, memory_limit_mb=6000)


@pytest.mark.parametrize(("cls", "words"), [(toys.Segfault, "killed by SIGSEGV"), (toys.Exit, "with code 7")])
def test_a_constructor_that_always_kills_ends_with_one_error(cls, words):
    with pytest.raises(PoolError, match=f"worker 0 .*{words}.*; it died 3 times in a row, and 2 restarts are allowed"):
        make_pool(one(cls, where="make"), N, n_workers=2, restarts=2)


def test_a_constructor_that_hangs_ends_with_one_error_and_is_told_before(monkeypatch, caplog):
    from parcade.api import as_spec
    from parcade.pool.process_pool import ProcessPool

    monkeypatch.setattr("parcade.pool.supervisor.SILENT_START_S", 0.1)
    with pytest.raises(PoolError, match=r"did not move for 0\.5 s and was killed; it died 2 times"):
        ProcessPool(as_spec(one(toys.Hang, where="make")), 1, n_workers=1, restarts=1, start_deadline_s=0.5)
    assert re.search(r"'factory' is being made since \d s \(worker 0\); after 0.5 s it is given up", caplog.text)


@pytest.mark.parametrize("cls", [toys.Raise, toys.Exit, toys.Segfault])
def test_a_constructor_that_kills_once_at_a_restart_cuts_no_episode(cls, tmp_path):
    marker = tmp_path / "died"
    marker.touch()
    script = Deadly()
    with pool_of(one(cls, where="make", marker=str(marker))) as pool:

        def break_it(t, _):
            if t == 8:
                marker.unlink()
                os.kill(pool.worker_pids[0], signal.SIGKILL)

        same(undisturbed(script), play(pool, STEPS, script=script, disturb=break_it))
        assert len(pool.restarts) == 2
        assert "while the env 'factory' of slot 0 was being made" in pool.restarts[1]
        assert pool.cut_episodes == 0


def test_a_worker_that_cannot_live_ends_with_one_error_and_leaves_nothing():
    pool = pool_of(one(toys.Exit), n_workers=3, restarts=2)
    pids = pool.worker_pids
    with pytest.raises(
        PoolError,
        match=r"worker 1 \(slots 1-1, pid \d+\) exited by itself with code 7 in slot 1 at step 0 of episode 1",
    ):
        play(pool, STEPS, script=Deadly(kills={0: 1, 1: 1}))
    assert all(gone(pid) for pid in pids)
    assert (own_processes(), own_blocks(), pool.alive) == ([], [], False)
    assert pool.dump()["episode"].shape == (N,) if not any(pool.progress.under_way) else True
    with pytest.raises(PoolError, match="the pool is closed"):
        pool.send(np.ones(N, int))
    pool.close()


def test_a_healthy_stretch_gives_the_restarts_back():
    with pool_of(one(toys.Toy), restarts=1) as pool:
        for _ in range(3):
            os.kill(pool.worker_pids[0], signal.SIGKILL)
            play(pool, 110, script=Deadly())
        assert len(pool.restarts) == 3


def test_death_while_both_groups_are_under_way():
    factory = one(toys.Slow, base_s=0.003)
    expected = reference(factory, 4, 30, seed=SEED, n_groups=2)
    with make_pool(factory, 4, n_workers=1, n_groups=2, seed=SEED, restarts=50) as pool:
        pool.reset()
        under_way = []  # groups at each death; on a busy machine both may be done before this process runs again

        def kill(t, group):
            if t % 3 == 0 and t < 28:
                under_way.append(len(pool._pending[0]))
                os.kill(pool.worker_pids[0], signal.SIGKILL)

        same(expected, play(pool, 30, disturb=kill))
        assert 2 in under_way
        assert len(pool.restarts) >= 10


@pytest.mark.parametrize("hit", [signal.SIGKILL, signal.SIGSTOP])
def test_death_between_recv_and_send_and_before_dump_load_reset_and_call(hit):
    script = Deadly()
    expected = undisturbed(script, 30)
    with pool_of(one(toys.Toy), n_workers=2, restarts=50, step_deadline_s=0.5) as pool:

        def strike():
            for pid in pool.worker_pids:
                os.kill(pid, hit)

        first = play(pool, 10, script=script)
        strike()
        dump = pool.dump()
        strike_then = play(pool, 10, first=10, script=script)
        strike()
        pool.load(dump)
        again = play(pool, 10, first=10, script=script)
        same(strike_then, again)
        strike()
        assert pool.call(2, "get", "level") == 1
        rest = play(pool, 10, first=20, script=script)
        same(expected, first + again[1:] + rest[1:])
        strike()
        pool.reset()
        same(expected[:6], play(pool, 5, script=script))


def test_a_worker_stopped_before_a_long_load_does_not_stop_the_trainer():
    """What has to be told is more than a pipe holds: without a deadline the write would last for ever."""
    factory = one(_Endless)
    with pool_of(factory, 1, step_deadline_s=0.5) as pool:
        for _ in range(300):
            pool.send(np.ones((1, 4096)))
            pool.recv()
        dump = pool.dump()
        last = pool.observations()["obs"].copy()
        os.kill(pool.worker_pids[0], signal.SIGSTOP)
        pool.load(dump)
        assert (pool.observations()["obs"] == last).all()
        assert "did not move for 0.5 s" in pool.restarts[0]


class _Endless(toys.Toy):
    action_space = toys.spaces.Box(-1, 1, (4096,), np.float32)

    def reset(self, *, seed=None, options=None):
        answer = super().reset(seed=seed)
        self._limit = 1 << 30
        return answer


def test_a_call_that_kills_its_worker_is_named_and_the_pool_lives_on():
    with pool_of(one(toys.Exit), n_workers=1) as pool:
        with pytest.raises(PoolError, match=r"call 'fail' in slot 1 ended its worker: .*exited by itself with code 7"):
            pool.call(1, "call", "fail")
        assert pool.call(1, "get", "level") == 1
        same(undisturbed(Deadly()), play(pool, STEPS, script=Deadly()))


def test_what_was_set_is_set_again_after_a_restart():
    with pool_of(one(toys.Toy), n_workers=1) as pool:
        pool.call(1, "set", "level", 9)
        os.kill(pool.worker_pids[0], signal.SIGKILL)
        assert [pool.call(slot, "get", "level") for slot in range(N)] == [1, 9, 1]


def test_a_kill_in_the_middle_of_a_replay_is_one_more_death_and_nothing_else():
    factory = one(_SlowReplay)
    with pool_of(factory, 1, n_workers=0) as serial:
        expected = play(serial, 60, script=Deadly(1))
    with pool_of(factory, 1) as pool:
        beats, killed = pool.status["beats"], []

        def kill_twice(t, _):
            if t == 50:
                os.kill(pool.worker_pids[0], signal.SIGKILL)
                thread.start()

        def kill_the_replay():
            started = int(beats[0])
            until(lambda: len(pool.restarts) == 1 and int(beats[0]) > started + 20, what="a replay under way")
            os.kill(pool.worker_pids[0], signal.SIGKILL)
            killed.append(int(pool.status["running_length"][0]))

        import threading

        thread = threading.Thread(target=kill_the_replay)
        same(expected, play(pool, 60, script=Deadly(1), disturb=kill_twice))
        thread.join()
        assert len(pool.restarts) == 2
        assert 0 < killed[0] < 50


class _SlowReplay(toys.Toy):
    def reset(self, *, seed=None, options=None):
        answer = super().reset(seed=seed)
        self._limit = 1 << 30
        return answer

    def step(self, action):
        time.sleep(0.003)
        return super().step(action)


def test_an_env_that_cannot_be_replayed_has_its_episode_truncated(tmp_path, caplog):
    """The episode cannot be brought back: its end is told as a truncation, with all the steps that were handed out."""
    with pool_of(one(toys.Forgetful, marker=str(tmp_path / "played")), 1) as pool:
        play(pool, 6, script=Deadly(1))
        os.kill(pool.worker_pids[0], signal.SIGKILL)
        pool.send(np.ones(1, int))
        rows = pool.recv()
        assert rows.truncated.tolist() == [True]
        assert rows.episode_length.tolist() == [6]
        assert pool.cut_episodes == 1
        assert "slot 0 cannot be restored exactly after a death; episodes are truncated then" in caplog.text
        assert len(pool.restarts) == 1
        play(pool, 5, script=Deadly(1))


def test_lantern_survives_every_signal_at_once():
    expected = reference("lantern", 4, 30, seed=SEED, max_steps=15)
    with make_pool("lantern", 4, n_workers=4, seed=SEED, max_steps=15, step_deadline_s=1.0) as pool:
        pool.reset()

        def hit_all(t, _):
            if t == 20:
                signals = (signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP, signal.SIGTERM)
                for pid, hit in zip(pool.worker_pids, signals, strict=True):
                    os.kill(pid, hit)

        same(expected, play(pool, 30, disturb=hit_all))
        assert len(pool.restarts) == 3  # SIGTERM is the trainer's to answer: `timeout` sends it to all of its group


class _OwnClock(toys.Toy):
    """Observes the time of day, which no replay can repeat."""

    def step(self, action):
        seen, reward, _, _, info = super().step(action)
        return np.array([time.monotonic(), *seen[1:]], seen.dtype), reward, False, False, info


class _OwnPay(toys.Toy):
    """Pays by the time of day, which no observation shows."""

    def step(self, action):
        seen, _, _, _, info = super().step(action)
        return seen, time.monotonic(), False, False, info


@pytest.mark.parametrize("env", [_OwnClock, _OwnPay])
def test_an_env_that_cannot_be_repeated_is_told_and_its_episode_truncated(caplog, env):
    with make_pool(env, 2, n_workers=1, seed=SEED) as pool:
        pool.reset()
        paid = np.zeros(2)
        for _ in range(3):
            pool.send(np.zeros(2, int))
            rows = pool.recv()
            before, paid = rows.obs["obs"].copy(), paid + rows.reward
        os.kill(pool.worker_pids[0], signal.SIGKILL)
        pool.send(np.zeros(2, int))
        rows = pool.recv()
        assert rows.truncated.tolist() == [True, True]
        assert (rows.final["obs"] == before).all()
        assert rows.episode_length.tolist() == [3, 3]
        assert rows.episode_return.tolist() == paid.tolist()
        assert "is not a function of its seed and actions, so slots 0, 1 cannot be restored exactly" in caplog.text
        told = "; restored, but not exactly: the episodes of slots 0, 1 are truncated (1 of 5 restarts used)"
        assert pool.restarts[0].endswith(told)
        assert "; restored exactly" not in caplog.text
        assert pool.cut_episodes == 2
        pool.send(np.zeros(2, int))
        assert not pool.recv().truncated.any()
        os.kill(pool.worker_pids[0], signal.SIGKILL)
        pool.send(np.zeros(2, int))
        assert pool.recv().truncated.all()
        assert caplog.text.count("is not a function of its seed and actions") == 1  # why is said once
