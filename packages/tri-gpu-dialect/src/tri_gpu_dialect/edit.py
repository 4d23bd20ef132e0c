"""Small edits of IR that several passes make: types changed in place, conversions, constants, blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_core.api import VerificationError
from tri_core.dialects.tt import FuncOp
from tri_core.ir.effects import ASYNC, READ_GLOBAL, READ_SHARED, WRITE_DESCRIBED, WRITE_SHARED, Effects
from tri_core.ir.markers import STAGES
from tri_core.ir.regions import is_loop
from tri_core.ir.rewriting import terminator
from tri_core.ir.traits import is_view, moves_data, source_of
from tri_core.ir.views import defining_op, isa
from tri_core.ir.walking import collect
from tri_core.mlir import arith, ir
from tri_gpu_dialect.dialect import BarrierOp, ConvertLayoutOp, LocalAllocOp, LocalLoadOp, WaitBarrierOp
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = [
    "ancestor_in",
    "asked_stages",
    "block_of",
    "block_ops",
    "buffer_of",
    "constant",
    "convert",
    "copies_to_shared",
    "functions",
    "guarded_buffers",
    "has_stages",
    "i32_attribute",
    "is_barrier",
    "make",
    "module_int",
    "number_of_module",
    "reads_beside",
    "retyped",
    "set_encoding",
    "stages_of",
    "terminator",
]

#: bits of a barrier's ``addrSpace``: the memory that is consistent after it
SHARED, GLOBAL = 1, 2


def forwards_elements(op: ir.Operation) -> bool:
    """True if ``op`` forwards its operand's elements unchanged: moved, in another layout, or as a buffer."""
    return isa(op, LocalAllocOp, LocalLoadOp) or moves_data(op) or is_view(op)


def copies_to_shared(op: ir.Operation) -> bool:
    """True if ``op`` declares an asynchronous copy by per-thread pointers that a later ``ttg.async_wait``
    completes.
    """
    return Effects.declared_by(op.name) == frozenset({READ_GLOBAL, WRITE_SHARED, ASYNC})


def reads_beside(op: ir.Operation) -> bool:
    """True if ``op`` declares that it starts, for the multiplier, reads of shared memory that go on beside the program."""
    declared = Effects.declared_by(op.name)
    return (
        declared is not None
        and {READ_SHARED, ASYNC} <= declared
        and declared.isdisjoint({WRITE_SHARED, WRITE_DESCRIBED})
    )


def functions(module: ir.Module) -> Iterator[ir.Operation]:
    """The functions of ``module``."""
    for view in module.body:
        if isa(view.operation, FuncOp):
            yield view.operation


def module_int(module: ir.Module, name: str) -> int:
    """An integer attribute of ``module``; VerificationError when it is missing."""
    attributes = module.operation.attributes
    if name not in attributes:
        raise VerificationError(
            f"the module has no attribute {name}", remedy="run convert-triton-to-tritongpu first"
        )
    return ir.IntegerAttr(attributes[name]).value


def number_of_module(op: ir.Operation, name: str) -> int:
    """The number ``name`` of the module that ``op`` is in; 1 if it does not say."""
    while op.parent is not None:
        op = op.parent.operation
    given = op.attributes.get(name, None)
    return 1 if given is None else int(ir.IntegerAttr(given).value)


def asked_stages(loop: ir.Operation) -> int | None:
    """The stages that ``loop`` itself asks for; None: it leaves that to the launch."""
    given = loop.attributes.get(STAGES, None)
    return None if given is None else int(ir.IntegerAttr(given).value)


def stages_of(loop: ir.Operation, launch: int) -> int:
    """The stages that ``loop`` is to have: those it asks for, else those that the ``launch`` does."""
    asked = asked_stages(loop)
    return launch if asked is None else asked


def has_stages(op: ir.Operation, launch: int) -> bool:
    """True where a loop of several stages runs ``op``; one without a number of its own has as many as the ``launch`` asks for."""
    while (parent := op.parent) is not None:
        op = parent.operation
        if is_loop(op) and stages_of(op, launch) > 1:
            return True
    return False


def block_ops(block: ir.Block) -> list[ir.Operation]:
    """The ops of ``block`` now; the block may be edited while the list is gone through."""
    return [view.operation for view in block]


def all_ops(root: ir.Operation) -> list[ir.Operation]:
    """All ops in ``root`` and itself, inner ones first."""
    return collect(root)


def ancestor_in(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """``op``, or the op around it that is in ``block``."""
    while op.block != block:
        op = op.parent.operation
    return op


def block_of(value: ir.Value) -> ir.Block:
    """The block that ``value`` is an argument of, or is computed in."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def retyped(type_: ir.Type, encoding: Encoding) -> ir.Type:
    """The tensor type ``type_`` with another encoding; anything else as it is."""
    info = tensor_info(type_)
    return type_ if info is None else tensor_type(info.shape, info.element_type, encoding)


def set_encoding(value: ir.Value, encoding: Encoding) -> None:
    """Give a tensor another encoding in place; a constant's attribute follows.  Scalars stay."""
    old = value.type
    new = retyped(old, encoding)
    if new == old:
        return
    value.set_type(new)
    owner = value.owner
    if isinstance(owner, ir.Block):
        return
    op = owner.operation
    if isa(op, arith.ConstantOp):
        op.attributes["value"] = _constant(op.attributes["value"], new)


def _constant(attr: ir.Attribute, type_: ir.Type) -> ir.Attribute:
    attr = attr.maybe_downcast()
    if isinstance(attr, ir.DenseElementsAttr) and attr.is_splat:
        return ir.DenseElementsAttr.get_splat(type_, attr.get_splat_value())
    # any other elements: the same text with the new type
    return ir.Attribute.parse(f"{str(attr).rpartition(' : ')[0]} : {type_}")


def make(
    name: str, operands: Sequence[ir.Value] = (), result: ir.Type | None = None, **attributes: ir.Attribute
) -> ir.Operation:
    """An op at the ambient insertion point, with one result or none."""
    results = [] if result is None else [result]
    return ir.Operation.create(name, results=results, operands=list(operands), attributes=attributes)


def constant(bits: int, value: int) -> ir.Value:
    """An integer of ``bits`` at the ambient insertion point."""
    type_ = ir.IntegerType.get_signless(bits)
    return make("arith.constant", (), type_, value=ir.IntegerAttr.get(type_, value)).results[0]


def i32_attribute(value: int) -> ir.IntegerAttr:
    """An i32."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def convert(value: ir.Value, encoding: Encoding, ip: ir.InsertionPoint, loc: ir.Location) -> ir.Value:
    """``value`` in another layout, by a new ``ttg.convert_layout``."""
    type_ = retyped(value.type, encoding)
    made = ir.Operation.create("ttg.convert_layout", results=[type_], operands=[value], ip=ip, loc=loc)
    return made.results[0]


def barrier(ip: ir.InsertionPoint, loc: ir.Location, spaces: int) -> None:
    """A new ``ttg.barrier`` for the memories ``spaces`` (bits, see :data:`SHARED`)."""
    ir.Operation.create("ttg.barrier", attributes={"addrSpace": i32_attribute(spaces)}, ip=ip, loc=loc)


def buffer_of(value: ir.Value) -> ir.Value:
    """The buffer that ``value``, a descriptor of memory, is a view of."""
    while (op := defining_op(value)) is not None and is_view(op):
        value = source_of(op)
    return value


def unconverted(value: ir.Value) -> ir.Value:
    """``value`` before its layout was changed."""
    while (conversion := defining_op(value, ConvertLayoutOp)) is not None:
        value = conversion.src
    return value


def guarded_buffers(op: ir.Operation) -> list[ir.Value]:
    """The buffers that a ``ttng.wait_barrier`` or ``ttng.arrive_barrier`` names; without one it is about all."""
    return [buffer_of(v) for v in list(op.operands)[2 if isa(op, WaitBarrierOp) else 1 :]]


def is_barrier(op: ir.Operation, spaces: int) -> bool:
    """True if ``op`` is a ``ttg.barrier`` for any of the memories ``spaces``."""
    return isa(op, BarrierOp) and bool(ir.IntegerAttr(op.attributes["addrSpace"]).value & spaces)
