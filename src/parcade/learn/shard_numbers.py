"""Numbers of a shard as one row of a table, and what the rows of all shards mean together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from parcade.learn.exchange import FloatSK
from parcade.learn.loss import Tracked, told_of
from parcade.learn.normalise import RunningMoments, combine, moments_of
from parcade.learn.policy import Policy
from parcade.learn.rollout import Rollout

Row = npt.NDArray[np.float64]
_MEANS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")


def observed_row(policy: Policy, observations: Mapping[str, Tensor]) -> Row:
    """Return mean, variance and count of every leaf that the policy scales, one behind the other."""
    parts: list[Row] = [np.zeros(0)]
    for name, _ in _scaled_leaves(policy):
        mean, var, count = moments_of(observations[name].to(torch.float32).reshape(len(observations[name]), -1))
        parts += [mean.numpy(), var.numpy(), np.array([count])]
    return np.concatenate(parts)


def table_width(policy: Policy) -> int:
    """Return the numbers of the widest row that a shard hands over."""
    observed = sum(2 * len(moments.mean) + 1 for _, moments in _scaled_leaves(policy))
    return max(observed, len(_MEANS) + 6)


def take_observed(policy: Policy, rows: FloatSK) -> None:
    """Take what all shards have seen into the policy's moments, in the order of the shards."""
    first = 0
    for _, moments in _scaled_leaves(policy):
        size = len(moments.mean)
        for row in rows:
            mean, var = (torch.from_numpy(row[first + at : first + at + size]) for at in (0, size))
            moments.take((mean, var, float(row[first + 2 * size])))
        first += 2 * size + 1


def _scaled_leaves(policy: Policy) -> list[tuple[str, RunningMoments]]:
    leaves = zip(policy.seen, policy.parts, strict=True)
    found = [(name, getattr(encoder, "moments", None)) for name, encoder in leaves]
    return [(name, moments) for name, moments in found if isinstance(moments, RunningMoments)]


def summary_row(tracked: list[Tracked], rollout: Rollout, clip_range: float) -> Row:
    """Return what is told of a shard's losses, and what its returns and the errors of its values are like."""
    returns = rollout.returns.numpy().astype(np.float64)
    errors = returns - rollout.values[:-1]
    size = float(returns.size)
    told = told_of(tracked, clip_range)
    return np.array(
        [*(told[name] for name in _MEANS), returns.mean(), returns.var(), size, errors.mean(), errors.var(), size]
    )


def summary(rows: FloatSK) -> dict[str, float]:
    """Return what is told of an update: shards have equally many rows, so each counts alike."""
    n = len(_MEANS)
    losses = {name: sum(column) / len(rows) for name, column in zip(_MEANS, rows[:, :n].T.tolist(), strict=True)}
    _, spread, _ = combined(rows[:, n : n + 3])
    _, missed, _ = combined(rows[:, n + 3 :])
    return {**losses, "explained_variance": 1 - missed / spread if spread > 0 else 0.0}


def combined(rows: FloatSK) -> tuple[float, float, float]:
    """Return mean, variance and count of all shards together, of a row with these three for each."""
    (mean, var, count), *others = rows.tolist()
    for row in others:
        mean, var, count = combine((mean, var, count), tuple(row))
    return mean, var, count
