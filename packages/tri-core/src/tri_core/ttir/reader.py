"""Reads the kernel of a TTIR module into the graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tri_core.dialects import tt
from tri_core.errors import InternalError, Unsupported
from tri_core.ir.fields import operand_names
from tri_core.locations import located
from tri_core.mlir import ir
from tri_core.ttir.nodes import Block, Op, Value
from tri_core.ttir.types import DType, Type, dtype_of

__all__ = ["Kernel", "read_kernel"]


class Kernel:
    """The public function of a module: ``name``, ``body`` and what is known of each parameter.

    ``divisibility[i]`` is a number that parameter i is a multiple of.
    """

    def __init__(self, name: str, body: Block, divisibility: tuple[int, ...]) -> None:
        self.name = name
        self.body = body
        self.divisibility = divisibility


def read_kernel(module: ir.Module) -> Kernel:
    """The one public ``tt.func`` of ``module``; InternalError when there is not exactly one."""
    public = [f for f in module.body.operations if f.operation.name == "tt.func" and _is_public(f.operation)]
    if len(public) != 1:
        raise InternalError(f"a kernel module has one public function; this one has {len(public)}")
    return _Reader().kernel(public[0].operation)


def _is_public(function: ir.Operation) -> bool:
    attributes = function.attributes
    return "sym_visibility" not in attributes or _plain(attributes["sym_visibility"]) == "public"


class _Reader:
    def __init__(self) -> None:
        self.values: dict[ir.Value, Value] = {}
        self.types: dict[ir.Type, Type] = {}
        self.count = 0

    def kernel(self, function: ir.Operation) -> Kernel:
        name = _plain(function.attributes["sym_name"])
        body = self.block(function.regions[0].blocks[0], None)
        given: list[dict[str, Any]] = [{} for _ in body.arguments]
        if "arg_attrs" in function.attributes:
            given = [_plain(a) for a in function.attributes["arg_attrs"]]
        return Kernel(name, body, tuple(int(a.get("tt.divisibility", 1)) for a in given))

    def block(self, block: ir.Block, parent: Op | None) -> Block:
        read = Block(parent=parent)
        for index, argument in enumerate(block.arguments):
            value = Value(self.type(argument.type), index, block=read)
            self.values[argument] = value
            read.arguments.append(value)
        for operation in block.operations:
            read.ops.extend(self.ops(operation.operation, read))
        return read

    def ops(self, operation: ir.Operation, parent: Block) -> list[Op]:
        """``operation``; a print of several values, which may have any shapes, as one of each."""
        whole = self.op(operation, parent)
        if whole.name != tt.PrintOp.OPERATION_NAME or len(whole.operands) < 2:
            return [whole]
        signed, made = whole.attributes["isSigned"], []
        for i, value in enumerate(whole.operands):
            value.uses.remove((whole, i))
            attributes = {
                **whole.attributes,
                "isSigned": signed[i : i + 1],
                "operand": (i, len(whole.operands)),
            }
            made.append(Op(whole.name, [value], [], attributes, whole.location, parent, self.count))
            value.uses.append((made[-1], 0))
            self.count += 1
        return made

    def op(self, operation: ir.Operation, parent: Block) -> Op:
        operands = [self.values[o] for o in operation.operands]
        attributes = {a: _plain(operation.attributes[a]) for a in operation.attributes}
        op = Op(operation.name, operands, [], attributes, operation.location, parent, self.count)
        self.count += 1
        for position, value in enumerate(operands):
            value.uses.append((op, position))
        for index, result in enumerate(operation.results):
            value = Value(self.type(result.type, op), index, op=op)
            self.values[result] = value
            op.results.append(value)
        op.operand_names = _operand_names(op)
        for region in operation.regions:
            if len(region.blocks) > 1:
                raise located(
                    Unsupported,
                    op.location,
                    "unstructured control flow inside a kernel",
                    "run the pass cf-to-scf first, as the stage ttir does",
                )
            op.blocks.extend(self.block(b, op) for b in region.blocks)
        return op

    def type(self, type_: ir.Type, op: Op | None = None) -> Type:
        known = self.types.get(type_)
        if known is None:
            known = self.types[type_] = _read_type(type_, op)
        return known


def _read_type(type_: ir.Type, op: Op | None) -> Type:
    if isinstance(type_, ir.RankedTensorType):
        return Type(_read_dtype(type_.element_type, op), tuple(type_.shape))
    return Type(_read_dtype(type_, op))


def _read_dtype(type_: ir.Type, op: Op | None) -> DType:
    if isinstance(type_, tt.PointerType):
        return DType("ptr", "ptr", 64, _read_dtype(type_.pointee_type, op))
    try:
        return dtype_of(str(type_))
    except KeyError:
        where = op.location if op is not None else None
        raise located(
            Unsupported,
            where,
            f"values of type {type_} in a kernel that is lowered from TTIR",
            "use numbers, pointers and tensors of them",
        ) from None


@cache
def _declared() -> Mapping[str, tuple[str, ...] | None]:
    """The operands of each op of the ``tt`` dialect."""
    return {op.OPERATION_NAME: operand_names(op) for op in tt.TT.operations}


@cache
def _positions(name: str, sizes: tuple[int, ...]) -> Mapping[str, int]:
    """The positions of the operands of op ``name`` that are present; ``sizes``: how many values each has."""
    names = _declared().get(name)
    if names is None:
        return {}
    present = [operand for operand, size in zip(names, sizes, strict=True) if size]
    return {operand: position for position, operand in enumerate(present)}


def _operand_names(op: Op) -> Mapping[str, int]:
    return _positions(op.name, op.attributes.get("operandSegmentSizes", (1,) * len(op.operands)))


def _plain(attribute: Any) -> Any:
    """An attribute as a Python value; the binding's object where there is no such thing."""
    match attribute:
        case ir.IntegerAttr() | ir.FloatAttr() | ir.StringAttr() | ir.BoolAttr():
            return attribute.value
        case ir.DenseI32ArrayAttr() | ir.DenseI64ArrayAttr() | ir.DenseBoolArrayAttr():
            return tuple(attribute)
        case ir.ArrayAttr():
            return tuple(_plain(a) for a in attribute)
        case ir.DictAttr():
            return {named.name: _plain(named.attr) for named in attribute}
        case ir.DenseElementsAttr() if attribute.is_splat:
            return _plain(attribute.get_splat_value())
        case ir.DenseElementsAttr():
            return [_plain(a) if isinstance(a, ir.Attribute) else a for a in attribute]
        case _:
            return attribute
