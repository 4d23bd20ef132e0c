"""Reading and writing views of shared memory in the widest vectors that both layouts allow."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import BLOCK, REGISTER, LinearLayout, packing, vector_access
from tri_gpu_dialect.layouts.cluster import within
from tri_gpu_dialect.lowering.byte_vectors import byte_vectors
from tri_gpu_dialect.lowering.context import Lowering, Registers, SharedTensor
from tri_gpu_dialect.lowering.indices import apply, offset_by, offset_in_parts, reach
from tri_gpu_dialect.lowering.words import bit_width, from_memory, to_memory

__all__ = [
    "addresses",
    "element_address",
    "load_from_peers",
    "load_vectors",
    "own_part",
    "store_vectors",
    "written_part",
]


def own_part(ctx: Lowering, type_: ir.Type, view: SharedTensor) -> LinearLayout:
    """The layout of a tensor of ``type_`` within the share that this block has of ``view``.

    Unsupported where the tensor is not in the block's share alone.
    """
    registers = ctx.layout(type_)
    if ctx.hw.num_ctas == 1:
        return registers
    blocks = view.blocks or ((0,) * len(registers.out_dims),) * len(registers.bases[BLOCK])
    try:
        return within(registers, blocks)
    except ValueError as error:
        raise Unsupported(
            f"shared memory of another CTA of the cluster, as {type_} from a buffer split at {list(blocks)}",
            remedy="use num_ctas=1",
        ) from error


def written_part(ctx: Lowering, type_: ir.Type, view: SharedTensor) -> LinearLayout:
    """:func:`own_part` of a tensor that fills the share; Unsupported where other blocks have some of it."""
    found = own_part(ctx, type_, view)
    if found.has_in(BLOCK) and any(found.packed(BLOCK)):
        raise Unsupported(
            f"{type_} into shared memory of which each CTA of the cluster has all",
            remedy="use num_ctas=1",
        )
    return found


def store_vectors(ctx: Lowering, values: Registers, registers: LinearLayout, view: SharedTensor) -> None:
    """Write a tensor in layout ``registers`` to ``view``."""
    vectors, width = addresses(ctx, registers, view)
    align = width * bit_width(view.element) // 8
    groups = [[to_memory(ctx.b, values[r]) for r in group] for group, _ in vectors]
    is_bytes = bit_width(view.element) == 8
    packed = byte_vectors(ctx.b, ctx.hw, groups) if is_bytes else None
    for number, (_, address) in enumerate(vectors):
        vector = ctx.b.pack(groups[number]) if packed is None else packed[number]
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


def load_from_peers(
    ctx: Lowering, registers: LinearLayout, view: SharedTensor, reads: LinearLayout
) -> Registers:
    """Read a tensor in layout ``registers`` from a ``view`` that every block of the cluster has a part of.

    ``reads`` says where: (register, lane, warp, block) to (offset, block).
    """
    b, access = ctx.b, vector_access(registers, view.layout, _widest(ctx, view, 0))
    align = access.width * bit_width(view.element) // 8
    inputs = ctx.inputs()
    starts, reached = apply(b, reads, inputs), reach(reads, list(inputs))
    images, places = registers.images(REGISTER), reads.images(REGISTER)
    by_image: dict[int, ir.Value] = {}
    for group in access.groups:
        offset, rank = (
            offset_by(b, *each)
            for each in zip(starts, reached, reads.unpack_out(places[group[0]]), strict=True)
        )
        address = b.gep(view.base, offset, view.element)
        vector = ctx.hw.load_peer(b, address, rank, b.vector_type(view.element, access.width), align)
        for register, value in zip(group, b.unpack(vector), strict=True):
            by_image[images[register]] = from_memory(b, value, view.type)
    return [by_image[image] for image in images]


def addresses(
    ctx: Lowering,
    registers: LinearLayout,
    view: SharedTensor,
    widest: int | None = None,
    without: Sequence[str] = (),
) -> tuple[list[tuple[tuple[int, ...], ir.Value]], int]:
    """For each vector, of at most ``widest`` elements, its registers and its address; and the vectors' width.

    ``without``: inputs of the layout that are taken as 0: without ``lane`` the addresses are those of a warp's first thread.
    """
    b = ctx.b
    origin = _origin(view)
    most = _widest(ctx, view, origin)
    access = vector_access(registers, view.layout, most if widest is None else min(most, widest))
    inputs = {name: value for name, value in ctx.inputs().items() if name not in without}
    start = apply(b, access.conversion, inputs)[0]
    reached = reach(access.conversion, list(inputs))[0]
    offsets = access.conversion.images(REGISTER)
    found, by = [], offset_in_parts if ctx.hw.shares_addresses else offset_by
    for group in access.groups:
        offset = by(b, start, reached, offsets[group[0]] ^ origin)
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
