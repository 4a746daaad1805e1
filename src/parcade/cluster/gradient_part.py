"""One part of the gradient on its way between learners.

Where the network is large, each learner adds up one slice for all of them: every learner sends the slices of its
shards to who adds them, and gets all sums back. What a learner sends does not grow with the number of learners. A small
network is sent whole, which takes one meeting instead of two. Either way the sum of an element is made of the same
additions in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

SMALL = 1 << 17  # bytes that a learner may send more for having one meeting instead of two


class GradientPart:
    """What is ours of one part, and what the others send of theirs.

    Whole gradients go to the others only, with a copy for each of them; slices go to ourselves too. Where there is one
    gradient for one other learner, it is sent from where it stands.
    """

    def __init__(self, span: range, learner: int, n_learners: int, n_held: int, whole: bool) -> None:
        self.span, self._whole, self._learner = span, whole, learner
        self._slice = -(-len(span) // n_learners)
        n_others = n_learners - 1
        shape = (max(1, n_others), n_held, len(span)) if whole else (n_learners, n_held, self._slice)
        self._own, self._found = torch.zeros(shape), torch.zeros(shape)
        self.sum, self.sums = torch.zeros(self._slice), torch.zeros(n_learners, self._slice)
        self._is_pair = whole and n_others == 1 and n_held == 1
        rows = [int(not whole or other != learner) for other in range(n_learners)]
        self._sizes = [row * self._own[0].numel() for row in rows]
        self.bytes_swapped = n_others * self._own[0].numel() * 4
        self.work: Any = None  # of the swap that is under way

    def take(self, at: int, gradient: Tensor) -> None:
        """Take this part of the gradient of one shard, the ``at``-th of those that are held."""
        own = gradient[self.span.start : self.span.stop]
        if self._is_pair:
            self._own = own.view(1, 1, -1)
        elif self._whole:
            self._own[:, at].copy_(own)
        else:
            for owner, part in enumerate(torch.split(own, self._slice)):
                self._own[owner, at, : len(part)].copy_(part)

    def swap(self, group: Any) -> Any:
        """Begin to send what is ours, and to find what is the others'; return what can be waited for."""
        return group.alltoall_base(self._found.view(-1), self._own.view(-1), self._sizes, self._sizes)

    def gradients(self) -> Iterable[Tensor]:
        """Yield every shard's gradient, or our slice of it, in the order of the shards."""
        found = self._found
        if self._whole:
            before, after = found[: self._learner], found[self._learner : len(self._sizes) - 1]
            yield from (gradient for shards in (*before, self._own[0], *after) for gradient in shards)
        else:
            yield from found.flatten(0, 1)


def sends_whole(n_weights: int, n_learners: int, n_held: int) -> bool:
    """Whether every learner gets all gradients as they are: few bytes more are cheaper than a second meeting."""
    return bytes_per_step(n_weights, n_learners, n_held, True) <= SMALL + bytes_per_step(
        n_weights, n_learners, n_held, False
    )


def bytes_per_step(n_weights: int, n_learners: int, n_held: int, whole: bool) -> int:
    """Return what one learner sends to others for one optimiser step."""
    if whole:
        return (n_learners - 1) * n_held * n_weights * 4
    return (n_learners - 1) * (n_held + 1) * -(-n_weights // n_learners) * 4


def add_in_order(gradients: Iterable[Tensor], into: Tensor) -> None:
    """Write the sum of gradients, added one after the other; of two, ``into`` may be one."""
    first, *others = gradients
    if not others:
        into.copy_(first)
        return
    torch.add(first, others[0], out=into)
    for gradient in others[1:]:
        into.add_(gradient)
