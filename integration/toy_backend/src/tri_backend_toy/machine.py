"""The toy machine: an arena of bytes, and the meaning of each TTIR op on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.dialects import tt
from tri_core.mlir import ir

__all__ = ["OPS", "Arena", "Program"]

Array = npt.NDArray[Any]


@dataclass
class Arena:
    """Memory of the machine; addresses are offsets into it, 0 is never given out."""

    data: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(64, np.uint8))

    def allocate(self, size: int) -> int:
        """The address of ``size`` fresh bytes, aligned to 64."""
        address = len(self.data)
        self.data = np.concatenate([self.data, np.zeros(-(-size // 64) * 64, np.uint8)])
        return address

    def read(self, address: Array, dtype: np.dtype[Any]) -> Array:
        """Elements of ``dtype`` at each address."""
        places = address[..., None] + np.arange(dtype.itemsize)
        return np.ascontiguousarray(self.data[places]).view(dtype)[..., 0]

    def write(self, address: Array, values: Array) -> None:
        """Put ``values`` at each address."""
        places = address[..., None] + np.arange(values.dtype.itemsize)
        self.data[places] = np.ascontiguousarray(values)[..., None].view(np.uint8)


@dataclass
class Program:
    """One program of a launch: values by SSA value, its ids and the arena."""

    arena: Arena
    ids: tuple[int, int, int]
    grid: tuple[int, int, int]
    values: dict[Any, Any] = field(default_factory=dict)

    def run(self, block: ir.Block, arguments: Sequence[Any]) -> list[Any]:
        """Execute ``block``; gives the operands of its terminator."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        for view in block.operations:
            op = view.operation
            operands = [self.values[operand] for operand in op.operands]
            if op.name in TERMINATORS:
                return operands
            results = OPS[op.name](self, op, operands)
            self.values.update(zip(op.results, results, strict=True))
        return []


def shape_of(value_type: ir.Type) -> tuple[int, ...]:
    """The shape of a tensor, () of a scalar."""
    return tuple(ir.RankedTensorType(value_type).shape) if isinstance(value_type, ir.RankedTensorType) else ()


def dtype_of(value_type: ir.Type) -> np.dtype[Any]:
    """The NumPy dtype of a scalar's or a tensor's elements; addresses are int64."""
    element = ir.RankedTensorType(value_type).element_type if shape_of(value_type) else value_type
    names = {"i1": "bool", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}
    return np.dtype(names.get(str(element), "i8"))


def _pointee(value_type: ir.Type) -> np.dtype[Any]:
    element = ir.RankedTensorType(value_type).element_type if shape_of(value_type) else value_type
    return dtype_of(tt.PointerType(element).pointee_type)


def _constant(program: Program, op: Any, _: list[Any]) -> list[Any]:
    del program
    value = op.attributes["value"]
    result = op.results[0].type
    if isinstance(value, ir.DenseElementsAttr):
        return [np.broadcast_to(np.array(value.get_splat_value().value, dtype_of(result)), shape_of(result))]
    return [np.array(value.value, dtype_of(result))[()]]


def _load(program: Program, op: Any, operands: list[Any]) -> list[Any]:
    address, mask, other = (*operands, None, None)[:3]
    dtype = _pointee(op.operands[0].type)
    if mask is None:
        return [program.arena.read(np.asarray(address), dtype)]
    inside = np.where(mask, address, 0)
    return [np.where(mask, program.arena.read(inside, dtype), 0 if other is None else other).astype(dtype)]


def _store(program: Program, op: Any, operands: list[Any]) -> list[Any]:
    address, value, mask = (*operands, None)[:3]
    dtype = _pointee(op.operands[0].type)
    keep = np.broadcast_to(True if mask is None else mask, np.shape(address))
    program.arena.write(np.asarray(address)[keep], np.asarray(value, dtype)[keep])
    return []


def _addptr(program: Program, op: Any, operands: list[Any]) -> list[Any]:
    del program
    return [operands[0] + np.asarray(operands[1], np.int64) * _pointee(op.operands[0].type).itemsize]


def _reduce(program: Program, op: Any, operands: list[Any]) -> list[Any]:
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    rows = [np.moveaxis(operand, axis, 0) for operand in operands]
    carried = [row[0] for row in rows]
    for i in range(1, len(rows[0])):
        carried = program.run(op.regions[0].blocks[0], [*carried, *(row[i] for row in rows)])
    return carried


def _compare(program: Program, op: Any, operands: list[Any]) -> list[Any]:
    del program
    predicates = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
    return [predicates[ir.IntegerAttr(op.attributes["predicate"]).value](*operands)]


Rule = Callable[[Program, Any, list[Any]], list[Any]]


def _elementwise(function: Callable[..., Any]) -> Rule:
    return lambda program, op, operands: [
        np.asarray(function(*operands)).astype(dtype_of(op.results[0].type))[()]
    ]


def _shaped(function: Callable[[Any, tuple[int, ...]], Any]) -> Rule:
    return lambda program, op, operands: [function(operands[0], shape_of(op.results[0].type))]


def _axis(op: Any) -> int:
    return int(ir.IntegerAttr(op.attributes["axis"]).value)


TERMINATORS = frozenset({"tt.return", "tt.reduce_return"})

#: what the machine can do: an op's rule takes (program, op, operand values) and gives result values
OPS: dict[str, Rule] = {
    **dict.fromkeys(TERMINATORS, lambda program, op, operands: []),
    "arith.constant": _constant,
    "arith.addi": _elementwise(np.add),
    "arith.addf": _elementwise(np.add),
    "arith.subi": _elementwise(np.subtract),
    "arith.subf": _elementwise(np.subtract),
    "arith.muli": _elementwise(np.multiply),
    "arith.mulf": _elementwise(np.multiply),
    "arith.divf": _elementwise(np.divide),
    "arith.andi": _elementwise(np.bitwise_and),
    "arith.maxnumf": _elementwise(np.fmax),
    "arith.minnumf": _elementwise(np.fmin),
    "arith.maximumf": _elementwise(np.maximum),
    "arith.minimumf": _elementwise(np.minimum),
    "arith.select": _elementwise(np.where),
    "arith.cmpi": _compare,
    "arith.extsi": _elementwise(lambda x: x),
    "arith.sitofp": _elementwise(lambda x: x),
    "math.exp": _elementwise(np.exp),
    "math.sqrt": _elementwise(np.sqrt),
    "tt.get_program_id": lambda program, op, _: [np.int32(program.ids[_axis(op)])],
    "tt.get_num_programs": lambda program, op, _: [np.int32(program.grid[_axis(op)])],
    "tt.make_range": lambda program, op, _: [
        np.arange(
            ir.IntegerAttr(op.attributes["start"]).value,
            ir.IntegerAttr(op.attributes["end"]).value,
            dtype="i4",
        )
    ],
    "tt.splat": _shaped(np.broadcast_to),
    "tt.broadcast": _shaped(np.broadcast_to),
    "tt.expand_dims": _shaped(np.reshape),
    "tt.reshape": _shaped(np.reshape),
    "tt.addptr": _addptr,
    "tt.load": _load,
    "tt.store": _store,
    "tt.reduce": _reduce,
}
