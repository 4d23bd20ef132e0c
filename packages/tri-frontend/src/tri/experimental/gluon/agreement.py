"""Agreement of layouts: what an operation wants of its operands, and what is said where they differ."""

from __future__ import annotations

from collections.abc import Sequence

from tri.experimental.gluon.layouts import DistributedLayout, layout_of
from tri_core.errors import CompilationError
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout, dim_names, layout_for
from tri_gpu_dialect.layouts.encoding import MALFORMED

__all__ = ["check_fit", "mismatch"]

Shape = tuple[int, ...]

#: what a kernel's threads are counted in, by the input of layouts: words, and what a user changes
_COUNTS = {
    LANE: ("threads per warp", "threads_per_warp"),
    WARP: ("warps", "warps_per_cta"),
    BLOCK: ("CTAs", "cga_layout"),
}


def mismatch(name: str, have: Encoding, wanted: Encoding, shape: Shape) -> CompilationError:
    """The error of an operand of ``name`` with layout ``have`` where ``wanted`` goes with the others."""
    return CompilationError(
        f"layouts of {name} differ: one operand is {layout_of(have)}, {layout_of(wanted)} goes with the others; "
        f"{_difference(have, wanted, shape)}",
        remedy=f"convert one of them: gl.convert_layout(x, {layout_of(wanted)})",
    )


def _difference(have: Encoding, wanted: Encoding, shape: Shape) -> str:
    """The first element, row-major, that the two layouts give to different places.

    The maps are linear: it is one at a single bit of a single coordinate.
    """
    first, second = (layout_for(e, shape).pseudo_invert() for e in (have, wanted))
    for d in reversed(range(len(shape))):
        for bit in range(shape[d].bit_length() - 1):
            element = tuple(1 << bit if i == d else 0 for i in range(len(shape)))
            places = [_place(layout, element) for layout in (first, second)]
            if places[0] != places[1]:
                return (
                    f"element {list(element)} is in {places[0]} by the first and in {places[1]} by the second"
                )
    return "they differ in which elements have copies"


def _place(inverse: LinearLayout, element: Sequence[int]) -> str:
    found = inverse.apply(dict(zip(dim_names(len(element)), element, strict=True)))
    names = [REGISTER, LANE, WARP, *([BLOCK] if found.get(BLOCK) else [])]
    return ", ".join(f"{name} {found.get(name, 0)}" for name in names)


def check_fit(layout: DistributedLayout, shape: Shape, sizes: dict[str, int]) -> None:
    """CompilationError for a layout that does not place a tensor of ``shape`` over the kernel's threads.

    ``sizes``: threads per warp, warps and CTAs of the kernel.
    """
    encoding = layout.encoding()
    if encoding is None:
        return
    try:
        linear = layout_for(encoding, shape)
    except MALFORMED as error:
        raise CompilationError(
            f"{layout} does not fit a tensor of shape {list(shape)}: {error}",
            remedy="write a layout of this shape's rank and sizes",
        ) from error
    for dim, size in sizes.items():
        have = linear.in_size(dim) if linear.has_in(dim) else 1
        words, field = _COUNTS[dim]
        if have != size:
            raise CompilationError(
                f"{layout} has {have} {words}; the kernel has {size}",
                remedy=f"change {field}" + (f", or launch with num_warps={have}" if dim == WARP else ""),
            )
    if not linear.is_surjective:
        raise CompilationError(
            f"{layout} leaves out elements of a tensor of shape {list(shape)}",
            remedy="write bases that reach every element",
        )
