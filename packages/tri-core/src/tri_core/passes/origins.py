"""Origins and users of values: queries of several passes, for any IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tri_core.dialects.tt import FuncOp, MakeTensorDescriptorOp, PointerType, SplatOp, TensorDescType
from tri_core.ir.effects import ALLOCATE_GLOBAL, Effects
from tri_core.ir.regions import For, predecessors
from tri_core.ir.traits import derives_pointer, is_rematerializable, source_of
from tri_core.ir.views import isa
from tri_core.mlir import arith, ir
from tri_core.passes.rewriting import producer

__all__ = ["argument_of", "arguments_of", "is_zero", "reaches", "splat_integer"]

#: steps after which a question is given up
_MOST = 64


def is_zero(value: ir.Value) -> bool:
    """True if ``value`` is a constant (splat) zero of all zero bits."""
    return str(getattr(_constant(value), "value", "")) in ("0", "0.0", "False")


def splat_integer(value: ir.Value) -> int | None:
    """The integer that every element of ``value`` is, as the constant says it (signed); None where that is not known."""
    attribute = _constant(value)
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def _constant(value: ir.Value) -> ir.Attribute | None:
    """The attribute of one element where ``value`` is a constant scalar or splat."""
    op = producer(value)
    if op is None:
        return None
    if isa(op, SplatOp):
        return _constant(source_of(op))
    if not isa(op, arith.ConstantOp):
        return None
    attribute = op.attributes["value"].maybe_downcast()
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.get_splat_value().maybe_downcast() if attribute.is_splat else None
    return attribute


def argument_of(pointer: ir.Value) -> ir.Value | None:
    """The function's argument that ``pointer``, perhaps a tensor of them, is computed from.

    None if that is not known.  A pointer that a loop carries is followed if it is carried as computed from itself.
    """
    value = pointer
    for _ in range(_MOST):
        op = producer(value)
        if op is None:
            block = value.owner
            parent, number = block.owner.operation, ir.BlockArgument(value).arg_number
            if isa(parent, FuncOp):
                return value
            if not isa(parent, For) or number == 0 or not _stays(block, number):
                return None
            value = parent.operands[2 + number]
        elif isa(op, For):
            number = ir.OpResult(value).result_number
            if not _stays(op.regions[0].blocks[0], number + 1):
                return None
            value = op.operands[3 + number]
        elif derives_pointer(op.name):
            value = source_of(op)
        else:
            return None
    return None


def arguments_of(pointer: ir.Value) -> frozenset[ir.Value] | None:
    """The function's arguments, and memory allocated in it, one of which ``pointer`` (a tensor of them, a descriptor) points into.

    It is followed through arithmetic, selects, branches, loops of any kind and partitions.  None: it may come from elsewhere, out of
    memory or of an integer.  Different arguments do not overlap: that is what a kernel's caller promises.
    """
    ahead, seen, found = [pointer], {pointer}, set[ir.Value]()
    while ahead:
        value = ahead.pop()
        sources = _pointer_sources(value)
        if sources is None:
            return None
        if not sources:
            found.add(value)
        fresh = [source for source in sources if source not in seen]
        seen.update(fresh)
        ahead += fresh
    return frozenset(found)


def _pointer_sources(pointer: ir.Value) -> list[ir.Value] | None:
    """Values that ``pointer`` is derived from, one step back: none for memory itself; None where they are not known."""
    if (given := predecessors(pointer)) is not None:
        return given
    op = producer(pointer)
    if op is None:
        return [] if isa(pointer.owner.owner.operation, FuncOp) else None
    if (effects := Effects.declared_by(op.name)) is not None and ALLOCATE_GLOBAL in effects:
        return []
    if isa(op, MakeTensorDescriptorOp) or is_rematerializable(op) or derives_pointer(op.name):
        return [v for v in op.operands if _points(v.type)] or None
    return None


def _points(type_: ir.Type) -> bool:
    element = type_.element_type if isinstance(type_, ir.RankedTensorType) else type_
    return isinstance(element, (PointerType, TensorDescType))


def _stays(body: ir.Block, number: int) -> bool:
    """True if argument ``number`` of a loop's body is yielded as computed from itself."""
    operations = body.operations
    argument, value = body.arguments[number], operations[len(operations) - 1].operands[number - 1]
    for _ in range(_MOST):
        if value == argument:
            return True
        op = producer(value)
        if op is None or not derives_pointer(op.name):
            return False
        value = source_of(op)
    return False


def reaches(
    values: Iterable[ir.Value],
    arrives: Callable[[ir.OpOperand], bool],
    through: Callable[[ir.Operation], bool],
) -> bool:
    """True if a use for which ``arrives`` holds is one of ``values``, or of results that the ops ``through``
    compute from them.
    """
    ahead = list(values)
    seen = set(ahead)
    while ahead:
        for use in ahead.pop().uses:
            if arrives(use):
                return True
            user = use.owner.operation
            if through(user):
                more = [result for result in user.results if result not in seen]
                seen.update(more)
                ahead += more
    return False
