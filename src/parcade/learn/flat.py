"""All weights in one block of memory, and all gradients in another: norm, clip and Adam are one call each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from parcade.errors import ModelFileError
from parcade.learn.private_torch import copy_all, fused_adam, has_fused_adam

BETAS, EPS = (0.9, 0.999), 1e-5  # of Adam
_ALIGNMENT = 16  # floats in a cache line: every weight begins on one


class FlatParameters:
    """Moves parameters into one block; they stay where modules find them, as views with the layout they had."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        sizes = [_aligned(parameter.numel()) for parameter in self._parameters]
        like = self._parameters[0]
        self.weights = nn.Parameter(torch.zeros(sum(sizes), dtype=like.dtype, device=like.device))
        self.weights.grad = torch.zeros_like(self.weights)
        self._gradients: list[Tensor] = []
        self._firsts: list[int] = []
        self._n_copied = len(self._parameters)  # by ``gradients_of``; the others are as soon as they are known
        first = 0
        for parameter, size in zip(self._parameters, sizes, strict=True):
            place = slice(first, first + parameter.numel())
            view = _shaped(self.weights.data[place], parameter)
            view.copy_(parameter.data)
            parameter.data = view
            self._gradients.append(_shaped(self.weights.grad[place], parameter))
            self._firsts.append(first)
            first += size

    def place_of(self, parameter: Tensor) -> int:
        """Return where a parameter begins in the block."""
        return self._firsts[[id(own) for own in self._parameters].index(id(parameter))]

    def tell_when_known(self, first: Tensor, tell: Callable[[], None]) -> None:
        """Have ``tell`` called whenever the gradients of ``first`` and all behind it stand in the block.

        Backwards, they are known before those of the parameters in front of them.
        """
        place, known = self.place_of(first), set()
        watched = [at for at, start in enumerate(self._firsts) if start >= place]

        def note(at: int, gradient: Tensor) -> None:
            self._gradients[at].copy_(gradient)
            known.add(at)
            if len(known) == len(watched):
                known.clear()
                tell()

        self._n_copied = watched[0]
        for at in watched:
            self._parameters[at].register_hook(partial(note, at))  # type: ignore[no-untyped-call]

    def gradients_of(self, loss: Tensor) -> None:
        """Put the gradients of ``loss`` into the block; those of the step before are overwritten."""
        found = torch.autograd.grad(loss, self._parameters)
        copy_all(self._gradients[: self._n_copied], found[: self._n_copied])

    def places(self, parameters: Iterable[Tensor]) -> list[Tensor]:
        """Return where these parameters' gradients stand in the block."""
        found = {id(parameter): place for parameter, place in zip(self._parameters, self._gradients, strict=True)}
        return [found[id(parameter)] for parameter in parameters]

    def clip_gradients(self, max_norm: float) -> None:
        """Scale all gradients down together to ``max_norm``, where their norm is larger."""
        gradient = self.weights.grad
        assert gradient is not None
        gradient.mul_((max_norm / (torch.linalg.vector_norm(gradient) + 1e-6)).clamp_(max=1.0))


def flat_size(tensors: Iterable[Tensor]) -> int:
    """Return how many numbers ``pack`` writes."""
    return sum(_aligned(tensor.numel()) for tensor in tensors)


def pack(module: nn.Module, into: Tensor) -> None:
    """Write all weights and buffers of a module one behind the other."""
    for place, tensor in _places(module, into):
        place.copy_(tensor)


def bind(module: nn.Module, weights: Tensor) -> None:
    """Let a module use what ``pack`` wrote, without a copy: it follows whoever writes there again."""
    for place, tensor in _places(module, weights):
        tensor.data = place


def _places(module: nn.Module, block: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    first = 0
    for tensor in module.state_dict(keep_vars=True).values():
        yield _shaped(block[first : first + tensor.numel()], tensor), tensor
        first += _aligned(tensor.numel())


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class FlatAdam:
    """Adam on one block of weights.

    Making a ``torch.optim.Adam`` imports torch's compiler, a second of every start: it is made only where torch has no
    fused step to call, or on another device.
    """

    def __init__(self, weights: nn.Parameter, learning_rate: float) -> None:
        self._weights, self.learning_rate = weights, learning_rate
        zeros = torch.zeros_like(weights.data)
        self._state = {"step": torch.zeros((), device=weights.device), "exp_avg": zeros, "exp_avg_sq": zeros.clone()}

    def moments(self) -> dict[str, Tensor]:
        """Return what a checkpoint needs; nothing before the first step."""
        return {f"adam_{name}": value for name, value in self._state.items()} if self._state["step"] > 0 else {}

    def load_moments(self, state: Mapping[str, Tensor]) -> None:
        """Take over what ``moments`` returned, nothing before the first step; those of another network are refused."""
        found = {name[5:]: value for name, value in state.items() if name.startswith("adam_")}
        forms = {name: (value.shape, value.dtype) for name, value in found.items()}
        if found and (
            forms != {name: (own.shape, own.dtype) for name, own in self._state.items()} or found["step"] < 0
        ):
            raise ModelFileError("the checkpoint's optimiser does not belong to this network")
        for name, own in self._state.items():
            own.copy_(found[name]) if found else own.zero_()

    @torch.no_grad()
    def descend(self) -> None:
        """Take a step with the gradient of the weights."""
        weights, state = self._weights, self._state
        if weights.device.type != "cpu" or not has_fused_adam():
            self._public.param_groups[0]["lr"] = self.learning_rate
            self._public.step()
            return
        assert weights.grad is not None
        state["step"].add_(1)
        moments = state["exp_avg"], state["exp_avg_sq"], state["step"]
        fused_adam(weights, weights.grad, *moments, lr=self.learning_rate, betas=BETAS, eps=EPS)

    @cached_property
    def _public(self) -> torch.optim.Adam:
        adam = torch.optim.Adam([self._weights], lr=self.learning_rate, betas=BETAS, eps=EPS, fused=True)
        adam.state[self._weights] = self._state
        return adam


def _shaped(block: Tensor, like: Tensor) -> Tensor:
    """Return the block seen as ``like``, in the memory order of ``like``."""
    if like.dim() == 4 and like.is_contiguous(memory_format=torch.channels_last):
        n, c, h, w = like.shape
        return block.view(n, h, w, c).permute(0, 3, 1, 2)
    return block.view(like.shape)
