"""Pictures of a minibatch moved by a few pixels at random, each row by its own shift; what leaves the frame is lost."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from parcade.errors import SettingsError
from parcade.learn.encoders import PixelEncoder
from parcade.learn.policy import Policy

STILL = "visited"  # a leaf of this name has the hero in its middle, which is what it means


class RandomShift:
    """Shifts up to ``pixels`` in each direction; the frame's edge is repeated where nothing was."""

    def __init__(self, policy: Policy, pixels: int, generator: torch.Generator) -> None:
        self._pixels, self._generator = pixels, generator
        self._first_side = {  # leaf name -> the dimension of its height
            name: 1 if encoder.channels_last else 2
            for name, encoder in zip(policy.seen, policy.parts, strict=True)
            if isinstance(encoder, PixelEncoder) and name != STILL
        }
        if not self._first_side:
            raise SettingsError(
                f"shift_pixels is {pixels}, but the policy sees no picture that can be shifted; "
                "use observation pixels or both, or leave shift_pixels out"
            )

    def __call__(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the observations with their pictures shifted; a row's pictures move together."""
        n_rows = len(next(iter(obs.values())))
        shifts = torch.randint(-self._pixels, self._pixels + 1, (2, n_rows), generator=self._generator)
        return {
            name: _shifted(rows, shifts, self._first_side[name]) if name in self._first_side else rows
            for name, rows in obs.items()
        }


def _shifted(rows: Tensor, shifts: Tensor, first_side: int) -> Tensor:
    """Return (rows, ...) read ``shifts`` (2, rows) further on in height and width: one copy for each shift."""
    found = torch.empty_like(rows)
    pairs, which = torch.unique(shifts, dim=1, return_inverse=True)
    for number, pair in enumerate(pairs.T.tolist()):
        moved = torch.nonzero(which == number).squeeze(1).to(rows.device)
        part = rows.index_select(0, moved)
        for side, shift in enumerate(pair, first_side):
            size = rows.shape[side]
            read = (torch.arange(size, device=rows.device) + shift).clamp(0, size - 1)
            part = part.index_select(side, read)
        found.index_copy_(0, moved, part)
    return found
