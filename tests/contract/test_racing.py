"""Our CarRacing is the official one: the same game to the last bit, and nearly the same picture."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import gymnasium
import numpy as np
import pytest

pytest.importorskip("Box2D", reason="CarRacing needs Box2D (pip install 'gymnasium[box2d]')")

from gymnasium.envs.box2d.car_racing import CarRacing
from gymnasium.utils.env_checker import check_env

from parcade.bench.racing import bench_racing, car_state, follow_track, measure_fidelity
from parcade.env.racing import car
from parcade.env.racing.env import FastCarRacing
from parcade.env.racing.variants import FAST_ID
from parcade.env.register import register_envs
from parcade.train.evaluation import evaluate

EPISODE_STEPS = 1000

Driver = Callable[[Any, int], Any]


def blind_official(**options: Any) -> CarRacing:
    """The official env with its drawing, which changes nothing in the game, taken out to save time."""
    env = CarRacing(**options)
    env._render = lambda mode: None
    return env


def along_the_track(env: Any, step: int) -> Any:
    return follow_track(env, speed=60.0)


def wildly(env: Any, step: int) -> Any:
    """Full gas with hard steering and braking: skids, grass, and soon the end of the playfield."""
    rng = np.random.default_rng([7, step // 12])
    return np.array([rng.uniform(-0.5, 0.5), 1.0, rng.choice([0.0, 0.0, 0.4, 0.95])], np.float32)


def straight_on(env: Any, step: int) -> Any:
    """Little gas, as with much of it the car spins instead of leaving."""
    return np.array([0.0, 0.2, 0.0], np.float32)


def any_button(env: Any, step: int) -> Any:
    return int(np.random.default_rng([3, step // 6]).choice([0, 1, 2, 3, 3, 3, 4]))


def play(env: FastCarRacing, seed: int, driver: Driver, steps: int) -> Iterator[tuple[Any, ...]]:
    """Everything but the picture, step by step."""
    env.reset(seed=seed)
    for step in range(steps):
        _, reward, terminated, truncated, info = env.step(driver(env, step))
        yield reward, terminated, truncated, info, car_state(env)
        if terminated:
            return


@pytest.mark.parametrize(
    ("seed", "driver", "options"),
    [
        (0, along_the_track, {}),
        (8, along_the_track, {}),
        (1, wildly, {}),
        (2, straight_on, {}),
        (3, any_button, {"continuous": False}),
        (4, any_button, {"continuous": False, "domain_randomize": True}),
        (5, along_the_track, {"lap_complete_percent": 0.002}),
    ],
)
def test_an_episode_is_the_official_one(seed: int, driver: Driver, options: dict[str, Any]) -> None:
    official, ours = blind_official(**options), FastCarRacing(**options)
    official.reset(seed=seed)
    ours.reset(seed=seed)
    assert ours.track == official.track
    assert car_state(ours) == car_state(official)
    for step in range(EPISODE_STEPS):
        action = driver(ours, step)
        wanted = official.step(np.asarray(action) if official.continuous else action)
        reward, terminated, truncated = ours.advance(action)
        assert (reward, terminated, truncated) == wanted[1:4], f"step {step}"
        assert car_state(ours) == car_state(official), f"step {step}"
        if terminated:
            assert wanted[4] == {"lap_finished": ours.lap_finished}
            break


def test_leaving_the_playfield_costs_100_and_ends() -> None:
    *_, (reward, terminated, truncated, info, _) = play(FastCarRacing(), 2, straight_on, EPISODE_STEPS)
    assert (reward, terminated, truncated, info) == (-100, True, False, {"lap_finished": False})


def test_a_finished_lap_ends_the_episode() -> None:
    outcomes = list(play(FastCarRacing(), 8, along_the_track, EPISODE_STEPS))
    assert outcomes[-1][1:4] == (True, False, {"lap_finished": True})
    assert sum(outcome[0] for outcome in outcomes) > 900


@pytest.mark.parametrize("seed", range(10, 16))
def test_tracks_and_colours_are_the_official_ones(seed: int) -> None:
    official, ours = blind_official(domain_randomize=True), FastCarRacing(domain_randomize=True)
    official.reset(seed=seed)
    ours.reset(seed=seed)
    assert ours.track == official.track
    for name in ("road_color", "bg_color", "grass_color"):
        assert (getattr(ours, name) == getattr(official, name)).all()
    colors = ours.road_color.copy()
    ours.reset(options={"randomize": False})
    assert (ours.road_color == colors).all()


def test_drawing_does_not_change_the_game() -> None:
    drawn, blind = FastCarRacing(), FastCarRacing()
    blind.reset(seed=6)
    for step, (reward, terminated, truncated, _, state) in enumerate(play(drawn, 6, along_the_track, 200)):
        assert blind.advance(along_the_track(blind, step)) == (reward, terminated, truncated)
        assert car_state(blind) == state


def test_an_episode_does_not_depend_on_the_ones_before() -> None:
    used = FastCarRacing()
    for seed in (20, 21, 22):
        list(play(used, seed, wildly, 60))
    fresh = FastCarRacing()
    used_play, fresh_play = play(used, 23, along_the_track, 200), play(fresh, 23, along_the_track, 200)
    for step, (one, other) in enumerate(zip(used_play, fresh_play, strict=True)):
        assert one == other, f"step {step}"
        assert (used.observe() == fresh.observe()).all(), f"step {step}"


def test_pictures_are_near_the_official_ones(tmp_path: Path) -> None:
    result = measure_fidelity(n_tracks=4, frames_per_track=30, out_dir=tmp_path)
    assert result["rewards_identical"]
    assert result["state_identical"]
    # 0.2 on the reference machine; pygame's shrinking may round two levels otherwise elsewhere.
    assert result["mean_abs_pixel_difference"] < 2.5
    assert (tmp_path / "racing_worst_frames.png").stat().st_size > 0


def test_pictures_with_random_colours_are_near_the_official_ones() -> None:
    official, ours = CarRacing(domain_randomize=True), FastCarRacing(domain_randomize=True)
    wanted, got = official.reset(seed=30)[0], ours.reset(seed=30)[0]
    for _ in range(55):
        action = follow_track(ours)
        wanted, got = official.step(action)[0], ours.step(action)[0]
    assert np.abs(wanted.astype(int) - got).mean() < 2.5


@pytest.mark.parametrize("size", [(96, 96), (84, 84), (64, 80)])
def test_grey_is_the_grey_of_the_coloured_picture(size: tuple[int, int]) -> None:
    colored, grey = FastCarRacing(size=size), FastCarRacing(size=size, grayscale=True)
    colored.reset(seed=1)
    grey.reset(seed=1)
    assert grey.observation_space.shape == size
    for step in range(120):
        action = along_the_track(colored, step)
        colored.advance(action)
        grey.advance(action)
        if step % 10 == 0:
            picture = grey.observe()
            assert picture.shape == size
            difference = np.abs(cv2.cvtColor(colored.observe(), cv2.COLOR_RGB2GRAY).astype(int) - picture)
            assert difference.mean() < 1.0
            assert difference.max() <= 4


def test_another_size_shows_the_same_scene() -> None:
    large, small = FastCarRacing(), FastCarRacing(size=(84, 84))
    large.reset(seed=2)
    small.reset(seed=2)
    for step in range(80):
        action = along_the_track(large, step)
        large.advance(action)
        small.advance(action)
    shrunk = cv2.resize(large.observe(), (84, 84), interpolation=cv2.INTER_AREA)
    assert np.abs(shrunk.astype(int) - small.observe()).mean() < 3.0


def test_observe_writes_where_it_is_told() -> None:
    env = FastCarRacing(grayscale=True, size=(84, 84))
    env.reset(seed=0)
    stack = np.zeros((84, 84, 4), np.uint8)
    row = stack[:, :, 2]  # not contiguous
    assert env.observe(row) is row
    assert (row == env.observe()).all()
    first = env.observe()
    env.advance(straight_on(env, 0))
    second = env.observe()
    assert first is not second
    assert (first == row).all()


def test_gymnasium_accepts_it() -> None:
    register_envs()
    register_envs()
    env = gymnasium.make(FAST_ID, render_mode="rgb_array")
    assert env.spec is not None
    assert env.spec.max_episode_steps == EPISODE_STEPS
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    assert np.asarray(env.render()).shape == (400, 600, 3)
    env.close()
    env.close()


def test_another_env_may_quit_pygame() -> None:
    env = FastCarRacing()
    env.reset(seed=0)
    other = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    other.reset(seed=0)
    other.render()
    other.close()  # calls pygame.quit(), after which fonts opened before are dead
    for step in range(30):  # long enough for a score that was not drawn before
        picture = env.step(along_the_track(env, step))[0]
    assert picture[-8:, :12].max() > 100  # the score is drawn


def test_a_pickled_env_keeps_its_options() -> None:
    env = pickle.loads(pickle.dumps(FastCarRacing(continuous=False, grayscale=True, size=(84, 84))))
    assert env.observation_space.shape == (84, 84)
    assert env.action_space == gymnasium.spaces.Discrete(5)


def test_an_unknown_button_is_refused() -> None:
    env = FastCarRacing(continuous=False)
    env.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction, match="9"):
        env.step(9)


def test_resets_make_no_fixture_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    env = FastCarRacing()
    env.reset(seed=0)

    def refuse(**options: Any) -> None:
        raise AssertionError("every b2FixtureDef leaks its shape")

    monkeypatch.setattr(car, "fixtureDef", refuse)
    env.reset(seed=1)


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc for the memory in use")
def test_resets_keep_no_memory() -> None:
    env = FastCarRacing(grayscale=True, size=(84, 84))

    def reset_many(n: int) -> tuple[int, int]:
        for seed in range(n):
            env.reset(seed=seed)
            env.advance(straight_on(env, 0))
        gc.collect()
        n_bodies = sum(type(thing).__name__ == "b2Body" for thing in gc.get_objects())
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return n_bodies, pages * 4096

    bodies_before, bytes_before = reset_many(40)
    bodies_after, bytes_after = reset_many(150)
    assert bodies_after < bodies_before + 200  # tracks differ in length; 150 kept ones would be 40,000 bodies
    assert bytes_after - bytes_before < 2_000_000


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc for the memory in use")
def test_the_benchmark_reports_its_figures() -> None:
    result = bench_racing(seconds=0.5, resets=50)
    assert result["resets"] == 50
    for env in ("fast", "official"):  # the kernel may take pages back meanwhile: less after than before is no fault
        assert 20 < result[f"{env}_mb_before_resets"] < 1000
        assert 20 < result[f"{env}_mb_after_resets"] < result[f"{env}_mb_before_resets"] + 20
    assert result["fast_steps_per_s"] > 0
    assert result["over_official"] == pytest.approx(result["fast_steps_per_s"] / result["official_steps_per_s"])
    assert (result["over_envpool"] is None) == (result["envpool_steps_per_s"] is None)


@pytest.mark.long
def test_the_shipped_model_drives() -> None:
    model = Path(__file__).parents[2] / "models" / "carracing.zip"
    drives = evaluate(model, episodes=2, deterministic=True, racing="fast")
    assert drives.return_mean > 700  # 900 over a hundred tracks; two may be bad ones
    assert drives.env == "parcade/CarRacing-v3"
