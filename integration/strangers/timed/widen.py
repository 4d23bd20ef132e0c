"""Arguments of PyTorch's own samples, made large enough for a GPU.

Every size of more than 1 is multiplied, the same one by the same factor wherever it stands, so that shapes fit together as before; values are
repeated.  Places in other tensors are spread over what has become longer.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

__all__ = ["ELEMENTS", "large_calls", "widened"]

#: elements of the tensor with the most dimensions, where all of its sizes are multiplied: by how far an operator comes with them
ELEMENTS = (1 << 24, 1 << 18, 0)
#: elements of all arguments, at most
_MOST = 1 << 27
#: multiples of what sizes are multiplied by, by dimensions: rows start at multiples of 16 bytes at least
_GRAINS = (16, 16, 16, 16, 8)


def widened(call: Any, elements: int = ELEMENTS[0], *, places: bool = False) -> Any:
    """``call`` with tensors of about ``elements`` elements; ValueError where it has none, or would have too many.

    ``places``: whether its int64 are places along dimensions that become longer, too.
    """
    tensors = [t for t in tree_flatten(call)[0] if isinstance(t, torch.Tensor) and t.numel() > 1]
    if not tensors:
        raise ValueError("no tensor to be made larger")
    most = max(t.dim() for t in tensors)
    side = max(2, round(elements ** (1 / most)))
    grain = _GRAINS[most] if most < len(_GRAINS) else 2
    factors = {n: math.ceil(side / n / grain) * grain for t in tensors for n in t.shape if n > 1}
    if sum(math.prod(n * factors.get(n, 1) for n in t.shape) for t in tensors) > _MOST:
        raise ValueError("too large")
    lone = any(n == 1 for t in tensors for n in t.shape)
    spread = min(factors.values()) if places and not lone else 1
    return tree_map(lambda v: _wide(v, factors, spread) if isinstance(v, torch.Tensor) else v, call)


def _wide(tensor: torch.Tensor, factors: dict[int, int], spread: int) -> torch.Tensor:
    if tensor.numel() <= 1:
        return tensor
    large = tensor.repeat([factors.get(n, 1) for n in tensor.shape])
    if tensor.dtype == torch.int64 and spread > 1 and not bool((tensor < 0).any()):
        place = torch.arange(large.numel(), device=large.device).reshape(large.shape)
        # by a number without a common factor, so that neighbours do not go to neighbours
        return large * spread + (place * 40503) % spread
    return large


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


#: images and filters, which do not fit together when all of their sizes are multiplied
_CONVOLUTIONS = {
    "conv1d": ((16, 64, 4096), (128, 64, 3)),
    "conv2d": ((16, 64, 56, 56), (128, 64, 3, 3)),
    "conv3d": ((2, 32, 16, 32, 32), (64, 32, 3, 3, 3)),
}


def large_calls(name: str) -> list[Any]:
    """Calls of the operator ``name`` that are large by themselves; none of most."""
    base, _, which = name.partition(".")
    shapes = _CONVOLUTIONS.get(base)
    if shapes is None:
        return []
    image, filters = shapes
    padding = "same" if which == "padding" else [1] * (len(image) - 2)
    return [((_normal(*image), _normal(*filters), _normal(filters[0]), [1] * (len(image) - 2), padding), {})]
