"""Models for Inductor to write kernels for: models' parts at sizes of models, in both of the usual element
types.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

__all__ = ["STEPS", "run"]

Step = Callable[..., Any]
_TYPES = (torch.float32, torch.bfloat16)
STEPS: dict[str, tuple[Step, tuple[tuple[int, ...], ...]]] = {}


def _step(*shapes: tuple[int, ...]) -> Callable[[Step], Step]:
    def enter(function: Step) -> Step:
        STEPS[function.__name__.strip("_")] = (function, shapes)
        return function

    return enter


def _rms(x: Any, w: Any, eps: float = 1e-6) -> Any:
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * w


@_step((64, 1024), (1024,))
def rms_norm(x: Any, w: Any) -> Any:
    return _rms(x, w)


@_step((32, 4096), (4096,), (32, 4096))
def rms_norm_residual(x: Any, w: Any, r: Any) -> Any:
    total = x + r
    return _rms(total, w), total


@_step((64, 768), (768,), (768,))
def layer_norm(x: Any, w: Any, b: Any) -> Any:
    return F.layer_norm(x, (768,), w, b)


@_step((16, 8192), (8192,), (8192,))
def long_layer_norm(x: Any, w: Any, b: Any) -> Any:
    return F.gelu(F.layer_norm(x, (8192,), w, b))


@_step((64, 2816), (64, 2816))
def swiglu(x: Any, y: Any) -> Any:
    return F.silu(x) * y


@_step((64, 2816), (64, 2816))
def geglu_tanh(x: Any, y: Any) -> Any:
    return F.gelu(x, approximate="tanh") * y


@_step((4, 8, 64, 64), (64, 64))
def masked_softmax(x: Any, mask: Any) -> Any:
    return torch.softmax(x * 0.125 + mask, -1)


@_step((16, 5000))
def log_softmax(x: Any) -> Any:
    return torch.log_softmax(x, -1)


@_step((2, 64, 8, 64), (64, 64), (64, 64))
def rotary(x: Any, cos: Any, sin: Any) -> Any:
    first, second = x.chunk(2, -1)
    return x * cos[None, :, None] + torch.cat((-second, first), -1) * sin[None, :, None]


@_step((4, 32, 28, 28), (32,), (32,))
def batch_norm_relu(x: Any, w: Any, b: Any) -> Any:
    return F.relu(F.batch_norm(x, None, None, w, b, training=True))


@_step((4, 32, 28, 28))
def group_norm_silu(x: Any) -> Any:
    return F.silu(F.group_norm(x, 8))


@_step((2, 16, 32, 32))
def max_pool(x: Any) -> Any:
    return F.max_pool2d(x, 3, 2, 1)


@_step((2, 16, 32, 32))
def upsample(x: Any) -> Any:
    return F.interpolate(x, scale_factor=2.0, mode="bilinear")


@_step((2, 16, 30, 30))
def mean_pool(x: Any) -> Any:
    return F.adaptive_avg_pool2d(x, 1).flatten(1)


@_step((512, 256))
def transposed_sum(x: Any) -> Any:
    return (x.t().contiguous() * 2 + 1), x.sum(0), x.amax(0)


@_step((64, 512))
def scan(x: Any) -> Any:
    return torch.cumsum(x, -1), torch.cumprod(x.sigmoid(), -1)


@_step((64, 512))
def extremes(x: Any) -> Any:
    best, where = x.max(-1)
    return best * 2, where.float(), x.argmin(-1).float()


@_step((16, 64))
def ordered(x: Any) -> Any:
    return torch.sort(x, -1).values


@_step((256, 128), (64, 128))
def gathered(table: Any, x: Any) -> Any:
    places = (x[:, 0].float().abs() * 31).long().clamp(0, 255)
    return F.embedding(places, table) + x


@_step((256, 128), (512, 128))
def scattered(table: Any, x: Any) -> Any:
    places = (x[:, 0].float().abs() * 31).long().clamp(0, 255)
    return table.index_add(0, places, x), torch.zeros_like(table).scatter_add(
        0, places[:, None].expand(-1, 128), x
    )


@_step((64, 1024))
def quantized(x: Any) -> Any:
    scale = x.float().abs().amax(-1, keepdim=True).clamp_min(1e-6) / 127
    return torch.round(x.float() / scale).clamp(-128, 127).to(torch.int8), scale


@_step((64, 1024))
def fp8(x: Any) -> Any:
    scale = x.float().abs().amax() / 448
    return (x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale


@_step((64, 1024))
def dropout(x: Any) -> Any:
    return F.dropout(x, 0.1) * 2


@_step((64, 1000))
def cross_entropy(x: Any) -> Any:
    return F.cross_entropy(x.float(), torch.arange(64) * 7)


@_step((128, 1024), (128, 1024), (128, 1024), (128, 1024))
def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v.abs() + 0.001 * g * g
    return p - 1e-3 * (m / 0.9) / ((v / 0.99).sqrt() + 1e-8), m, v


@_step((64, 256), (64, 256))
def distances(x: Any, y: Any) -> Any:
    return (x[:, None] - y[None]).square().sum(-1).sqrt()


@_step((64, 256))
def moments(x: Any) -> Any:
    return torch.var_mean(x, -1), x.norm(dim=-1), torch.logsumexp(x, -1)


@_step((33, 257), (257,))
def odd_sizes(x: Any, b: Any) -> Any:
    return torch.tanh(x + b).mean(-1), torch.erf(x) * b


def run() -> Iterator[tuple[str, Callable[[], None]]]:
    """Names and what compiles and runs each: forward, and backward where floats have it; also for sizes that are not known."""
    from torch._inductor import config

    config.cpu_backend = "triton"
    config.compile_threads = 1
    config.force_disable_caches = True
    for name, (function, shapes) in STEPS.items():
        for type_ in _TYPES:
            for dynamic in (False, True):
                yield (
                    f"{name} {str(type_).removeprefix('torch.')}{' dynamic' * dynamic}",
                    _job(function, shapes, type_, dynamic),
                )


def _job(
    function: Step, shapes: tuple[tuple[int, ...], ...], type_: torch.dtype, dynamic: bool
) -> Callable[[], None]:
    def job() -> None:
        torch.compiler.reset()
        torch.manual_seed(0)
        given = [torch.randn(shape, dtype=type_, requires_grad=not dynamic) for shape in shapes]
        made = torch.compile(function, dynamic=dynamic)(*given)
        flat = made if isinstance(made, tuple) else (made,)
        flat = tuple(t for one in flat for t in (one if isinstance(one, tuple) else (one,)))
        total = sum(t.float().sum() for t in flat if t.requires_grad)
        if isinstance(total, torch.Tensor):
            total.backward()

    def guarded() -> None:
        try:
            job()
        except Exception as error:  # what Inductor refuses is no kernel
            print(f"{function.__name__}: {type(error).__name__}: {str(error)[:200]}")

    return guarded
