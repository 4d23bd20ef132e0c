"""flag-gems' operators that PyTorch has for GPUs only, or under another name: softmaxes, losses, attention, assertions.

Each has calls and what they should give in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.cases import Check
from integration.published.operators.operator import checks_of

__all__ = ["CASES"]

Case = Callable[[Callable[..., Any]], Iterator[Check]]
_REDUCTIONS = ("none", "mean", "sum")
_HALF = 1e-2
_FLOAT = 1e-5


def _normal(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _holds(function: Callable[..., Any]) -> Iterator[Check]:
    """Nothing happens where the condition holds, or where nothing is checked, as Triton's ``device_assert`` has it without ``debug``."""
    import triton

    function(torch.ones(1))
    function(torch.zeros(1))
    said = ""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.debug = True
        function(torch.ones(1), "is zero")
        try:
            function(torch.zeros(1), "is zero")
        except RuntimeError as error:
            said = str(error)
    yield from checks_of("says so", "is zero" in said, True, 0)


def _same(function: Callable[..., Any]) -> Iterator[Check]:
    token = _normal(5)
    yield from checks_of("token", function(8, 1, 64, token), token.double(), 0)


def _attention(function: Callable[..., Any]) -> Iterator[Check]:
    q, k, v = (_normal(2, 48, 4, 32, seed=n).half() for n in range(3))
    for causal in (False, True):
        got = function(q, k, v, None, None, 48, 48, 0.0, causal, False)
        heads_first = [t.double().transpose(1, 2) for t in (q, k, v)]
        scores = heads_first[0] @ heads_first[1].mT * 32**-0.5
        if causal:
            scores = scores.masked_fill(~torch.ones(48, 48).tril().bool(), -torch.inf)
        yield from checks_of("out", got[0], (scores.softmax(-1) @ heads_first[2]).transpose(1, 2), _HALF)
        yield from checks_of("lse", got[1], scores.logsumexp(-1), _HALF)


def _new_full(function: Callable[..., Any]) -> Iterator[Check]:
    for value in (torch.tensor(2.5), torch.tensor(7)):
        got = function(_normal(2), [3, 5], value)
        yield from checks_of("full", got, torch.full((3, 5), float(value), dtype=torch.float64), 0)


def _nll(function: Callable[..., Any]) -> Iterator[Check]:
    for inputs, target, weight in _classes():
        for place, reduction in enumerate(_REDUCTIONS):
            got, _ = function(inputs, target, weight, place, 1)
            want = F.nll_loss(
                inputs.double(),
                target,
                None if weight is None else weight.double(),
                reduction=reduction,
                ignore_index=1,
            )
            yield from checks_of(reduction, got, want, _FLOAT)


def _nll_backward(function: Callable[..., Any]) -> Iterator[Check]:
    for inputs, target, weight in _classes():
        for place, reduction in enumerate(_REDUCTIONS):
            leaf = inputs.double().requires_grad_()
            wide = None if weight is None else weight.double()
            loss = F.nll_loss(leaf, target, wide, reduction=reduction, ignore_index=1)
            gradient = _normal(*loss.shape, seed=9)
            loss.backward(gradient.double())
            kept = target != 1
            total = (kept.float() if weight is None else weight[target] * kept).sum()
            got = function(gradient, inputs, target, weight, place, 1, total)
            yield from checks_of(reduction, got, leaf.grad, _FLOAT)


def _classes() -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]]:
    """Log-probabilities of 6 classes, classes, weights: of rows, and of images."""
    for rest in ((), (5, 7)):
        inputs = _normal(4, 6, *rest).log_softmax(1)
        target = torch.randint(6, (4, *rest), generator=torch.Generator().manual_seed(5))
        yield inputs, target, None
        yield inputs, target, _normal(6, seed=4).abs()


def _softmax(function: Callable[..., Any]) -> Iterator[Check]:
    x = _normal(2, 3, 20, 40).half()
    yield from checks_of("out", function(x, 0.7), (x.double() * 0.7).softmax(-1), _HALF)


def _softmax_backward(function: Callable[..., Any]) -> Iterator[Check]:
    gradient, weights = _normal(2, 3, 20, 40).half(), _normal(2, 3, 20, 40, seed=4).softmax(-1).half()
    wide = weights.double()
    through = gradient.double() * wide
    want = 0.7 * (through - wide * through.sum(-1, keepdim=True))
    yield from checks_of("in", function(gradient, weights, 0.7), want, _HALF)


CASES: Mapping[str, Case] = {
    "_assert_async": _holds,
    "_flash_attention_forward": _attention,
    "_functional_sym_constrain_range_for_size": _same,
    "new_full.Tensor": _new_full,
    "nll_loss_nd_backward": _nll_backward,
    "nll_loss_nd_forward": _nll,
    "scaled_softmax_backward": _softmax_backward,
    "scaled_softmax_forward": _softmax,
}
