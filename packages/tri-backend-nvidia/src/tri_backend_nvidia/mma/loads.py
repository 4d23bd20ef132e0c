"""``ttg.local_load`` by ``ldmatrix``: which loads it can do follows from the layouts alone.

Between registers and shared memory stands a linear map ``C`` from (register, lane, warp) to offsets.  A plain
``ldmatrix`` gives four lanes the four words of a row of 16 bytes: the elements of a word and lane bits 0 and 1 must
be the low bits of the offset, in order, and nothing else may touch these.  Lane bits 2 to 4 choose the row.
Transposed, lane bits 2 to 4 are the low bits, and a word's two elements and lane bits 0 and 1 choose the row.
Further registers are further matrices, up to four at a time.

Bytes are transposed in pairs: a register bit ``p`` is bit 0 of the offset, lane bits 2 to 4 are the next ones.  A lane has two rows'
pairs in a word, and wants four rows of each column: two matrices give two such words, by ``prmt``.  Which of a lane's four rows lie in
which matrix is free.  Lanes with bit 1 have the later two in the first one: 8 neighbouring rows, which lie in different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tri_backend_nvidia.machine import LdMatrixOp, PermuteBytesOp
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import LocalLoadOp
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding, decode
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout, packing
from tri_gpu_dialect.lowering import Lowered, Lowering, SharedTensor
from tri_gpu_dialect.lowering.indices import apply, offset_by, reach
from tri_gpu_dialect.lowering.views import own_part

__all__ = ["ROW_BYTES", "RowLoad", "combinations", "load_rows", "plan_rows", "suits"]

#: of a row of a matrix that ``ldmatrix`` and ``stmatrix`` move
ROW_BYTES = 16
#: the bit of lanes that have the two words of a pair in the other order, and what it changes in a selector of bytes
_CROSSED, _OTHER_WORD = 2, 0x4444
#: selectors of bytes, the lowest first: of two words of pairs, all first ones, and all second ones
_COLUMNS = (0x6420, 0x7531)


@dataclass(frozen=True)
class RowLoad:
    """Plan of reading a tensor by ``ldmatrix``.

    ``address`` maps (lane, warp, block) to the offset of the row that a lane gives the address of; ``elements`` are
    the register bits within a word, ``matrices`` those of one instruction's words, ``rest`` the others.  ``in_pairs``: words
    come in pairs (the first of ``matrices``) whose bytes are still to be put in order.
    """

    transposed: bool
    address: LinearLayout
    elements: tuple[int, ...]
    matrices: tuple[int, ...]
    rest: tuple[int, ...]
    in_pairs: bool = False


@lru_cache(maxsize=1024)
def plan_rows(registers: LinearLayout, shared: LinearLayout, bits: int) -> RowLoad | None:
    """The plan for elements of ``bits``; None where ``ldmatrix`` gives lanes something else."""
    if bits not in (8, 16, 32) or not registers.has_in(LANE) or registers.in_size(LANE) != 32:
        return None
    conversion = registers.invert_and_compose(shared)
    if BLOCK in conversion.out_dims:  # memory of a cluster; each CTA uses its own
        conversion = conversion.without_outs(BLOCK)
    plans = (_plan(conversion, bits, transposed=False), _plan(conversion, bits, transposed=True))
    return next((plan for plan in plans if plan is not None), _pairs(conversion) if bits == 8 else None)


def _plan(conversion: LinearLayout, bits: int, *, transposed: bool) -> RowLoad | None:
    own, lanes = conversion.packed(REGISTER), conversion.packed(LANE)
    piece = ROW_BYTES * 8 // bits
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
    if _off_pieces(conversion, [*own[count:], *rows], piece):
        return None
    free = [i for i in range(count, len(own)) if own[i]]
    address = _address(conversion, rows, [own[i] for i in free[:2]])
    return RowLoad(transposed, address, elements, tuple(free[:2]), tuple(free[2:]))


def _pairs(conversion: LinearLayout) -> RowLoad | None:
    """Bytes, transposed in pairs."""
    own, lanes = conversion.packed(REGISTER), conversion.packed(LANE)
    pair = [i for i, column in enumerate(own) if column == 1]
    free = [i for i, column in enumerate(own) if column > 1]
    if len(pair) != 1 or len(free) < 2 or list(lanes[2:]) != [2, 4, 8]:
        return None
    row, half, *others = free
    rows = [own[row], lanes[0], lanes[1] ^ own[half]]
    if _off_pieces(conversion, [*(own[i] for i in free), *lanes[:2]], ROW_BYTES):
        return None
    address = _address(conversion, rows, [own[i] for i in (half, *others[:1])])
    return RowLoad(True, address, (row, half), (*pair, *others[:1]), tuple(others[1:]), in_pairs=True)


def _off_pieces(conversion: LinearLayout, columns: list[int], piece: int) -> bool:
    """True if ``columns``, or those of inputs other than registers and lanes, address the inside of a piece."""
    others = [c for d in conversion.in_dims if d not in (REGISTER, LANE) for c in conversion.packed(d)]
    return any(column % piece for column in (*columns, *others))


def _address(conversion: LinearLayout, rows: list[int], matrices: list[int]) -> LinearLayout:
    """From (lane, warp, block): three bits of a lane choose a row, two a matrix, of which there may be fewer."""
    bases = {LANE: [(c,) for c in (*rows, *matrices, *[0] * (2 - len(matrices)))]}
    bases |= {d: [(c,) for c in conversion.packed(d)] for d in (WARP, BLOCK) if conversion.has_in(d)}
    return LinearLayout.from_bases(bases, conversion.out_sizes)


def suits(ctx: Lowering, op: ir.Operation) -> bool:
    """True if a ``ttg.local_load`` reads a matrix instruction's operand in rows."""
    type_ = op.results[0].type
    encoding = decode(type_.encoding)
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, MatrixEncoding):
        return False
    view = ctx.shared_tensor(cast(op, LocalLoadOp).src)
    return not view.padding and plan_rows(own_part(ctx, type_, view), view.layout, _bits(view)) is not None


def _bits(view: SharedTensor) -> int:
    return int(getattr(view.element, "width", 64))


def load_rows(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_load`` by ``ldmatrix``."""
    b, type_ = ctx.b, op.results[0].type
    view = ctx.shared_tensor(cast(op, LocalLoadOp).src)
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
    attributes = {"transposed": ir.BoolAttr.get(plan.transposed)}
    words = LdMatrixOp.build([pointer], [ctx.b.i32] * count, attributes)
    return _in_order(ctx, words) if plan.in_pairs else words


def _in_order(ctx: Lowering, words: Sequence[ir.Value]) -> list[ir.Value]:
    """Two words of four rows' pairs as the four rows of either column; the later rows first in lanes with bit 1."""
    b = ctx.b
    crossed = b.mul(b.and_(ctx.lane, b.int_(_CROSSED)), b.int_(_OTHER_WORD // _CROSSED))
    selectors = [b.xor(crossed, b.int_(column)) for column in _COLUMNS]
    return [
        PermuteBytesOp.build([low, high, selector], [b.i32])[0]
        for low, high in zip(words[::2], words[1::2], strict=True)
        for selector in selectors
    ]


def combinations(bits: Sequence[int]) -> list[int]:
    """All sums of powers of two of ``bits``, the first bit changing fastest."""
    found = [0]
    for bit in bits:
        found += [value | 1 << bit for value in found]
    return found
