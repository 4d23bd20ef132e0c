"""Arguments of flag-gems' operators that no sample of PyTorch's leads to, and whose arguments belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.operators.aten import Call

__all__ = ["OWN", "REFERENCES"]


def _normal(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _places(limit: int, *shape: int) -> torch.Tensor:
    return torch.randint(limit, shape, generator=torch.Generator().manual_seed(5))


def _weight_norms() -> Iterator[tuple[torch.Tensor, torch.Tensor, int]]:
    """Directions, lengths and the dimension that is not summed over: the first, or the last."""
    for shape, dim in (((6, 8), 0), ((3, 4, 8), 2)):
        lengths = [n if i == dim else 1 for i, n in enumerate(shape)]
        yield _normal(*shape), _normal(*lengths, seed=4), dim


def _weight_norm_forward() -> Iterator[Call]:
    for v, g, dim in _weight_norms():
        yield (v, g, dim), {}


def _weight_norm_backward() -> Iterator[Call]:
    for v, g, dim in _weight_norms():
        _, norms = torch.ops.aten._weight_norm_interface(v, g, dim)
        yield (torch.ones_like(v).cumsum(0), v, g, norms, dim), {}


def _embedding_backward() -> Iterator[Call]:
    for scaled in (False, True):
        yield (_normal(5, 8), _places(10, 5), 10, -1, scaled, False), {}


def _gather_backward() -> Iterator[Call]:
    for dim in (0, 1):
        yield (_normal(4, 8), _normal(4, 8, seed=4), dim, _places(4, 4, 8), False), {}


def _max_pool2d_backward() -> Iterator[Call]:
    image = _normal(2, 3, 8, 10)
    pooled = F.max_pool2d(image, 2)
    yield (_normal(*pooled.shape), image, [2, 2], [2, 2], [0, 0], [1, 1], False), {}


def _conv_depthwise2d() -> Iterator[Call]:
    yield (_normal(2, 4, 9, 9), _normal(4, 1, 3, 3), [3, 3], _normal(4), [1, 1], [1, 1], [1, 1]), {}


def _grouped_mm() -> Iterator[Call]:
    a, b = _normal(48, 32).bfloat16(), _normal(3, 32, 16).bfloat16()
    yield (a, b, torch.tensor([16, 32, 48], dtype=torch.int32)), {}


def _index_put() -> Iterator[Call]:
    for accumulate in (False, True):
        yield (_normal(6, 8), [torch.tensor([0, 2, 5])], _normal(3, 8), accumulate), {}


def _all_true() -> Iterator[Call]:
    for value in (torch.ones(4, 8, dtype=torch.bool), _places(2, 4, 8) > 0):
        yield (value,), {}


def _bicubic() -> Iterator[Call]:
    for size in ([5, 6], [16, 20]):
        yield (_normal(1, 2, 8, 10), size, False), {}


def _bicubic_backward() -> Iterator[Call]:
    yield (_normal(1, 2, 5, 6), [5, 6], [1, 2, 8, 10], False), {}


def _nearest3d() -> Iterator[Call]:
    yield (_normal(1, 2, 3, 4, 5), [6, 8, 10]), {}


def _padded3d() -> Iterator[Call]:
    yield (_normal(1, 2, 3, 4, 5), [1, 1, 2, 2, 1, 0]), {}


def _fill() -> Iterator[Call]:
    yield (_normal(4, 8), torch.tensor(0.5)), {}


def _filled_out() -> Iterator[Call]:
    yield (_normal(4, 8), torch.tensor(0.5)), {"out": torch.empty(0)}


def _scattered() -> Iterator[Call]:
    for how in ("add", "multiply"):
        yield (_normal(4, 8), 1, _places(8, 4, 8), _normal(4, 8, seed=4)), {"reduce": how}


def _rounded() -> Iterator[Call]:
    for mode in (None, "floor", "trunc"):
        yield (_normal(4, 8), 0.75), {"rounding_mode": mode}


OWN: Mapping[str, Callable[[], Iterator[Call]]] = {
    "_conv_depthwise2d": _conv_depthwise2d,
    "_grouped_mm": _grouped_mm,
    "_index_put_impl_": _index_put,
    "_is_all_true": _all_true,
    "_upsample_bicubic2d_aa": _bicubic,
    "_upsample_bicubic2d_aa_backward": _bicubic_backward,
    "_weight_norm_interface": _weight_norm_forward,
    "_weight_norm_interface_backward": _weight_norm_backward,
    "div.Scalar_mode": _rounded,
    "div_.Scalar_mode": _rounded,
    "divide.Scalar_mode": _rounded,
    "divide_.Scalar_mode": _rounded,
    "embedding_backward": _embedding_backward,
    "fill.Tensor": _fill,
    "fill.Tensor_out": _filled_out,
    "fill_.Tensor": _fill,
    "gather_backward": _gather_backward,
    "max_pool2d_backward": _max_pool2d_backward,
    "replication_pad3d": _padded3d,
    "scatter.reduce": _scattered,
    "scatter_.reduce": _scattered,
    "upsample_nearest3d": _nearest3d,
}


def _depthwise(
    x: torch.Tensor,
    weight: torch.Tensor,
    size: Any,
    bias: torch.Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> torch.Tensor:
    del size
    return F.conv2d(x, weight, bias, stride, padding, dilation, groups=x.shape[1])


def _pooled_gradient(grad: torch.Tensor, x: torch.Tensor, *window: Any) -> torch.Tensor:
    leaf = x.clone().requires_grad_()
    F.max_pool2d(leaf, *window).backward(grad)
    assert leaf.grad is not None
    return leaf.grad


def _grouped(a: torch.Tensor, b: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    starts = [0, *ends.tolist()[:-1]]
    return torch.cat([a[i:j] @ b[g] for g, (i, j) in enumerate(zip(starts, ends.tolist(), strict=True))])


#: what operators give that PyTorch has for GPUs, or for float32, only
REFERENCES: Mapping[str, Callable[..., Any]] = {
    "_conv_depthwise2d": _depthwise,
    "_grouped_mm": _grouped,
    "max_pool2d_backward": _pooled_gradient,
}
