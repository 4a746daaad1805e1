"""Play a policy without learning, on seeds never trained on, with the numbers of one env played alone."""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from parcade.env.foreign import ForeignSpec
from parcade.env.judged import evaluated_as
from parcade.env.sharing import one_console_per_process
from parcade.env.slot import leaves
from parcade.env.space_json import space_from_json
from parcade.env.spec import EnvSpec, Watch
from parcade.errors import ModelFileError, ParcadeError, SettingsError
from parcade.game.base import FIRST_HELD_OUT_SEED
from parcade.host.cores import usable_cores
from parcade.host.input_file import short
from parcade.learn.actors import actor_for, actor_weights
from parcade.learn.encoders import CNNS, LeafShape
from parcade.learn.policy import NetSettings, Policy
from parcade.pool.actor import Actor, Array
from parcade.pool.block import Block
from parcade.pool.opening import open_pool
from parcade.pool.pool import Pool
from parcade.pool.seeding import NumberedEpisodes
from parcade.run.model_file import load_model, load_weights
from parcade.train.film import FILMED_EPISODES, Film, Picture, film_episodes
from parcade.train.network_size import check_network
from parcade.train.python_env import PythonEnv, named_env
from parcade.train.random_actor import RandomActor

log = logging.getLogger("parcade.train")
SLOTS_A_WORKER = 4  # enough for the network to be quick, few enough that the last episodes do not leave slots idle
FRAGMENT_S = 0.3  # about how long the games play without a look at Ctrl-C
MOST_STEPS = 64  # of a fragment
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
    wanted: int = 0  # episodes there should have been; fewer were played where somebody or eval_minutes stopped it
    env: str = ""  # the title or Gymnasium id that was played
    cut_episodes: int = 0  # that a step ended by killing its worker again and again

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
        """Share of episodes that succeeded, of those that say so; None where the env knows no success."""
        told = [e.metrics["success"] for e in self.episodes if "success" in e.metrics]
        return statistics.fmean(told) if told else None

    def summary(self) -> dict[str, float]:
        """Return what stands in a row of metrics."""
        numbers = {
            "mean_reward": self.return_mean,
            "std_reward": self.return_std,
            "mean_length": self.length_mean,
            "std_length": self.length_std,
        }
        return numbers if self.success_rate is None else {**numbers, "success_rate": self.success_rate}

    def fact_line(self) -> str:
        """Return it as one line of a log."""
        return " ".join(f"eval_{name}={value:.3f}" for name, value in self.summary().items())

    def to_dict(self, with_episodes: bool = False) -> dict[str, Any]:
        """Return JSON-ready results."""
        result: dict[str, Any] = {
            "env": self.env,
            "episodes": len(self.episodes),
            "wanted_episodes": self.wanted,
            "return_mean": self.return_mean,
            "return_std": self.return_std,
            "length_mean": self.length_mean,
            "length_std": self.length_std,
            "success_rate": self.success_rate,
            "seconds": self.seconds,
            "video": self.video,
            "cut_episodes": self.cut_episodes,
        }
        if with_episodes:
            result["episode_list"] = [
                {"seed": e.seed, "return": e.total_reward, "length": e.length, "metrics": e.metrics}
                for e in self.episodes
            ]
        return result


def evaluate(
    model: str | Path | None = None,
    *,
    episodes: int = 10,
    seed: int = 0,
    deterministic: bool = False,
    random: bool = False,
    spec: EnvSpec | None = None,
    env: PythonEnv | None = None,
    racing: str = "official",
    video: str | Path | None = None,
    n_workers: int | None = None,
    on_episode: Callable[[int, EpisodeResult], None] | None = None,
    watch: Watch | None = None,
    stopped: Callable[[], bool] | None = None,
    **changes: Any,
) -> Evaluation:
    """Play ``episodes`` episodes of a model file (or of a random policy) and return what came of them.

    A model of CarRacing is played on Gymnasium's own env, or with ``racing="fast"`` on ours; rewards are never clipped.
    ``stopped`` is asked now and then. ``changes`` replace fields of the model's env, such as ``rom``. A class or a
    module that the model names (``game="my_game:MyGame"``, ``imports``) is imported only if ``changes`` name it too.
    ``env`` is a title, a Gymnasium id or a function that makes the env; a model of ``train(env=function)`` needs it.
    The numbers are the same for any ``n_workers`` (None: one for each core, 0: all in this process).
    """
    if episodes < 1:
        raise SettingsError(f"episodes is {episodes}, wanted 1 or more")
    named, factory = named_env(env)
    named.pop("env_factory", None)
    changes |= {**named, "factory": factory}
    if model is None and spec is None and env is not None:
        spec = EnvSpec(**named, factory=factory)
    if model is not None:
        policy, foreign = load_policy(model)
        spec = foreign.accepted(changes)
    elif not random or spec is None:
        raise SettingsError("evaluate needs a model file, or random=True with a spec or an env")
    else:
        policy = None
        spec = spec.with_(**{key: value for key, value in changes.items() if value is not None})
    spec = evaluated_as(spec, racing)
    if watch is not None:
        n_workers = 0  # one game before somebody's eyes, who may pause it for longer than any deadline
    result = play_episodes(
        policy,
        spec.with_(watch=watch),
        episodes=episodes,
        seed=seed,
        deterministic=deterministic,
        n_workers=n_workers,
        on_episode=on_episode,
        stopped=stopped,
    )
    if video is None:
        return result
    film = film_evaluation(
        policy, spec, Path(video), seed=seed, deterministic=deterministic, n_workers=n_workers, stopped=stopped
    )
    return replace(result, video=film.path, pictures=film.pictures)


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
    n_workers: int | None = None,
    on_episode: Callable[[int, EpisodeResult], None] | None = None,
    stopped: Callable[[], bool] | None = None,
    **options: Any,
) -> Evaluation:
    """Play in a pool of their own; the same arguments give the same episodes, whatever ``n_workers`` is.

    ``policy`` None plays at random. Once ``stopped`` says so, what has ended until then counts. ``options`` are the
    pool's.
    """
    started = time.perf_counter()
    n_slots = slots_for(spec, episodes, n_workers)
    numbered = NumberedEpisodes(first_seed(seed), n_slots, episodes)
    found: dict[int, EpisodeResult] = {}
    with open_pool(judged(spec), n_slots, n_workers=n_workers, episodes=numbered, **options) as pool:
        actor, weights = playing(policy, pool, spec, deterministic)
        if stopped is not None:
            pool.while_waiting = partial(_stop_if, stopped)
        try:
            for block in _blocks(pool, numbered, actor, weights, seed):
                for ended in block.episodes():
                    number = numbered.number(ended.slot, ended.number)
                    found[number] = EpisodeResult(
                        first_seed(seed) + number, ended.total_reward, ended.length, dict(ended.metrics)
                    )
                    if on_episode is not None:
                        on_episode(len(found) - 1, found[number])
                pool.while_waiting()
            if len(found) < episodes:
                log.warning("%d of %d episodes could not be begun and are left out", episodes - len(found), episodes)
        except _StoppedError:
            pool.close(at_once=True)  # an env may hang: nobody waits for it
        cut = pool.cut_episodes
    if cut:
        log.warning("%d episodes of the evaluation were cut: a step of theirs kills its worker every time", cut)
    results = tuple(found[number] for number in sorted(found))
    return Evaluation(results, time.perf_counter() - started, env=spec.label, wanted=episodes, cut_episodes=cut)


def _blocks(pool: Pool, numbered: NumberedEpisodes, actor: Actor, weights: Array, seed: int) -> Iterator[Block]:
    """Play until no slot has an episode left, a moment at a time."""
    pool.reset()
    n_steps = 1
    while not numbered.are_over(pool.status["episode"]):
        began = time.perf_counter()
        block = pool.play(actor, weights, seed, n_steps)
        n_steps = _fitting_steps((time.perf_counter() - began) / n_steps)
        yield block


class _StoppedError(ParcadeError):
    """Somebody asked an evaluation to end."""


def _stop_if(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise _StoppedError


def film_evaluation(
    policy: Policy | None,
    spec: EnvSpec,
    path: Path,
    *,
    seed: int,
    deterministic: bool,
    n_workers: int | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Film:
    """Film the first episodes of the evaluation with these arguments, until ``stopped`` says so."""
    numbered = NumberedEpisodes(first_seed(seed), 1, FILMED_EPISODES)
    workers = None if n_workers is None else min(1, n_workers)
    with open_pool(judged(spec).with_(render=True), 1, n_workers=workers, episodes=numbered) as pool:
        actor, weights = playing(policy, pool, spec, deterministic)
        return film_episodes(pool, lambda: pool.play(actor, weights, seed, 1), path, FILMED_EPISODES, stopped)


def judged(spec: EnvSpec) -> EnvSpec:
    """Return the env in which every slot holds all save states of a folder: an episode's seed chooses, not its slot."""
    return spec.with_(holds_all_states=True)


def first_seed(seed: int) -> int:
    """Return the env seed of the first episode of an evaluation; all of them are apart from training's."""
    return FIRST_HELD_OUT_SEED + seed * 1_000_003 % (1 << 30)


def playing(policy: Policy | None, pool: Pool, spec: EnvSpec, deterministic: bool) -> tuple[Actor, Array]:
    """Return the actor of a policy, or chance where there is none, and its weights; a misfit is refused."""
    if policy is None:
        return RandomActor(pool.action_space), np.zeros(0, np.float32)
    _check_fit(policy, pool, spec)
    return actor_for(policy, deterministic=deterministic), actor_weights(policy)


def slots_for(spec: EnvSpec, episodes: int, n_workers: int | None) -> int:
    """Return how many games play at once: enough for all workers, no more than there are episodes."""
    if n_workers == 0:
        return 1
    workers = usable_cores() if n_workers is None else n_workers
    return min(episodes, workers if one_console_per_process(spec) else SLOTS_A_WORKER * workers)


def _fitting_steps(step_s: float) -> int:
    """Return how many steps take about ``FRAGMENT_S``: few sizes only, a new one needs a new block."""
    wanted = FRAGMENT_S / max(step_s, 1e-9)
    return next((n for n in (MOST_STEPS, 16, 4) if n <= wanted), 1)


def _check_fit(policy: Policy, pool: Pool, spec: EnvSpec) -> None:
    wanted = {name: leaf.shape for name, leaf in policy.leaves.items()}
    got = {name: shape for name, (shape, _) in leaves(pool.observation_space).items()}
    if wanted != got:
        raise ModelFileError(f"the model observes {wanted}, but {spec.label} shows {got}; train one for these settings")
    if policy.action_space != pool.action_space:
        raise ModelFileError(
            f"the model acts in {policy.action_space}, but {spec.label} takes {pool.action_space}; "
            "train one for these settings"
        )
