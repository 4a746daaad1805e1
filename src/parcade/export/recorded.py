"""Observations of real play, and how far an exported policy's answers to them are from ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from parcade.env.slot import observation_rows
from parcade.export.network import ExportedPolicy, Step, input_rows
from parcade.learn.policy import Policy
from parcade.learn.rows import padded
from parcade.learn.sampling import Array, sampler_for
from parcade.learn.single_actor import SingleActor

Rows = dict[str, Array]
LONGEST_EPISODE = 10  # times the steps asked for; a longer one is cut


@dataclass(frozen=True, slots=True)
class Difference:
    """How an exported policy compares with ours on recorded play."""

    steps: int
    episodes: int
    largest: float  # of any number it answered, relative to ours where that is above 1
    other_actions: int  # steps in which its likeliest action was another one


def record_episodes(policy: Policy, env: gym.Env[Any, Any], steps: int, seed: int) -> list[list[Rows]]:
    """Play whole episodes until there are ``steps`` steps; return what was seen in each."""
    episodes: list[list[Rows]] = []
    actor, left = SingleActor(policy, seed=seed), steps
    while left > 0:
        episode = list(_play(actor, env, seed + len(episodes), LONGEST_EPISODE * steps))
        episodes.append(episode)
        left -= len(episode)
    return episodes


def _play(actor: SingleActor, env: gym.Env[Any, Any], seed: int, most: int) -> Iterator[Rows]:
    actor.begin(seed)
    observation, _ = env.reset(seed=seed)
    for _ in range(most):
        rows = {name: row.copy() for name, row in observation_rows(observation).items()}
        yield rows
        observation, _, terminated, truncated, _ = env.step(actor(rows))
        if terminated or truncated:
            return


class OwnPolicy:
    """Our own policy, as the actors run it."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self._sampler = policy, sampler_for(policy.action_space, policy.net.box)

    @torch.inference_mode()
    def __call__(self, rows: Mapping[str, Array], state: Array) -> Step:
        """Answer with the likeliest action."""
        seen = {name: padded(torch.from_numpy(row)) for name, row in input_rows(self._policy, rows).items()}
        params, value, after = (out[:1].numpy() for out in self._policy.step(seen, padded(torch.from_numpy(state))))
        return Step(self._sampler.to_env(self._sampler.draw(params, None)), params, value, after)


def compare(policy: Policy, exported: ExportedPolicy, episodes: list[list[Rows]]) -> Difference:
    """Let both answer the same observations, each with its own memory from an episode's first step to its last."""
    ours, largest, others = OwnPolicy(policy), 0.0, 0
    for episode in episodes:
        own = other = policy.initial_state(1).numpy()
        for rows in episode:
            wanted, got = ours(rows, own), exported(rows, other)
            own, other = wanted.state, got.state
            largest = max(largest, *(_apart(a, b) for a, b in zip(wanted[1:], got[1:], strict=True)))
            if np.issubdtype(wanted.action.dtype, np.floating):
                largest = max(largest, _apart(wanted.action, got.action))
            others += not np.allclose(wanted.action, got.action, rtol=1e-4, atol=1e-4)
    return Difference(sum(map(len, episodes)), len(episodes), largest, others)


def _apart(ours: Array, theirs: Array) -> float:
    """Return the largest difference, relative where our number is above 1; NaN counts as infinite."""
    if ours.shape != theirs.shape:
        return float("inf")
    if not ours.size:
        return 0.0
    apart = float((np.abs(ours - theirs) / np.maximum(1.0, np.abs(ours))).max())
    return apart if np.isfinite(apart) else float("inf")
