"""Functions of torch that are not part of its public face: each is tried once, and there is a public way without it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor


def copy_all(targets: list[Tensor], sources: tuple[Tensor, ...]) -> None:
    """Copy each source to its target, in one call where torch has it."""
    if can_copy_at_once():
        torch._foreach_copy_(targets, sources)
        return
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


@cache
def can_copy_at_once() -> bool:
    """Whether ``torch._foreach_copy_`` is there and copies."""
    target = torch.zeros(2)
    try:
        torch._foreach_copy_([target], [torch.ones(2)])
    except (AttributeError, RuntimeError, TypeError):
        return False
    return bool((target == 1).all())


@cache
def has_fused_adam() -> bool:
    """Whether ``torch._fused_adam_`` takes the step of Adam on a CPU."""
    weights, gradient, rate, beta1, beta2, eps = torch.ones(3), torch.tensor([0.5, -2.0, 0.0]), 0.1, 0.9, 0.999, 1e-5
    mean, square, count = torch.full((3,), 0.2), torch.full((3,), 0.3), torch.full((), 2.0)
    expected = beta1 * mean + (1 - beta1) * gradient, beta2 * square + (1 - beta2) * gradient**2
    spread = (expected[1] / (1 - beta2**2)).sqrt() + eps
    wanted = weights - rate * expected[0] / (1 - beta1**2) / spread
    try:
        fused_adam(weights, gradient, mean, square, count, lr=rate, betas=(beta1, beta2), eps=eps)
    except (AttributeError, RuntimeError, TypeError):
        return False
    pairs = zip((weights, mean, square), (wanted, *expected), strict=True)
    return all(torch.allclose(found, right, atol=0, rtol=1e-5) for found, right in pairs)


def fused_adam(
    weights: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    step: Tensor,
    *,
    lr: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
    """Take one step of Adam on one block of weights; ``step`` counts this one already."""
    torch._fused_adam_(
        [weights],
        [gradient],
        [mean],
        [square],
        [],
        [step],
        amsgrad=False,
        lr=lr,
        beta1=betas[0],
        beta2=betas[1],
        weight_decay=0.0,
        eps=eps,
        maximize=False,
    )


@cache
def has_backward_kernels() -> bool:
    """Whether the backward functions that ``manual_backprop`` calls give the gradients of autograd."""
    x, aten = torch.linspace(-2, 2, 6).reshape(2, 3), torch.ops.aten
    pairs: list[tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = [
        (torch.tanh, lambda g, y: aten.tanh_backward.grad_input(g, y, grad_input=g)),
        (torch.relu, lambda g, y: aten.threshold_backward.grad_input(g, y, 0, grad_input=g)),
        (_log_softmax, lambda g, y: aten._log_softmax_backward_data(g, y, -1, torch.float32)),
    ]
    try:
        for function, backward in pairs:
            seen = x.clone().requires_grad_()
            # of a sum: torch imports sympy, which takes half a second, to check gradients that it is given
            (wanted,) = torch.autograd.grad((function(seen) * x).sum(), [seen])
            if not torch.equal(backward(x.clone(), function(x)), wanted):
                return False
    except (AttributeError, RuntimeError, TypeError):
        return False
    return True


def _log_softmax(x: Tensor) -> Tensor:
    return torch.log_softmax(x, -1)
