"""Learned novelty: what a network cannot predict yet is new (random network distillation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parcade.errors import ModelFileError
from parcade.pool.block import Block

SIZE, FEATURES = 128, 64  # of the hidden layers, and of what is predicted
PICTURE = (18, 20)  # pictures are averaged to this size first: the bonus asks for places, not for pixels
ROWS = 512  # of one gradient step
LEARNING_RATE = 1e-3
LARGEST = 5.0  # of an input, in standard deviations


class PredictionNovelty:
    """Pays the error of a predictor of a fixed random network, divided by its running standard deviation.

    Each block is paid first and then learned from once, in the order of its rows. All is computed with one thread, so
    the bits do not depend on the machine's cores.
    """

    def __init__(self, obs: Mapping[str, npt.NDArray[Any]], seed: int) -> None:
        self._leaves = tuple(obs)
        size = sum(_inputs(rows[:1, :1]).shape[1] for rows in obs.values())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._target, self._predictor = _network(size), _network(size)
        self._optimiser = torch.optim.Adam(self._predictor.parameters(), lr=LEARNING_RATE)
        self._count = 0.0  # rows that mean and variance were made of
        self._mean, self._variance = torch.zeros(size), torch.ones(size)
        self._spread = np.array([0.0, 0.0, 0.0])  # count, mean and sum of squares of all errors so far

    def bonuses(self, block: Block) -> npt.NDArray[np.float64]:
        """Return (T, N) bonuses, and learn from the block; the end of an episode gets none."""
        inputs = torch.cat([_inputs(block.obs[leaf][1:]) for leaf in self._leaves], 1)
        self._observe(inputs)
        scaled = ((inputs - self._mean) / (self._variance + 1e-8).sqrt()).clamp(-LARGEST, LARGEST)
        errors = self._errors(scaled).double().numpy().reshape(block.reward.shape)
        self._note(errors)
        self._learn(scaled)
        bonus: npt.NDArray[np.float64] = errors / max(1e-8, float(np.sqrt(self._spread[2] / self._spread[0])))
        bonus[block.ended] = 0.0
        return bonus

    @torch.no_grad()
    def _errors(self, inputs: Tensor) -> Tensor:
        errors: Tensor = (self._predictor(inputs) - self._target(inputs)).square().mean(1)
        return errors

    def _learn(self, inputs: Tensor) -> None:
        with torch.no_grad():
            wanted = self._target(inputs)
        for at in range(0, len(inputs), ROWS):
            loss = F.mse_loss(self._predictor(inputs[at : at + ROWS]), wanted[at : at + ROWS])
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()

    def _observe(self, inputs: Tensor) -> None:
        """Take rows into the running mean and variance."""
        count, mean, variance = len(inputs), inputs.mean(0), inputs.var(0, correction=0)
        total, delta = self._count + count, mean - self._mean
        squares = self._variance * self._count + variance * count + delta.square() * self._count * count / total
        self._mean, self._variance, self._count = self._mean + delta * count / total, squares / total, total

    def _note(self, errors: npt.NDArray[np.float64]) -> None:
        count, mean, squares = self._spread
        added, there = errors.size, errors.mean()
        total, delta = count + added, there - mean
        squares += ((errors - there) ** 2).sum() + delta**2 * count * added / total
        self._spread = np.array([total, mean + delta * added / total, squares])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything but the fixed network, which follows from the seed."""
        moments = {
            f"moments:{number}:{name}": value.numpy().copy() if isinstance(value, Tensor) else np.array(value)
            for number, of_one in self._optimiser.state_dict()["state"].items()
            for name, value in of_one.items()
        }
        return {
            **{f"weights:{name}": value.numpy().copy() for name, value in self._predictor.state_dict().items()},
            **moments,
            "mean": self._mean.numpy(),
            "variance": self._variance.numpy(),
            "count": np.array([self._count]),
            "spread": self._spread,
        }

    def load_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to what ``state`` returned."""
        own = self._predictor.state_dict()
        weights = {name: torch.from_numpy(state[f"weights:{name}"].copy()) for name in own}
        if any(weights[name].shape != own[name].shape for name in own) or state["mean"].shape != tuple(
            self._mean.shape
        ):
            raise ModelFileError("the checkpoint's novelty network is of another observation")
        if not all(array.dtype.kind == "f" and np.isfinite(array).all() for array in state.values()):
            raise ModelFileError("the checkpoint's novelty network holds NaN or infinite values")
        self._predictor.load_state_dict(weights)
        moments: dict[int, dict[str, Tensor]] = {}
        for key, array in state.items():
            if key.startswith("moments:"):
                _, number, name = key.split(":")
                moments.setdefault(int(number), {})[name] = torch.from_numpy(array.copy())
        sizes = [tuple(one.shape) for one in self._predictor.parameters()]
        for which, of_one in moments.items():
            wanted = {"step": (), "exp_avg": sizes[which], "exp_avg_sq": sizes[which]}
            if {name: tuple(value.shape) for name, value in of_one.items()} != wanted:
                raise ModelFileError("the checkpoint's novelty network has moments of another network")
        self._optimiser.load_state_dict({**self._optimiser.state_dict(), "state": moments})
        self._mean, self._variance = (torch.from_numpy(state[name].copy()) for name in ("mean", "variance"))
        self._count, self._spread = float(state["count"][0]), state["spread"].copy()


def _network(size: int) -> nn.Sequential:
    layers = nn.Linear(size, SIZE), nn.ReLU(), nn.Linear(SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, FEATURES)
    return nn.Sequential(*layers)


def _inputs(rows: npt.NDArray[Any]) -> Tensor:
    """Return (T, N, ...) of a leaf as (T * N, numbers)."""
    flat = torch.from_numpy(np.ascontiguousarray(rows)).flatten(0, 1)
    if flat.ndim == 4 and flat.dtype == torch.uint8:
        return F.adaptive_avg_pool2d(flat[:, -1:].float() / 255, PICTURE).flatten(1)
    return flat.float().reshape(len(flat), -1)
