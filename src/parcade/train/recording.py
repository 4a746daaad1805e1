"""Recording what a policy sees and does, for another one to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from parcade.env.judged import evaluated_as
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.learn.policy import Policy
from parcade.pool.actor import Array
from parcade.pool.block import Block
from parcade.pool.opening import open_pool
from parcade.pool.seeding import NumberedEpisodes
from parcade.run.demonstration_file import save_demonstrations
from parcade.train.evaluation import first_seed, judged, load_policy, playing, slots_for

_STEPS = 64  # of a fragment


def record(
    model: str | Path,
    path: str | Path,
    *,
    episodes: int = 10,
    seed: int = 0,
    deterministic: bool = False,
    n_workers: int | None = None,
    **changes: Any,
) -> int:
    """Play a model and write every step of its episodes to a file; return how many steps that were."""
    if episodes < 1:
        raise SettingsError(f"episodes is {episodes}, wanted 1 or more")
    policy, foreign = load_policy(model)
    spec = evaluated_as(foreign.accepted(changes), "fast")
    obs, actions = record_steps(policy, spec, episodes, seed, deterministic, n_workers)
    meta = {"env": spec.to_dict(), "episodes": episodes, "seed": seed}
    save_demonstrations(Path(path), obs, actions, meta)
    return len(actions)


def record_steps(
    policy: Policy, spec: EnvSpec, episodes: int, seed: int, deterministic: bool, n_workers: int | None
) -> tuple[dict[str, Array], Array]:
    """Return the observations and actions of all steps, in the order of slots and time."""
    n_slots = slots_for(spec, episodes, n_workers)
    numbered = NumberedEpisodes(first_seed(seed), n_slots, episodes)
    kept: list[tuple[dict[str, Array], Array]] = []
    with open_pool(judged(spec), n_slots, n_workers=n_workers, episodes=numbered) as pool:
        actor, weights = playing(policy, pool, spec, deterministic)
        pool.reset()
        while not numbered.are_over(pool.status["episode"]):
            at_start = pool.status["episode"].copy()
            block = pool.play(actor, weights, seed, _STEPS)
            rows = _played(block, at_start, numbered)
            kept.append(({leaf: array[:-1][rows] for leaf, array in block.obs.items()}, block.drawn[rows]))
    obs = {leaf: np.concatenate([part[leaf] for part, _ in kept]) for leaf in kept[0][0]}
    return obs, np.concatenate([drawn for _, drawn in kept])


def _played(block: Block, at_start: Array, numbered: NumberedEpisodes) -> Array:
    """(T, N): which rows are steps of an episode; a slot without episodes only keeps its row."""
    episodes = np.concatenate([at_start[None], block.episode[:-1]])
    numbers = np.arange(block.n_envs) + episodes * numbered.n_slots
    return np.asarray(numbers < numbered.n_episodes)
