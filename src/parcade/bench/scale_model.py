"""A small simulation of one synchronous training on many nodes: how much of each node's time is used.

Every update all nodes play a rollout of their own and wait for the slowest. Then they take the optimiser steps
together: each step waits for the slowest gradient, and for the exchange. A node that fails costs what its learner
needs to come back, and the update is repeated. See docs/scale.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcade.cluster.gradient_part import bytes_per_step, sends_whole

Floats = npt.NDArray[np.float64]
NODES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


@dataclass(frozen=True, slots=True)
class Load:
    """What one node has to do for an update, measured on one node."""

    play_s: float
    learn_s: float
    n_steps: int  # optimiser steps of an update
    n_weights: int


@dataclass(frozen=True, slots=True)
class Network:
    """How nodes reach each other, and how even and how lasting they are."""

    latency_s: float = 1e-4  # of one message, with what both ends do for it
    bytes_per_s: float = 1.25e8  # 1 Gbit/s
    spread: float = 0.05  # standard deviation of the logarithm of a node's time
    failures_per_hour: float = 0.01  # of each node
    recovery_s: float = 20.0  # until a learner is where it was, on another node


def exchange_s(nodes: int, load: Load, network: Network) -> float:
    """Return what the exchange of one optimiser step takes: gloo hands data around a ring, or to each other node."""
    if nodes == 1:
        return 0.0
    whole = sends_whole(load.n_weights, nodes, 1)
    meetings = 1 if whole else 2
    sent = bytes_per_step(load.n_weights, nodes, 1, whole)
    return meetings * (nodes - 1) * network.latency_s + sent / network.bytes_per_s


def efficiency(nodes: int, load: Load, network: Network, *, updates: int = 200, seed: int = 0) -> float:
    """Return which part of the nodes' time is work, with one shard on each; 1 is as fast as nodes can be."""
    chance = np.random.default_rng([seed, nodes])
    play = _slowest(chance, nodes, network.spread, updates) * load.play_s
    steps = _slowest(chance, nodes, network.spread, updates * load.n_steps) * load.learn_s / load.n_steps
    learn = steps.reshape(updates, load.n_steps).sum(1) + load.n_steps * exchange_s(nodes, load, network)
    took = play + learn
    lost = chance.poisson(took * nodes * network.failures_per_hour / 3600)
    seconds = took + lost * (network.recovery_s + took / 2)  # a failure comes half way, on average
    return float(updates * (load.play_s + load.learn_s) / seconds.sum())


def _slowest(chance: np.random.Generator, nodes: int, spread: float, count: int) -> Floats:
    """Return the time of the slowest of all nodes, ``count`` times; a single node takes 1 on average.

    The largest of n draws is drawn at once: from a uniform number u, it is where the distribution reaches u ** (1 / n).
    """
    share = chance.random(count) ** (1.0 / nodes)
    times: Floats = np.exp(spread * _normal_quantile(share) - spread**2 / 2)
    return times


def _normal_quantile(share: Floats) -> Floats:
    """Return where the normal distribution reaches these shares, from a table."""
    points = np.linspace(-8.0, 8.0, 3201)
    reached = np.array([0.5 * math.erfc(-point / math.sqrt(2)) for point in points])
    return np.interp(share, reached, points)


def curve(load: Load, network: Network, nodes: Sequence[int] = NODES) -> dict[int, float]:
    """Return the efficiency for each number of nodes."""
    return {count: efficiency(count, load, network) for count in nodes}


def largest(load: Load, network: Network, wanted: float = 0.5) -> int:
    """Return the largest number of nodes of ``NODES`` that are used this well: there the synchronous design ends."""
    return max(count for count, found in curve(load, network).items() if found >= wanted)
