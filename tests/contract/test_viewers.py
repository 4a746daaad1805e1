"""Viewers of a pool: they see every game, and no number changes because they look."""

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from pool_support import no_leaks, until  # noqa: F401
from toy_envs import Toy

from parcade.api import make_pool
from parcade.pool.showcase import Showcase
from parcade.pool.showing import PLACE_EVERY
from parcade.train.random_actor import RandomActor

N_ENVS, N_STEPS = 4, 48


class KilledByDrawing(Toy):
    """Ends its process when it draws, as an OpenGL driver without a display may."""

    render_mode = None

    def render(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class Raising(Toy):
    """Raises when it draws."""

    render_mode = None

    def render(self):
        raise RuntimeError("no display")


class Viewer:
    """Asks for everything all the time, from a thread with a mapping of its own."""

    def __init__(self, pool):
        self.showcase = Showcase.attach(pool.showcase.mapped.path, pool.showcase.mapped.layout)
        self.seen = [[] for _ in range(pool.n_envs)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self.showcase.close()

    def _look(self):
        newest = [0] * self.showcase.n_envs
        while not self._stop.wait(0.001):
            self.showcase.ask(range(len(newest)), details=[1])
            for slot, number in enumerate(newest):
                shown = self.showcase.picture(slot, number)
                if shown is not None:
                    newest[slot] = shown.number
                    self.seen[slot].append(shown.pixels)


def played(pool, rollouts=3):
    """Return all numbers of some rollouts by chance, as bytes."""
    pool.reset()
    actor, weights = RandomActor(pool.action_space), np.zeros(0, np.float32)
    found = []
    for _ in range(rollouts):
        block = pool.play(actor, weights, 3, N_STEPS)
        arrays = block.mapped.arrays.items()
        found += [(name, array.tobytes()) for name, array in arrays if not name.startswith("final:")]
    return found


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize("game", ["lantern", "meadow"])
def test_drawing_for_a_viewer_changes_no_number(game, n_workers):
    with make_pool(game, N_ENVS, n_workers=n_workers, seed=1, max_steps=60) as pool:
        unseen = played(pool)
        assert not pool.showcase.arrays["count"].any()
    with make_pool(game, N_ENVS, n_workers=n_workers, seed=1, max_steps=60) as pool, Viewer(pool) as viewer:
        assert played(pool) == unseen
        for pictures in viewer.seen:
            assert len({picture.tobytes() for picture in pictures}) > 3
        assert len({pictures[-1].tobytes() for pictures in viewer.seen}) > 1


def test_a_game_is_drawn_only_for_who_asks():
    with make_pool("lantern", 2, n_workers=0) as pool:
        pool.reset()
        pool.showcase.ask([1])
        for _ in range(3):
            pool.send(np.zeros(2, int))
            pool.recv()
        assert pool.showcase.picture(0, 0) is None
        first = pool.showcase.picture(1, 0)
        assert (first.row, first.number) == (0, 2)  # of the step that was asked for, and none after it
        pixels = first.pixels.view(np.uint8).reshape(144, 160, 4)
        assert len(np.unique(pixels[..., 0])) > 2


def test_details_tell_the_parts_of_the_reward_and_the_state():
    with make_pool("lantern", 2, n_workers=0, seed=4) as pool:
        pool.reset()
        rewards = []
        for step in range(20):
            pool.showcase.ask([], details=[1])
            pool.send(np.full(2, 1 + step % 4))
            rewards.append(float(pool.recv().reward[1]))
        detail = json.loads(pool.showcase.detail(1, 0)[1])
        assert detail["step"] == 20
        assert detail["return"] == pytest.approx(sum(rewards))
        assert [reward for _, reward, _ in detail["strip"]] == rewards[1:]  # from the first question on
        assert [sum(parts.values()) for _, _, parts in detail["strip"]] == pytest.approx(rewards[1:])
        assert detail["fields"]["hearts"] == 6
        assert detail["fields"]["facing"] in ("down", "up", "left", "right")
        assert detail["words"].startswith("Floor 1")
        assert pool.showcase.detail(0, 0) is None


def test_trails_tell_where_every_slot_was():
    with make_pool("meadow", N_ENVS, n_workers=2, seed=1) as pool:
        played(pool)
        names = {name for worker in range(2) for name in pool.showcase.map_names(worker)}
        assert "home" in names
        for slot in range(N_ENVS):
            trail = pool.showcase.trail(slot)
            assert trail.end == 3 * len(range(0, N_STEPS, PLACE_EVERY))
            assert (trail.places[:, 1:] >= 0).all()
            assert len(pool.showcase.trail(slot, since=trail.end - 2).places) == 2


def test_a_worker_that_drawing_killed_draws_no_more():
    with make_pool(KilledByDrawing, N_ENVS, n_workers=2, seed=5) as pool:
        unseen = played(pool)
    with make_pool(KilledByDrawing, N_ENVS, n_workers=2, seed=5) as pool, Viewer(pool) as viewer:
        assert played(pool, 3) == unseen
        played(pool, 20)
        assert 1 <= len(pool.restarts) <= 2
        until(lambda: viewer.showcase.arrays["answered"].all(), what="an answer to every slot")
        assert not any(picture.size for pictures in viewer.seen for picture in pictures)


def test_an_env_that_cannot_draw_plays_on():
    with make_pool(Raising, 2, n_workers=0) as pool:
        pool.reset()
        pool.showcase.ask([0])
        pool.send(np.zeros(2, int))
        pool.recv()
        assert pool.showcase.picture(0, 0).pixels.size == 0


def test_a_gymnasium_env_is_rendered_for_who_asks():
    with make_pool("CartPole-v1", 2, n_workers=1, seed=2) as pool:
        unseen = played(pool)
    with make_pool("CartPole-v1", 2, n_workers=1, seed=2) as pool, Viewer(pool) as viewer:
        assert played(pool) == unseen
        until(lambda: any(picture.size for picture in viewer.seen[1]), what="a picture")
        assert viewer.seen[1][-1].shape == (213, 320)


def test_drawing_without_a_display_says_nothing():
    pytest.importorskip("pygame", reason="CartPole draws with it")
    code = "from parcade import make_env; env = make_env('CartPole-v1', render=True); env.reset(seed=1); env.render()"
    unset = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "XDG_RUNTIME_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
