"""How fast our CarRacing is beside Gymnasium's and EnvPool's, and how near its pictures are.

A step is one physics step of 1/50 s. A decision holds an action for `FRAME_SKIP` steps.
Gymnasium and EnvPool draw after every step, whether anybody looks or not: that is what a
frame-skip wrapper around them pays. Ours draws once per decision, or, for the figures
called "every frame drawn", after every step. All replay the same recorded drives of 1000
steps on one thread, and resets count. (EnvPool's tracks are its own, so there the same
actions lead elsewhere.)
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.bench.machine import rss_mb

FRAME_SKIP = 8
EPISODE_STEPS = 1000
N_ROUNDS = 5
N_DRIVES = 4
N_TRACKS = 20
FRAMES_PER_TRACK = 52
WORST_FRAMES_SHOWN = 3  # of the first second, when the camera zooms in, and again of the rest
DIFFERENCE_GAIN = 4  # the differences in the PNG are shown brighter than they are
PNG_SCALE = 3

Picture = npt.NDArray[np.uint8]
Action = npt.NDArray[np.float32]
Drives = list[list[Action]]  # the decisions of episode 0, 1, …
Decide = Callable[[Action], bool]  # hold the action for a decision, say if the episode ended


def bench_racing(
    seconds: float = 30.0, fidelity: bool = False, out_dir: str | Path | None = None, resets: int = 0
) -> dict[str, Any]:
    """Measure for about `seconds`; with `fidelity` also compare pictures, rewards and states.

    Rates are medians of rounds in which the competitors take turns, so a busy machine
    slows all of them. `over_envpool` is None where EnvPool is not installed. With
    `out_dir` the least similar frames are written to `racing_worst_frames.png`. With `resets` the
    memory that so many resets keep is measured too.
    """
    import cv2

    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        result = _measure_speed(seconds)
        if fidelity:
            result |= measure_fidelity(N_TRACKS, FRAMES_PER_TRACK, out_dir)
        if resets:
            result |= measure_resets(resets)
    finally:
        cv2.setNumThreads(threads)
    return result


def _measure_speed(seconds: float) -> dict[str, Any]:
    competitors = _competitors()
    slice_s = seconds / N_ROUNDS / len(competitors)
    rates: dict[str, list[float]] = {name: [] for name in competitors}
    for _ in range(N_ROUNDS):
        for name, steps in competitors.items():
            rates[name].append(_steps_per_s(steps, slice_s))
    median = {name: statistics.median(of) for name, of in rates.items()}
    envpool = median.get("envpool")
    return {
        "frame_skip": FRAME_SKIP,
        "fast_steps_per_s": median["fast"],
        "official_steps_per_s": median["official"],
        "over_official": median["fast"] / median["official"],
        "envpool_steps_per_s": envpool,
        "over_envpool": median["fast"] / envpool if envpool else None,
        "fast_steps_per_s_every_frame_drawn": median["fast, every frame"],
        "over_official_every_frame_drawn": median["fast, every frame"] / median["official"],
        "over_envpool_every_frame_drawn": median["fast, every frame"] / envpool if envpool else None,
        "fast_steps_per_s_grey_84": median["fast, grey 84"],
    }


def _competitors() -> dict[str, Iterator[int]]:
    """Return endless drives by name; each item is the number of steps of one decision."""
    from gymnasium.envs.box2d.car_racing import CarRacing

    from parcade.env.racing.env import FastCarRacing

    drives = _recorded_drives()
    competitors = {
        "fast": _play_skipping(FastCarRacing(), drives),
        "fast, grey 84": _play_skipping(FastCarRacing(grayscale=True, size=(84, 84)), drives),
        "fast, every frame": _play_drawing(FastCarRacing(), drives),
        "official": _play_drawing(CarRacing(), drives),
    }
    try:
        competitors["envpool"] = _play_envpool(drives)
    except ImportError:
        pass  # EnvPool is a yardstick, not a dependency
    return competitors


def _recorded_drives() -> Drives:
    """The decisions of a few episodes of `EPISODE_STEPS`, driven along the tracks of seed 0 and on."""
    from parcade.env.racing.env import FastCarRacing

    env = FastCarRacing()
    drives = []
    for seed in range(N_DRIVES):
        env.reset(seed=seed)
        drive: list[Action] = []
        for _ in range(EPISODE_STEPS // FRAME_SKIP):
            drive.append(follow_track(env))
            for _ in range(FRAME_SKIP):
                env.advance(drive[-1])
        drives.append(drive)
    return drives


def _play(drives: Drives, reset: Callable[[int], Any], decide: Decide) -> Iterator[int]:
    while True:
        for seed, drive in enumerate(drives):
            reset(seed)
            for action in drive:
                ended = decide(action)
                yield FRAME_SKIP
                if ended:
                    break


def _play_skipping(env: Any, drives: Drives) -> Iterator[int]:
    def decide(action: Action) -> bool:
        ended = any(env.advance(action)[1] for _ in range(FRAME_SKIP))
        env.observe()
        return ended

    return _play(drives, lambda seed: env.reset(seed=seed), decide)


def _play_drawing(env: Any, drives: Drives) -> Iterator[int]:
    def decide(action: Action) -> bool:
        return any(env.step(action)[2] for _ in range(FRAME_SKIP))

    return _play(drives, lambda seed: env.reset(seed=seed), decide)


def _play_envpool(drives: Drives) -> Iterator[int]:
    import envpool

    pool = envpool.make_gymnasium("CarRacing-v3", num_envs=1, num_threads=1, seed=0)
    pool.reset()

    def decide(action: Action) -> bool:
        for _ in range(FRAME_SKIP):
            pool.step(action[None])
        return False  # it resets by itself

    return _play(drives, lambda seed: None, decide)


def _steps_per_s(decisions: Iterator[int], seconds: float) -> float:
    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < seconds or not steps:
        steps += next(decisions)
    return steps / (time.perf_counter() - start)


def measure_fidelity(n_tracks: int, frames_per_track: int, out_dir: str | Path | None = None) -> dict[str, Any]:
    """Drive both envs through the same episodes and compare all that can be seen of them."""
    pairs: list[tuple[Picture, Picture]] = []
    zooming: list[bool] = []
    rewards_identical = state_identical = True
    for seed in range(n_tracks):
        for frame, (official, ours, same_reward, same_state) in enumerate(_drive_both(seed, frames_per_track)):
            pairs.append((official, ours))
            zooming.append(frame * FRAME_SKIP < 50)
            rewards_identical &= same_reward
            state_identical &= same_state
    differences = [float(np.abs(a.astype(np.int16) - b).mean()) for a, b in pairs]
    if out_dir is not None:
        worst = sorted(range(len(pairs)), key=lambda i: -differences[i])
        shown = [[i for i in worst if zooming[i] is phase][:WORST_FRAMES_SHOWN] for phase in (True, False)]
        _write_png(Path(out_dir) / "racing_worst_frames.png", [pairs[i] for i in shown[0] + shown[1]])
    return {
        "n_frames_compared": len(pairs),
        "n_tracks_compared": n_tracks,
        "mean_abs_pixel_difference": statistics.fmean(differences),
        "worst_frame_pixel_difference": max(differences),
        "rewards_identical": rewards_identical,
        "state_identical": state_identical,
    }


def measure_resets(n: int) -> dict[str, Any]:
    """Return how the memory of a process grows over ``n`` resets, for ours and for Gymnasium's."""
    from multiprocessing import get_context

    result: dict[str, Any] = {"resets": n}
    for name in ("fast", "official"):
        with get_context("spawn").Pool(1) as process:  # a process of its own: nothing else grows there
            before, after = process.apply(memory_over_resets, (name, n))
        result |= {f"{name}_mb_before_resets": before, f"{name}_mb_after_resets": after}
    return result


def memory_over_resets(name: str, n: int) -> tuple[float, float]:
    """Return the resident MB of this process after a tenth of ``n`` resets, when all is loaded, and after all."""
    from gymnasium.envs.box2d.car_racing import CarRacing

    from parcade.env.racing.env import FastCarRacing

    env: Any = FastCarRacing() if name == "fast" else CarRacing()
    before = 0.0
    for seed in range(n):
        env.reset(seed=seed)
        env.step(np.zeros(3, np.float32))
        if seed == n // 10:
            before = rss_mb(os.getpid())
    return before, rss_mb(os.getpid())


def _drive_both(seed: int, n_frames: int) -> Iterator[tuple[Picture, Picture, bool, bool]]:
    """The pictures after each decision, and whether rewards, endings and car states were equal until there."""
    from gymnasium.envs.box2d.car_racing import CarRacing

    from parcade.env.racing.env import FastCarRacing

    official: Any = CarRacing()
    ours = FastCarRacing()
    draw = official._render
    yield official.reset(seed=seed)[0], ours.reset(seed=seed)[0], True, car_state(official) == car_state(ours)
    for _ in range(n_frames - 1):
        action = follow_track(ours)
        same_reward = same_state = True
        for skipped in range(FRAME_SKIP):
            # Drawing changes nothing in the game, so frames nobody compares need not be drawn.
            official._render = draw if skipped == FRAME_SKIP - 1 else lambda mode: None
            picture, *outcome, _ = official.step(action)
            same_reward &= tuple(outcome) == ours.advance(action)
            same_state &= car_state(official) == car_state(ours)
        yield picture, ours.observe(), same_reward, same_state


def car_state(env: Any) -> tuple[float, ...]:
    """Every number the physics carries from one step to the next."""
    hull, wheels = env.car.hull, env.car.wheels
    bodies = [
        value
        for body in (hull, *wheels)
        for value in (*body.position, body.angle, *body.linearVelocity, body.angularVelocity)
    ]
    own = [value for w in wheels for value in (w.omega, w.phase, w.gas, w.brake, w.steer, w.joint.angle)]
    return tuple(float(value) for value in bodies + own)


def follow_track(env: Any, speed: float = 45.0, look_ahead: int = 5) -> Action:
    """A driver that knows the track: steer at a point ahead, hold a speed. It finishes most laps."""
    position, angle = env.car.hull.position, env.car.hull.angle
    middle = np.array([(x, y) for _, _, x, y in env.track])
    nearest = int(np.argmin(((middle - (position.x, position.y)) ** 2).sum(axis=1)))
    to_x, to_y = middle[(nearest + look_ahead) % len(middle)] - (position.x, position.y)
    right = to_x * math.cos(angle) + to_y * math.sin(angle)
    ahead = to_y * math.cos(angle) - to_x * math.sin(angle)
    turn = math.atan2(right, ahead)
    too_fast = env.car.hull.linearVelocity.length - speed * (1.0 - min(abs(turn), 0.6))
    steer, gas, brake = 1.5 * turn, 0.5 if too_fast < 0 else 0.0, 0.3 if too_fast > 5 else 0.0
    return np.array([min(max(steer, -1.0), 1.0), gas, brake], np.float32)


def _write_png(path: Path, pairs: list[tuple[Picture, Picture]]) -> None:
    """One row per frame: official, ours, the difference times `DIFFERENCE_GAIN`."""
    import cv2

    rows = []
    for official, ours in pairs:
        difference = np.abs(official.astype(np.int16) - ours) * DIFFERENCE_GAIN
        row = np.hstack([official, ours, np.minimum(difference, 255).astype(np.uint8)])
        rows.append(cv2.resize(row, None, fx=PNG_SCALE, fy=PNG_SCALE, interpolation=cv2.INTER_NEAREST))
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR))
