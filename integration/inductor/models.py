"""Models and functions that ``torch.compile`` gets, small enough for CPU tensors."""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from integration.inductor.user_kernels import added, added_by_operator, added_tuned, doubled_in_place
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """``step`` of ``inputs``: a tensor, or several; also the gradients of the inputs that want them are compared.

    ``dynamic``: compiled once for all shapes, and called with each of ``further`` inputs, too.  Dropout is compared by its mask: the
    step gives it, and ``eager`` takes it in place of drawing one.  ``settings``: of Inductor's configuration; ``whole``: one graph, or
    an error; ``wanted``: what the result has to be, where it is not what the step gives in eager mode.
    """

    step: Callable[..., Any]
    inputs: tuple[Any, ...]
    eager: Callable[..., Any] | None = None
    dynamic: bool = False
    further: tuple[tuple[Any, ...], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    whole: bool = False
    wanted: Callable[..., Any] | None = None


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case]) -> Callable[[], Case]:
    """Enter ``function`` under its name."""
    CASES[function.__name__] = function
    return function


def _given(*shape: int) -> Any:
    return torch.randn(*shape, requires_grad=True)


@case
def linear_relu() -> Case:
    """A linear layer with relu: the pointwise kernel that articles about Inductor show."""
    return Case(lambda x, w, b: torch.relu(x @ w + b), (_given(2, 8), _given(8, 8), _given(8)))


class CausalSelfAttention(nn.Module):
    """Attention with dropout behind it, whose mask it gives out."""

    def __init__(self, heads: int, width: int, dropout: float) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.dropout = heads, dropout

    def forward(self, x: Any, keep: Any = None) -> Any:
        batch, length, width = x.shape
        query, key, value = (
            t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.inner(x).chunk(3, -1)
        )
        scores = query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5
        hidden = torch.ones(length, length, dtype=torch.bool).tril().logical_not()
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
        y = self.outer((weights @ value).transpose(1, 2).reshape(batch, length, width))
        keep = F.dropout(torch.ones_like(y), self.dropout) if keep is None else keep
        return y * keep, keep


@case
def attention_dropout() -> Case:
    """Causal self-attention with dropout."""
    module = CausalSelfAttention(4, 64, 0.1)
    return Case(module, (_given(2, 32, 64),), module)


@case
def mlp_softmax_dropout() -> Case:
    """A gelu MLP with dropout and a softmax."""
    first, second = nn.Linear(64, 256), nn.Linear(256, 64)

    def step(x: Any, keep: Any = None) -> Any:
        hidden = F.gelu(first(x))
        keep = F.dropout(torch.ones_like(hidden), 0.1) if keep is None else keep
        return torch.softmax(second(hidden * keep), -1), keep

    return Case(step, (_given(32, 64),), step)


@case
def layer_norm_residual() -> Case:
    """A residual block with layer norm."""
    norm, linear = nn.LayerNorm(96), nn.Linear(96, 96)
    return Case(lambda x: x + F.silu(linear(norm(x))), (_given(16, 96),))


@case
def rms_norm_rotary() -> Case:
    """Ops of Llama: RMS norm and rotary positions."""
    angle = torch.outer(torch.arange(32.0), 10000.0 ** -torch.arange(0, 1, 1 / 16))
    cos, sin = torch.cat((angle, angle), -1).cos(), torch.cat((angle, angle), -1).sin()

    def step(x: Any) -> Any:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        first, second = y.chunk(2, -1)
        return y * cos + torch.cat((-second, first), -1) * sin

    return Case(step, (_given(4, 32, 32),))


@case
def batch_norm_pool() -> Case:
    """Ops of ResNet: batch norm, relu and pooling."""
    convolution, norm = (
        nn.Conv2d(8, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8, track_running_stats=False),
    )
    return Case(lambda x: F.avg_pool2d(torch.relu(norm(convolution(x)) + x), 2), (_given(2, 8, 8, 8),))


@case
def embedding_loss() -> Case:
    """An embedding (indirect indices, with assertions) and cross entropy."""
    table = _given(50, 32)
    tokens, wanted = torch.randint(0, 50, (4, 16)), torch.randint(0, 32, (64,))
    return Case(lambda w: F.cross_entropy(F.embedding(tokens, w).view(-1, 32), wanted), (table,))


@case
def cumulative_sum() -> Case:
    """A scan, and extremes with indices."""

    def step(x: Any) -> Any:
        best, where = torch.cumsum(x, -1).max(-1)
        return best, where.float()

    return Case(step, (_given(8, 100),))


@case
def dynamic_shapes() -> Case:
    """A softmax for sequences of any length, compiled once."""
    further = tuple((_given(4, length),) for length in (33, 64, 129))
    return Case(
        lambda x: torch.softmax(x * 2, -1) + x.mean(), (_given(4, 50),), dynamic=True, further=further
    )


@case
def user_kernels() -> Case:
    """Kernels of the user's in one graph: plain, tuned, and one that writes what it reads."""

    def step(a: Any, b: Any) -> Any:
        x = a.sin()
        return added(x, b) * 3, added_tuned(x, b), doubled_in_place(x.clone()) - x

    def wanted(a: Any, b: Any) -> Any:
        return (a.sin() + b) * 3, a.sin() + b, a.sin()

    return Case(step, (torch.randn(1000), torch.randn(1000)), whole=True, wanted=wanted)


@case
def user_operator() -> Case:
    """An operator of the user's around a kernel, compiled once for several lengths."""
    pairs = tuple((torch.randn(n), torch.randn(n)) for n in (1000, 70, 2049))
    return Case(
        lambda a, b: added_by_operator(a * 2, b) + 1,
        pairs[0],
        dynamic=True,
        further=pairs[1:],
        whole=True,
        wanted=lambda a, b: a * 2 + b + 1,
    )


@case
def combo_kernels() -> Case:
    """Unlike graphs in one kernel, and several tensors in one."""
    settings = {"combo_kernels": True, "benchmark_combo_kernel": False}

    def step(a: Any, b: Any, c: Any) -> Any:
        each = torch._foreach_mul(torch._foreach_add([a, b], 1.0), 2.0)
        return a.sin() + 1, b.cos() * 2, c.sum(-1), *each

    return Case(step, (_given(100), _given(30), _given(8, 64)), settings=settings)


@case
def cooperative_reductions() -> Case:
    """Reductions by several programs that wait for one another."""
    settings = {"triton.cooperative_reductions": True}
    return Case(lambda c: (torch.softmax(c, -1), c.var(-1)), (_given(4, 512),), settings=settings)
