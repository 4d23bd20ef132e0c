"""Reading and writing views of shared memory in the widest vectors that both layouts allow."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.layouts import REGISTER, LinearLayout, packing, vector_access
from tri_gpu_dialect.lowering.context import Lowering, Registers, SharedTensor
from tri_gpu_dialect.lowering.indices import apply, offset_by, reach
from tri_gpu_dialect.lowering.words import bit_width, from_memory, to_memory

__all__ = ["addresses", "element_address", "load_vectors", "store_vectors"]


def store_vectors(ctx: Lowering, values: Registers, registers: LinearLayout, view: SharedTensor) -> None:
    """Write a tensor in layout ``registers`` to ``view``."""
    vectors, width = addresses(ctx, registers, view)
    align = width * bit_width(view.element) // 8
    for group, address in vectors:
        vector = ctx.b.pack([to_memory(ctx.b, values[r]) for r in group])
        ctx.hw.store_shared(ctx.b, address, vector, None, align)


def load_vectors(ctx: Lowering, registers: LinearLayout, view: SharedTensor) -> Registers:
    """Read ``view`` as a tensor in layout ``registers``."""
    b = ctx.b
    vectors, width = addresses(ctx, registers, view)
    align = width * bit_width(view.element) // 8
    images = registers.images(REGISTER)
    by_image: dict[int, ir.Value] = {}
    for group, address in vectors:
        vector = ctx.hw.load_shared(b, address, b.vector_type(view.element, width), None, align)
        for register, value in zip(group, b.unpack(vector), strict=True):
            by_image[images[register]] = from_memory(b, value, view.type)
    return [by_image[image] for image in images]


def addresses(
    ctx: Lowering, registers: LinearLayout, view: SharedTensor, widest: int | None = None
) -> tuple[list[tuple[tuple[int, ...], ir.Value]], int]:
    """For each vector, of at most ``widest`` elements, its registers and its address; and the vectors' width."""
    b = ctx.b
    origin = _origin(view)
    most = _widest(ctx, view, origin)
    access = vector_access(registers, view.layout, most if widest is None else min(most, widest))
    inputs = ctx.inputs()
    start = apply(b, access.conversion, inputs)[0]
    reached = reach(access.conversion, list(inputs))[0]
    offsets = access.conversion.images(REGISTER)
    found = []
    for group in access.groups:
        offset = offset_by(b, start, reached, offsets[group[0]] ^ origin)
        found.append((group, b.gep(view.base, _padded(ctx, offset, view), view.element)))
    return found, access.width


def _origin(view: SharedTensor) -> int:
    """The offset of the view's first element; coordinates of a view have no bit in common with it."""
    if not any(view.origin):
        return 0
    return view.layout.pseudo_invert().apply_packed(packing.pack(view.layout.outs, view.origin))


def _widest(ctx: Lowering, view: SharedTensor, origin: int) -> int:
    """The widest vector, in elements, that the target, the origin and the padding allow."""
    width = max(ctx.target.spec.max_vector_bits // bit_width(view.element), 1)
    for limit in (origin, *(n for pair in view.padding for n in pair)):
        if limit:
            width = min(width, limit & -limit)
    return width


def _padded(ctx: Lowering, offset: ir.Value, view: SharedTensor) -> ir.Value:
    b, total = ctx.b, offset
    for interval, pad in view.padding:
        skipped = b.mul(b.lshr(offset, interval.bit_length() - 1), b.int_(pad))
        total = b.add(total, skipped)
    return total


def element_address(ctx: Lowering, view: SharedTensor, coordinates: Sequence[ir.Value]) -> ir.Value:
    """The address of the element of ``view`` at run-time ``coordinates`` (i32, in range)."""
    b = ctx.b
    inverse = view.layout.pseudo_invert()
    offset = apply(b, inverse, dict(zip(inverse.in_dims, coordinates, strict=True)))[0]
    return b.gep(view.base, _padded(ctx, b.xor(offset, b.int_(_origin(view))), view), view.element)
