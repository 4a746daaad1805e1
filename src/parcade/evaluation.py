"""Play a policy without learning, on one separate env, on seeds never trained on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from parcade.env.foreign import ForeignSpec
from parcade.env.make import make
from parcade.env.register import OFFICIAL_RACING, RACING
from parcade.env.slot import as_slot_env, fresh_rows
from parcade.env.space_json import space_from_json
from parcade.env.spec import EnvSpec, Watch
from parcade.errors import EnvError, MissingExtraError, ModelFileError, SettingsError
from parcade.game.base import FIRST_HELD_OUT_SEED
from parcade.input_file import short
from parcade.learn.act import Actor
from parcade.learn.encoders import CNNS, LeafShape
from parcade.learn.policy import NetSettings, Policy
from parcade.network_size import check_network
from parcade.run.model_file import load_model, load_weights
from parcade.run.video import VideoFile

Picture = npt.NDArray[np.uint8]
FILMED_EPISODES = 3
# What building a network from plain data raises where the data is wrong.
_UNFIT = (
    SettingsError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """One evaluated episode."""

    seed: int
    total_reward: float
    length: int
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All episodes of one evaluation."""

    episodes: tuple[EpisodeResult, ...]
    seconds: float
    pictures: tuple[tuple[str, Picture], ...] = field(default=(), compare=False)
    video: str | None = None
    env: str = ""  # the title or Gymnasium id that was played

    @property
    def return_mean(self) -> float:
        """Mean return."""
        return statistics.fmean(e.total_reward for e in self.episodes)

    @property
    def return_std(self) -> float:
        """Standard deviation of returns."""
        return statistics.pstdev(e.total_reward for e in self.episodes)

    @property
    def length_mean(self) -> float:
        """Mean length in steps."""
        return statistics.fmean(e.length for e in self.episodes)

    @property
    def length_std(self) -> float:
        """Standard deviation of lengths."""
        return statistics.pstdev(e.length for e in self.episodes)

    @property
    def success_rate(self) -> float | None:
        """Share of episodes that succeeded; None where the env knows no success."""
        if "success" not in self.episodes[0].metrics:
            return None
        return statistics.fmean(e.metrics["success"] for e in self.episodes)

    def to_dict(self, with_episodes: bool = False) -> dict[str, Any]:
        """Return JSON-ready results."""
        result: dict[str, Any] = {
            "env": self.env,
            "episodes": len(self.episodes),
            "return_mean": self.return_mean,
            "return_std": self.return_std,
            "length_mean": self.length_mean,
            "length_std": self.length_std,
            "success_rate": self.success_rate,
            "seconds": self.seconds,
            "video": self.video,
        }
        if with_episodes:
            result["episode_list"] = [
                {"seed": e.seed, "return": e.total_reward, "length": e.length, "metrics": e.metrics}
                for e in self.episodes
            ]
        return result


Chooser = Callable[[dict[str, npt.NDArray[Any]]], Any]


def evaluate(
    model: str | Path | None = None,
    *,
    episodes: int = 10,
    seed: int = 0,
    deterministic: bool = False,
    random: bool = False,
    spec: EnvSpec | None = None,
    racing: str = "official",
    video: str | Path | None = None,
    on_episode: Callable[[int, EpisodeResult], None] | None = None,
    watch: Watch | None = None,
    stopped: Callable[[], bool] | None = None,
    **changes: Any,
) -> Evaluation:
    """Play ``episodes`` episodes of a model file (or of a random policy) and return what came of them.

    A model of CarRacing is played on Gymnasium's own env, or with ``racing="fast"`` on ours; rewards are never clipped.
    ``stopped`` is asked after each episode. ``changes`` replace fields of the model's env, such as ``rom``. A class or
    a module that the model names (``game="my_game:MyGame"``, ``imports``) is imported only if ``changes`` name it too.
    """
    if episodes < 1:
        raise SettingsError(f"episodes is {episodes}, wanted 1 or more")
    if model is not None:
        policy, foreign = load_policy(model)
        spec = foreign.accepted(changes)
    elif not random or spec is None:
        raise SettingsError("evaluate needs a model file, or random=True with a spec")
    else:
        policy = None
        spec = spec.with_(**{key: value for key, value in changes.items() if value is not None})
    return play_episodes(
        policy,
        evaluation_spec(spec, racing).with_(watch=watch),
        episodes=episodes,
        seed=seed,
        deterministic=deterministic,
        video=Path(video) if video else None,
        on_episode=on_episode,
        stopped=stopped,
    )


def evaluation_spec(spec: EnvSpec, racing: str = "official") -> EnvSpec:
    """Return the env an agent trained in ``spec`` is judged in: whole rewards, and CarRacing as Gymnasium draws it."""
    spec = spec.with_(reward_clip=None, missed_tile_cost=None, patience=None)
    if spec.env_id in (RACING, OFFICIAL_RACING):
        return spec.with_(env_id=RACING if racing == "fast" else OFFICIAL_RACING)
    return spec


def load_policy(path: str | Path) -> tuple[Policy, ForeignSpec]:
    """Return the policy of a model file and the env that the file says it was trained in."""
    model = load_model(path)
    try:
        shapes = {name: _leaf_shape(*leaf) for name, leaf in model.meta["leaves"].items()}
        actions, settings = space_from_json(model.meta["action_space"]), _net_settings(dict(model.meta["net"]))
        check_network(shapes, actions, settings, sum(weight.nbytes for weight in model.weights.values()))
        policy = Policy(shapes, actions, settings)
    except _UNFIT as error:
        raise ModelFileError(f"{path} describes a network that cannot be built: {str(error)[:300]}") from None
    load_weights(policy, model.weights, path)
    try:
        return policy, ForeignSpec(EnvSpec.from_dict(model.meta["env"]), str(path))
    except SettingsError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _net_settings(net: dict[str, Any]) -> NetSettings:
    """Return what decides a network's shape, as a model file holds it."""
    words = {"cnn": CNNS, "activation": ("tanh", "relu"), "box": ("gaussian", "beta"), "normalize_obs": (True, False)}
    for name, known in words.items():
        if name in net and net[name] not in known:
            raise ValueError(f"{name} is {short(net[name])}, wanted one of {', '.join(map(str, known))}")
    hidden = net.get("hidden")
    sizes = [net.get("lstm", 0), *(hidden or ())]
    if len(sizes) > 65 or any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError(f"its layers are {short(hidden)} and lstm is {short(sizes[0])}, wanted whole numbers")
    return NetSettings(**{**net, "hidden": None if hidden is None else tuple(hidden)})


def _leaf_shape(shape: list[int], dtype: str, choices: Sequence[tuple[int, int]] = ()) -> LeafShape:
    """Return a leaf as a model file holds it; files written before choices were one-hot name none."""
    if np.dtype(dtype).kind not in "biuf" or any(type(side) is not int or side < 0 for side in shape):
        raise ValueError(f"a leaf is {short(shape)} of {short(dtype)}, wanted whole numbers and a kind of number")
    return LeafShape(tuple(shape), dtype, tuple((int(n), int(start)) for n, start in choices))


def play_episodes(
    policy: Policy | None,
    spec: EnvSpec,
    *,
    episodes: int,
    seed: int = 0,
    deterministic: bool = False,
    video: Path | None = None,
    on_episode: Callable[[int, EpisodeResult], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Evaluation:
    """Play on one env of its own; the same arguments give the same episodes. ``policy`` None plays at random.

    ``stopped`` is asked after each episode: the rest is then left out.
    """
    started = time.perf_counter()
    env = make(spec.with_(render=True) if video else spec)
    slot_env = as_slot_env(env)
    filmed = FILMED_EPISODES if video else 0
    rows = fresh_rows(env.observation_space)
    first_seed = FIRST_HELD_OUT_SEED + seed * 1_000_003 % (1 << 30)
    results: list[EpisodeResult] = []
    pictures: list[tuple[str, Picture]] = []
    recorder = None
    try:
        if policy is not None:
            _check_fit(policy, rows, env.action_space, spec)
        actor = Actor(policy, deterministic=deterministic, seed=seed) if policy is not None else None
        choose: Chooser = actor or _random_chooser(env.action_space, seed)
        if video:
            slot_env.begin(first_seed, rows)
            shape = _picture_shape(env, spec)
            fps = int(env.metadata.get("render_fps", 10))
            recorder = VideoFile(video, (shape[0], shape[1]), fps, scale=max(1, 480 // shape[0]))
        for index in range(episodes):
            if video and index == filmed:  # nobody looks at the rest: play it undrawn
                env.close()
                env = make(spec)
                slot_env = as_slot_env(env)
            slot_env.begin(first_seed + index, rows)
            if actor is not None:
                actor.begin()
            total, length, ended = 0.0, 0, False
            film = recorder if index < filmed else None
            while not ended:
                if film is not None:
                    frame: Picture = np.asarray(env.render(), np.uint8)
                    film.append(frame)
                    if index == 0 and length % 40 == 20 and len(pictures) < 5:
                        pictures.append((f"episode 1, step {length}", frame.copy()))
                reward, terminated, truncated = slot_env.advance(choose(rows), rows)
                total, length, ended = total + reward, length + 1, terminated or truncated
            metrics = dict(zip(slot_env.metric_names, (float(m) for m in slot_env.episode_metrics()), strict=True))
            result = EpisodeResult(first_seed + index, total, length, metrics)
            results.append(result)
            if on_episode is not None:
                on_episode(index, result)
            if stopped is not None and stopped():
                break
    finally:
        if recorder is not None:
            recorder.close()
        env.close()
    seconds = time.perf_counter() - started
    return Evaluation(tuple(results), seconds, tuple(pictures), str(video) if video else None, spec.label)


def _picture_shape(env: Any, spec: EnvSpec) -> tuple[int, ...]:
    """Return the shape of what the env draws; an env that cannot draw is told in one sentence."""
    try:
        shape = np.asarray(env.render()).shape
    except gym.error.DependencyNotInstalled as error:
        raise MissingExtraError(f"{spec.label} cannot be filmed: {error}") from None
    if len(shape) != 3:
        raise EnvError(f"{spec.label} cannot be filmed: it draws no picture")
    return shape


def _check_fit(policy: Policy, rows: dict[str, npt.NDArray[Any]], actions: Any, spec: EnvSpec) -> None:
    wanted = {name: leaf.shape for name, leaf in policy.leaves.items()}
    got = {name: row.shape for name, row in rows.items()}
    if wanted != got:
        raise ModelFileError(f"the model observes {wanted}, but {spec.label} shows {got}; train one for these settings")
    if policy.action_space != actions:
        raise ModelFileError(
            f"the model acts in {policy.action_space}, but {spec.label} takes {actions}; train one for these settings"
        )


def _random_chooser(space: Any, seed: int) -> Chooser:
    space.seed(seed)
    return lambda rows: space.sample()
