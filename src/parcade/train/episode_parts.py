"""An evaluation's episodes in parts: a part of the numbers is played in a pool of its own, here or on another machine.

Episode n of an evaluation has the same env seed and the same noise wherever it is played, so it has the same result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from parcade.env.sharing import one_console_per_process
from parcade.env.slot import leaves
from parcade.env.spec import EnvSpec
from parcade.errors import ModelFileError, ParcadeError
from parcade.game.base import FIRST_HELD_OUT_SEED
from parcade.host.cores import usable_cores
from parcade.learn.actors import actor_for, actor_weights, worker_modules
from parcade.learn.policy import Policy
from parcade.pool.actor import Actor, Array
from parcade.pool.block import Block
from parcade.pool.opening import open_pool
from parcade.pool.pool import Pool
from parcade.pool.seeding import NumberedEpisodes
from parcade.train.random_actor import RandomActor

SLOTS_A_WORKER = 4  # enough for the network to be quick, few enough that the last episodes do not leave slots idle
FRAGMENT_S = 0.3  # about how long the games play without a look at Ctrl-C
MOST_STEPS = 64  # of a fragment


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """One evaluated episode."""

    seed: int
    total_reward: float
    length: int
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class PartOrders:
    """Which episodes are to be played, and how; ``numbers`` are those of this part."""

    spec: EnvSpec
    numbers: range
    seed: int = 0
    deterministic: bool = False
    n_workers: int | None = None
    n_slots: int | None = None
    options: dict[str, Any] = field(default_factory=dict)  # the pool's

    def part(self, numbers: range, n_workers: int | None) -> PartOrders:
        """Return the orders for some of the episodes, on a machine that has so many workers for them."""
        return replace(self, numbers=numbers, n_workers=n_workers)

    def at(self, spec: EnvSpec) -> PartOrders:
        """Return the orders for a machine on which the env has other files."""
        return replace(self, spec=spec)


class Played(NamedTuple):
    """What came of a moment of playing."""

    episodes: dict[int, EpisodeResult]  # that ended in it, by their numbers
    crashed: frozenset[int]  # numbers of all episodes so far that killed their worker every time
    told: str = ""  # the last death of a worker, in words


Stopped = Callable[[], bool]
Moments = Generator[Played, None, None]


class PlayParts(Protocol):
    """Plays episodes somewhere, moment after moment, until they are over or ``stopped`` says so."""

    def __call__(self, policy: Policy | None, orders: PartOrders, stopped: Stopped | None) -> Moments:
        """Give what came of each moment."""
        ...


def play_here(policy: Policy | None, orders: PartOrders, stopped: Stopped | None = None) -> Moments:
    """Play in a pool of this machine; ``policy`` None plays at random."""
    spec, numbers = orders.spec, orders.numbers
    n_slots = orders.n_slots or slots_for(spec, len(numbers), orders.n_workers)
    numbered = NumberedEpisodes(first_seed(orders.seed) + numbers.start, n_slots, len(numbers))
    with pool_for(policy, spec, numbered, n_slots, orders.n_workers, forgives_cuts=True, **orders.options) as pool:
        actor, weights = playing(policy, pool, spec, orders.deterministic)
        if stopped is not None:
            pool.while_waiting = partial(_stop_if, stopped)
        try:
            for block in _blocks(pool, numbered, actor, weights, orders.seed):
                yield Played(_ended(block, pool, numbered, numbers.start), *_crashes(pool, numbered, numbers.start))
                pool.while_waiting()
            yield Played({}, *_crashes(pool, numbered, numbers.start))
        except _StoppedError:
            pool.close(at_once=True)  # an env may hang: nobody waits for it
            yield Played({}, *_crashes(pool, numbered, numbers.start))


def _ended(block: Block, pool: Pool, numbered: NumberedEpisodes, first: int) -> dict[int, EpisodeResult]:
    found = {}
    for ended in block.episodes():
        if (ended.slot, ended.number) not in pool.cut:
            number = numbered.number(ended.slot, ended.number)
            seed = numbered.first_seed + number
            found[first + number] = EpisodeResult(seed, ended.total_reward, ended.length, dict(ended.metrics))
    return found


def _crashes(pool: Pool, numbered: NumberedEpisodes, first: int) -> tuple[frozenset[int], str]:
    """Return the numbers of the episodes that killed their worker every time, and the last death."""
    numbers = {numbered.number(slot, episode) for slot, episode in pool.cut}
    found = frozenset(first + number for number in numbers if number < numbered.n_episodes)
    return found, pool.restarts[-1] if found else ""


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


def _stop_if(stopped: Stopped) -> None:
    if stopped():
        raise _StoppedError


def judged(spec: EnvSpec) -> EnvSpec:
    """Return the env in which every slot holds all save states of a folder: an episode's seed chooses, not its slot."""
    return spec.with_(holds_all_states=True)


def first_seed(seed: int) -> int:
    """Return the env seed of the first episode of an evaluation; all of them are apart from training's."""
    return FIRST_HELD_OUT_SEED + seed * 1_000_003 % (1 << 30)


def pool_for(
    policy: Policy | None,
    spec: EnvSpec,
    episodes: NumberedEpisodes,
    n_slots: int,
    n_workers: int | None,
    **options: Any,
) -> Pool:
    """Return the games that a policy plays without learning, or chance where there is none."""
    preload = worker_modules(policy)
    return open_pool(judged(spec), n_slots, n_workers=n_workers, episodes=episodes, preload=preload, **options)


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
