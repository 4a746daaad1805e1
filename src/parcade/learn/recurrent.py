"""An LSTM between encoders and heads, stepped while collecting and unrolled through time while learning."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn


class Recurrence(nn.Module):
    """(batch, size_in) -> (batch, ``size``), with a state (batch, 2 * size) that is all zeros at an episode's start."""

    def __init__(self, size_in: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.lstm = nn.LSTM(size_in, size)
        for name, parameter in self.lstm.named_parameters():
            nn.init.orthogonal_(parameter) if "weight" in name else nn.init.zeros_(parameter)

    def step(self, latent: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step in every row; return outputs and the state after it."""
        out, after = self._run(latent.unsqueeze(0), state)
        return out[0], after

    def unroll(self, latent: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Return outputs (T, batch, size) of ``latent`` (T, batch, size_in), from the state before its first step.

        ``starts`` (T, batch) says where an episode begins: there, and only there, the state is forgotten.
        """
        borders = [0, *(starts[1:].any(1).nonzero().flatten() + 1).tolist(), len(latent)]
        parts = []
        for first, last in pairwise(borders):
            state = state * (~starts[first]).unsqueeze(-1)
            out, state = self._run(latent[first:last], state)
            parts.append(out)
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _run(self, latent: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden, cell = state.unsqueeze(0).chunk(2, -1)
        out, (hidden, cell) = self.lstm(latent, (hidden.contiguous(), cell.contiguous()))
        return out, torch.cat([hidden[0], cell[0]], -1)
