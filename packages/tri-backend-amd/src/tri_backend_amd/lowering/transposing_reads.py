"""``ttg.local_load`` by reads that transpose, on gfx950: which loads they can do follows from the layouts alone.

See :class:`tri_gpu_dialect.layouts.TransposingRead`: what lanes address is a layout as well, whose vectors are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.lowering.primitives import AmdPrimitives
from tri_core.errors import InternalError
from tri_core.ir.views import cast
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import LocalLoadOp
from tri_gpu_dialect.encodings import decode
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable, SharedTensor
from tri_gpu_dialect.lowering.views import addresses, own_part
from tri_gpu_dialect.lowering.words import bit_width, from_memory
from tri_gpu_dialect.plans.operand_memory import transposing_read

__all__ = ["add_rules", "load", "suits"]


def suits(ctx: Lowering, op: ir.Operation) -> bool:
    """True if a ``ttg.local_load`` gives an operand of MFMA whose lanes are neighbours in LDS."""
    type_ = op.results[0].type
    read = transposing_read(decode(type_.encoding))
    if read is None or not isinstance(ctx.hw, AmdPrimitives) or not ctx.target.has("cdna4"):
        return False
    view = ctx.shared_tensor(cast(op, LocalLoadOp).src)
    bits = bit_width(view.element)
    return _is_aligned(view, read.count(bits)) and read.suits(own_part(ctx, type_, view), view.layout, bits)


def _is_aligned(view: SharedTensor, count: int) -> bool:
    """True if gaps between rows and the origin of a slice leave vectors of ``count`` elements whole."""
    gaps = [number for pair in view.padding for number in pair]
    origin = view.layout.pseudo_invert().apply(dict(zip(view.layout.out_dims, view.origin, strict=True)))
    return count > 0 and not any(number % count for number in (*gaps, *map(int, origin.values())))


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_load`` by one instruction for each vector that a lane addresses."""
    b, words, type_ = ctx.b, ctx.hw, op.results[0].type
    view = ctx.shared_tensor(cast(op, LocalLoadOp).src)
    read, bits = transposing_read(decode(type_.encoding)), bit_width(view.element)
    registers = own_part(ctx, type_, view)
    addressed = None if read is None else read.addressed(registers, bits)
    if read is None or addressed is None or not isinstance(words, AmdPrimitives):
        raise InternalError("a load that transposing reads do not suit")
    vectors, count = addresses(ctx, addressed, view, read.count(bits))
    images, found = registers.images(REGISTER), {}
    for group, address in vectors:
        vector = b.bitcast(words.read_transposed(b, address, bits), b.vector_type(view.element, count))
        for place, value in enumerate(b.unpack(vector)):
            found[images[group[0] + place]] = from_memory(b, value, view.type)
    return [[found[image] for image in images]]


def add_rules(table: LoweringTable) -> None:
    """Put the rule above the generic one."""
    table.add("ttg.local_load", load, benefit=10, when=suits, owner=f"{__name__}.load")
