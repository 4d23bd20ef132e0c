"""Guards of TMA copies: static knowledge of a block's start and end, and conditions left to the running
kernel.

A box begins at a multiple of 16 bytes of its row; what is written begins at no negative coordinate, while a read may.
Hardware ends the kernel with an illegal instruction otherwise.  CUDA C++ Programming Guide, "Multi-dimensional arrays".

What is written is clipped by pieces of 16 bytes (seen on an H100, and in Triton's issue 11583): of a tensor whose rows end inside of one,
stores and reductions change what lies behind the row, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from tri_core.dialects.tt import FuncOp
from tri_core.ir.access import Access, access_of
from tri_core.ir.markers import PROMOTED
from tri_core.ir.traits import source_of
from tri_core.ir.upstream import AssumeOp
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.passes.rewrite_tensor_descriptors import Condition
from tri_gpu_dialect.analysis.axis_info import AxisInfos, axis_info
from tri_gpu_dialect.analysis.ranges import Ranges
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch, launch_number
from tri_gpu_dialect.edit import all_ops

__all__ = ["conditions", "ends_inside_pieces", "function_of", "starts_at_pieces"]

#: bytes of the pieces that rows consist of
_PIECE = 16
_EQ, _SGT, _SGE = 0, 4, 5


def function_of(op: ir.Operation) -> ir.Operation:
    """The ``tt.func`` around ``op``."""
    while not isa(op, FuncOp):
        op = op.parent.operation
    return op


def starts_at_pieces(access: ir.Operation, infos: AxisInfos) -> bool:
    """True if the block is known to begin at a multiple of 16 bytes of its row."""
    return infos.of(_coordinates(access)[-1]).of_elements(0) % _piece(access) == 0


def ends_inside_pieces(access: ir.Operation) -> bool:
    """True if rows of the tensor that ``access`` goes to are known to end at no multiple of 16 bytes."""
    number = launch_number(_row_extent(access))
    return number is not None and number.parameter is None and number.value % _piece(access) != 0


def _end_at_pieces(access: ir.Operation, infos: AxisInfos) -> bool:
    """True if they are known to end at a multiple of 16 bytes."""
    return infos.of(_row_extent(access)).of_elements(0) % _piece(access) == 0


def _row_extent(access: ir.Operation) -> ir.Value:
    """The elements of a row of the tensor that ``access`` goes to."""
    numbers = list(_given(access).address.owner.operation.operands)[1:]
    return numbers[len(numbers) // 2 - 1]


def conditions(accesses: Sequence[ir.Operation]) -> list[Condition]:
    """Run-time condition of each of ``accesses``, through descriptors that launches make."""
    functions = list(dict.fromkeys(function_of(op) for op in accesses))
    known = {
        function: _Known(axis_info(function), Ranges(no_overflow=True, least=_least(function, accesses)))
        for function in functions
    }
    return [partial(_condition, known[function_of(op)]) for op in accesses]


@dataclass(frozen=True)
class _Known:
    infos: AxisInfos
    ranges: Ranges


def _coordinates(access: ir.Operation) -> list[ir.Value]:
    return _given(access).offsets


def _given(op: ir.Operation) -> Access:
    access = access_of(op)
    assert access is not None
    return access


def _piece(access: ir.Operation) -> int:
    """Elements of a piece."""
    bits: int = _given(access).address.type.block_type.element_type.width
    return 8 * _PIECE // bits


def _least(function: ir.Operation, accesses: Sequence[ir.Operation]) -> dict[ir.Value, int]:
    """Lower bounds of values: the kernel's assumptions, and sizes of the tensors, of which a launch refuses
    the source's empty ones.
    """
    found: dict[ir.Value, int] = {}
    for op in all_ops(function):
        if isa(op, AssumeOp) and (stated := _stated(op)) is not None:
            value, low = stated
            found[value] = max(low, found.get(value, low))
    for access in accesses:
        maker = _given(access).address.owner.operation
        numbers = list(maker.operands)[1:]
        # nobody refuses an empty tensor that only the kernel knows
        if function_of(maker) == function and known_at_launch(maker):
            low = 0 if PROMOTED in maker.attributes else 1
            sizes = [v for n in numbers[: len(numbers) // 2] if (v := _parameter(n)) is not None]
            found |= {v: max(low, found.get(v, low)) for v in sizes}
    return found


def _stated(assume: ir.Operation) -> tuple[ir.Value, int] | None:
    """``tl.assume(value >= constant)``, where it is reached whenever the value is made."""
    compare = defining_op(next(iter(assume.operands)), arith.CmpIOp)
    if compare is None:
        return None
    value, bound = compare.operands
    number = launch_number(bound)
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    if number is None or number.parameter is not None or block != assume.block:
        return None
    predicate = ir.IntegerAttr(compare.operation.attributes["predicate"]).value
    above = {_SGE: 0, _SGT: 1}.get(predicate)
    return None if above is None else (value, number.value + above)


def _parameter(value: ir.Value) -> ir.Value | None:
    number = launch_number(value)
    if number is None or number.parameter is None:
        return None
    while not isinstance(value.owner, ir.Block):
        value = source_of(value.owner.operation)
    return value


def _condition(known: _Known, access: ir.Operation) -> ir.Value | None:
    """A value before ``access``: whether it may begin where it does, and its rows end where they do; None: it may."""
    with ir.InsertionPoint(access), access.location:
        asked = []
        if not starts_at_pieces(access, known.infos):
            asked.append(_is_at_piece(_coordinates(access)[-1], access))
        if _given(access).stored is not None:
            asked += _of_stores(known, access)
        return reduce(partial(_binary, "arith.andi"), asked) if asked else None


def _of_stores(known: _Known, access: ir.Operation) -> list[ir.Value]:
    """Conditions (i1) to test for accesses that write, computed here."""
    asked = []
    below = [c for c in _coordinates(access) if known.ranges.of(c).low < 0]
    if below:
        asked.append(_compared(_SGE, reduce(partial(_binary, "arith.ori"), below)))
    if not _end_at_pieces(access, known.infos):
        asked.append(_is_at_piece(_row_extent(access), access))
    return asked


def _is_at_piece(value: ir.Value, access: ir.Operation) -> ir.Value:
    """Condition (i1) that ``value`` elements of a row are a multiple of 16 bytes."""
    return _compared(_EQ, _binary("arith.andi", value, _constant(value.type, _piece(access) - 1)))


def _binary(name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[x.type], operands=[x, y]).result


def _constant(type_: ir.Type, value: int) -> ir.Value:
    attributes = {"value": ir.IntegerAttr.get(type_, value)}
    return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).result


def _compared(predicate: int, x: ir.Value) -> ir.Value:
    """``x`` against 0."""
    attributes = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)}
    operands, answer = [x, _constant(x.type, 0)], ir.IntegerType.get_signless(1)
    return ir.Operation.create(
        "arith.cmpi", results=[answer], operands=operands, attributes=attributes
    ).result
