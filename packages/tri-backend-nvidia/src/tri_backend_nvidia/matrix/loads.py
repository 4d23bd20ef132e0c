"""``ttg.local_load`` by ``ldmatrix``: which loads it can do follows from the layouts alone.

Between registers and shared memory stands a linear map ``C`` from (register, lane, warp) to offsets.  A plain
``ldmatrix`` gives four lanes the four words of a row of 16 bytes: the elements of a word and lane bits 0 and 1 must
be the low bits of the offset, in order, and nothing else may touch these.  Lane bits 2 to 4 choose the row.
Transposed, lane bits 2 to 4 are the low bits, and a word's two elements and lane bits 0 and 1 choose the row.
Further registers are further matrices, up to four at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tri_backend_nvidia.machine import LdMatrixOp
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding, decode
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout, packing
from tri_gpu_dialect.lowering import Lowered, Lowering, SharedTensor
from tri_gpu_dialect.lowering.indices import apply, offset_by, reach
from tri_gpu_dialect.lowering.views import own_part
from tri_gpu_dialect.plans.operand_memory import PIECE_BYTES

__all__ = ["RowLoad", "combinations", "load_rows", "plan_rows", "suits"]


@dataclass(frozen=True)
class RowLoad:
    """How a tensor is read by ``ldmatrix``.

    ``address`` maps (lane, warp, block) to the offset of the row that a lane gives the address of; ``elements`` are
    the register bits within a word, ``matrices`` those of one instruction, ``rest`` the others.
    """

    transposed: bool
    address: LinearLayout
    elements: tuple[int, ...]
    matrices: tuple[int, ...]
    rest: tuple[int, ...]


@lru_cache(maxsize=1024)
def plan_rows(registers: LinearLayout, shared: LinearLayout, bits: int) -> RowLoad | None:
    """The plan for elements of ``bits``; None where ``ldmatrix`` gives lanes something else."""
    if bits not in (8, 16, 32) or not registers.has_in(LANE) or registers.in_size(LANE) != 32:
        return None
    conversion = registers.invert_and_compose(shared)
    if BLOCK in conversion.out_dims:  # memory of a cluster; each CTA uses its own
        conversion = conversion.without_outs(BLOCK)
    for transposed in (False, True):
        plan = _plan(conversion, bits, transposed=transposed)
        if plan is not None:
            return plan
    return None


def _plan(conversion: LinearLayout, bits: int, *, transposed: bool) -> RowLoad | None:
    own, lanes = conversion.packed(REGISTER), conversion.packed(LANE)
    piece = PIECE_BYTES * 8 // bits
    count = (32 // bits).bit_length() - 1
    elements = tuple(range(count))
    if len(own) < count:
        return None
    if transposed:
        low, rows = list(lanes[2:]), [*own[:1], *lanes[:2]]
        if bits != 16:
            return None
    else:
        low, rows = [*own[:count], *lanes[:2]], list(lanes[2:])
    if low != [1 << i for i in range(len(low))] or 1 << len(low) != piece:
        return None
    others = [column for i, column in enumerate(own) if i >= count]
    others += [c for dim in conversion.in_dims if dim not in (REGISTER, LANE) for c in conversion.packed(dim)]
    if any(column % piece for column in (*others, *rows)):
        return None
    free = [i for i in range(count, len(own)) if own[i]]
    matrices = tuple(free[:2])
    chosen = [own[i] for i in matrices] + [0] * (2 - len(matrices))
    bases = {LANE: [(c,) for c in (*rows, *chosen)]}
    bases |= {d: [(c,) for c in conversion.packed(d)] for d in (WARP, BLOCK) if conversion.has_in(d)}
    address = LinearLayout.from_bases(bases, conversion.out_sizes)
    return RowLoad(transposed, address, elements, matrices, tuple(free[2:]))


def suits(ctx: Lowering, op: ir.Operation) -> bool:
    """Whether a ``ttg.local_load`` reads a matrix instruction's operand in rows."""
    type_ = op.results[0].type
    encoding = decode(type_.encoding)
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, MatrixEncoding):
        return False
    view = ctx.shared_tensor(op.operands[0])
    return not view.padding and plan_rows(own_part(ctx, type_, view), view.layout, _bits(view)) is not None


def _bits(view: SharedTensor) -> int:
    return int(getattr(view.element, "width", 64))


def load_rows(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_load`` by ``ldmatrix``."""
    b, type_ = ctx.b, op.results[0].type
    view = ctx.shared_tensor(op.operands[0])
    registers = own_part(ctx, type_, view)
    plan = plan_rows(registers, view.layout, _bits(view))
    assert plan is not None
    conversion, images = registers.invert_and_compose(view.layout), registers.images(REGISTER)
    origin = 0
    if any(view.origin):
        origin = view.layout.pseudo_invert().apply_packed(packing.pack(view.layout.outs, view.origin))
    inputs = ctx.inputs()
    start, reached = apply(b, plan.address, inputs)[0], reach(plan.address, list(inputs))[0]
    moved = conversion.images(REGISTER)
    found: dict[int, ir.Value] = {}
    for base in combinations(plan.rest):
        offset = offset_by(b, start, reached, moved[base] ^ origin)
        words = _load(ctx, b.gep(view.base, offset, view.element), plan)
        for word, matrix in zip(words, combinations(plan.matrices), strict=True):
            values = b.unpack(b.bitcast(word, b.vector_type(view.element, 1 << len(plan.elements))))
            for value, element in zip(values, combinations(plan.elements), strict=True):
                found[images[base ^ matrix ^ element]] = value
    return [[found[image] for image in images]]


def _load(ctx: Lowering, pointer: ir.Value, plan: RowLoad) -> list[ir.Value]:
    count = 1 << len(plan.matrices)
    return LdMatrixOp.build([pointer], [ctx.b.i32] * count, {"transposed": ir.BoolAttr.get(plan.transposed)})


def combinations(bits: Sequence[int]) -> list[int]:
    """All sums of powers of two of ``bits``, the first bit changing fastest."""
    found = [0]
    for bit in bits:
        found += [value | 1 << bit for value in found]
    return found
