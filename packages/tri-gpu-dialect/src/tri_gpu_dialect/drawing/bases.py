"""Layouts as basis vectors: what a program needs to get them for itself."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.api import OptionError, VerificationError
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import Encoding, SharedEncoding
from tri_gpu_dialect.layouts.encoding import layout_for

__all__ = ["LayoutBases", "bases_of"]

Vector = tuple[int, ...]


@dataclass(frozen=True)
class LayoutBases:
    """The linear map of a layout for a tensor of ``shape``.

    ``vectors[name][i]`` is the index of the element that bit ``i`` of ``name`` (register, lane, warp, block, or the offset
    in shared memory in elements) stands for; the element of a place is the exclusive or of those of its bits.  ``padding`` is
    of (interval, elements put in after each), in shared memory.
    """

    shape: Vector
    vectors: Mapping[str, tuple[Vector, ...]]
    shared: bool
    padding: tuple[tuple[int, int], ...] = ()


def bases_of(encoding: Encoding, shape: Vector) -> LayoutBases:
    """The bases of ``encoding`` for a tensor of ``shape``; call it in a :func:`tri_core.mlir.session`.

    OptionError for a shape that is not of powers of two, VerificationError for one that the encoding does not fit.
    """
    if not shape or any(n < 1 or n & (n - 1) for n in shape):
        raise OptionError(f"the shape {'x'.join(map(str, shape))} is not of powers of two")
    try:
        layout = layout_for(encoding, shape)
    except (ValueError, TypeError, LookupError) as error:
        raise VerificationError(f"{encoding} does not fit the shape {'x'.join(map(str, shape))}") from error
    shared = isinstance(encoding, SharedEncoding)
    padding = tuple(encoding.padding) if isinstance(encoding, SharedEncoding) else ()
    return LayoutBases(shape, layout.bases, shared, padding)
