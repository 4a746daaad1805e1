"""All weights in one block of memory, and all gradients in another: norm, clip and Adam are one call each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

_ALIGNMENT = 16  # floats in a cache line: every weight begins on one


class FlatParameters:
    """Moves parameters into one block; they stay where modules find them, as views with the layout they had."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        sizes = [-(-parameter.numel() // _ALIGNMENT) * _ALIGNMENT for parameter in self._parameters]
        like = self._parameters[0]
        self.weights = nn.Parameter(torch.zeros(sum(sizes), dtype=like.dtype, device=like.device))
        self.weights.grad = torch.zeros_like(self.weights)
        self._gradients: list[Tensor] = []
        first = 0
        for parameter, size in zip(self._parameters, sizes, strict=True):
            place = slice(first, first + parameter.numel())
            view = _shaped(self.weights.data[place], parameter)
            view.copy_(parameter.data)
            parameter.data = view
            self._gradients.append(_shaped(self.weights.grad[place], parameter))
            first += size

    def gradients_of(self, loss: Tensor) -> None:
        """Put the gradients of ``loss`` into the block; those of the step before are overwritten."""
        gradients = torch.autograd.grad(loss, self._parameters)
        torch._foreach_copy_(self._gradients, gradients)

    def clip_gradients(self, max_norm: float) -> None:
        """Scale all gradients down together to ``max_norm``, where their norm is larger."""
        gradient = self.weights.grad
        assert gradient is not None
        gradient.mul_((max_norm / (torch.linalg.vector_norm(gradient) + 1e-6)).clamp_(max=1.0))


def _shaped(block: Tensor, like: Tensor) -> Tensor:
    """Return the block seen as ``like``, in the memory order of ``like``."""
    if like.dim() == 4 and like.is_contiguous(memory_format=torch.channels_last):
        n, c, h, w = like.shape
        return block.view(n, h, w, c).permute(0, 3, 1, 2)
    return block.view(like.shape)
