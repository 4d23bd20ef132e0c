"""Evaluator of TTIR and TTGIR functions on NumPy, independent of layouts.

One program at a time, whole tensors at once.  Made for tests of passes that must not change results; so an
op that is not known is an error, and memory is a list of arrays: the pointer parameters, in order.  A
pointer is a number: which array it points into and which element, so that pointer arithmetic is plain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.dialects.tt import PointerType
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["evaluate"]

Array = npt.NDArray[Any]

#: elements that an array may have; addresses are array number times this, plus the middle, plus the index
_SPAN = 1 << 40
_MIDDLE = 1 << 39

_DTYPES: dict[str, Any] = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def evaluate(
    function: ir.Operation, arguments: Sequence[Array | int | float], program: Sequence[int] = (0, 0, 0)
) -> None:
    """Run program ``program`` of ``function``; arrays (one-dimensional) are read and written in place."""
    machine = _Machine(memory=[a for a in arguments if isinstance(a, np.ndarray)], program=program)
    block = function.regions[0].blocks[0]
    number = 0
    for parameter, argument in zip(block.arguments, arguments, strict=True):
        if isinstance(argument, np.ndarray):
            machine.values[parameter] = np.int64(number * _SPAN + _MIDDLE)
            number += 1
        else:
            machine.values[parameter] = np.array(argument, _dtype(parameter.type))
    machine.block(block)


def _dtype(type_: Any) -> Any:
    element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
    if isinstance(element, PointerType):
        return np.int64
    return _DTYPES[str(element)]


def _shape(type_: Any) -> tuple[int, ...]:
    return tuple(type_.shape) if hasattr(type_, "shape") else ()


def _integer(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


@dataclass
class _Machine:
    memory: list[Array]
    program: Sequence[int]
    values: dict[ir.Value, Any] = field(default_factory=dict)

    def block(self, block: ir.Block) -> list[Any]:
        """Run a block; gives the operands of its terminator."""
        *ops, last = [view.operation for view in block]
        for op in ops:
            self.op(op)
        return [self.values[v] for v in last.operands]

    def op(self, op: ir.Operation) -> None:
        rule = _RULES.get(op.name)
        if rule is None:
            raise Unsupported(f"the evaluator knows no {op.name}")
        made = rule(self, op, [self.values[v] for v in op.operands])
        results = list(op.results)
        if len(results) == 1:
            made = [made]
        for result, value in zip(results, made if results else (), strict=True):
            shaped = np.asarray(value).astype(_dtype(result.type))
            # the scalars of a reduction's region are whole tensors here
            shape = _shape(result.type) or shaped.shape
            self.values[result] = np.broadcast_to(shaped, shape).copy()

    # --- memory -----------------------------------------------------------------------------------------

    def where(self, pointers: Array, active: Array) -> list[tuple[int, Array, Array]]:
        """For each array pointed into: its number, which lanes point there, and at which elements."""
        numbers, index = pointers // _SPAN, pointers % _SPAN - _MIDDLE
        found = []
        for number in np.unique(numbers[active]):
            lanes = active & (numbers == number)
            if (index[lanes] < 0).any() or (index[lanes] >= len(self.memory[number])).any():
                raise IndexError(f"an access leaves array {number}")
            found.append((int(number), lanes, index))
        return found

    def load(self, op: ir.Operation, operands: Sequence[Array]) -> Array:
        pointers, mask, other = _access(op, operands)
        values = np.zeros(pointers.shape, _dtype(op.results[0].type)) if other is None else other.copy()
        for number, lanes, index in self.where(pointers, mask):
            values[lanes] = self.memory[number][index[lanes]]
        return values

    def store(self, op: ir.Operation, operands: Sequence[Array]) -> None:
        pointers, value, *rest = operands
        mask = rest[0] if rest else np.ones(pointers.shape, np.bool_)
        for number, lanes, index in self.where(np.asarray(pointers), np.asarray(mask)):
            self.memory[number][index[lanes]] = np.broadcast_to(value, pointers.shape)[lanes]

    # --- regions ----------------------------------------------------------------------------------------

    def call(self, block: ir.Block, arguments: Sequence[Any]) -> list[Any]:
        """A block as a function of its arguments."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        return self.block(block)

    def for_(self, op: ir.Operation, operands: Sequence[Any]) -> Any:
        lower, upper, step, *carried = operands
        body = op.regions[0].blocks[0]
        for i in range(int(lower), int(upper), int(step)):
            carried = self.call(body, [np.array(i, _dtype(op.operands[0].type)), *carried])
        return carried[0] if len(carried) == 1 else carried

    def while_(self, op: ir.Operation, operands: Sequence[Any]) -> Any:
        before, after = (region.blocks[0] for region in op.regions)
        carried: list[Any] = list(operands)
        while True:
            going, *passed = self.call(before, carried)
            if not going:
                return passed[0] if len(passed) == 1 else passed
            carried = self.call(after, passed)

    def if_(self, op: ir.Operation, operands: Sequence[Any]) -> Any:
        region = op.regions[0 if operands[0] else 1]
        made = self.block(region.blocks[0]) if len(region.blocks) else []
        return made[0] if len(made) == 1 else made

    def fold(self, op: ir.Operation, operands: Sequence[Array], keep: bool) -> Any:
        """A reduction along ``axis``, or with ``keep`` all its steps."""
        axis, block = _integer(op, "axis"), op.regions[0].blocks[0]
        steps = range(operands[0].shape[axis])
        if keep and ir.BoolAttr(op.attributes["reverse"]).value:
            steps = steps[::-1]
        made: list[Any] = [[] for _ in operands]
        totals = [o.take(steps[0], axis) for o in operands]
        for i in steps:
            if i != steps[0]:
                totals = self.call(block, [*totals, *(o.take(i, axis) for o in operands)])
            for kept, total in zip(made, totals, strict=True):
                kept.append(total)
        stacked = [np.stack(m[:: 1 if steps.step > 0 else -1], axis) for m in made] if keep else totals
        return stacked[0] if len(stacked) == 1 else stacked


def _access(op: ir.Operation, operands: Sequence[Array]) -> tuple[Array, Array, Array | None]:
    pointers = np.asarray(operands[0])
    mask = np.asarray(operands[1]) if len(operands) > 1 else np.ones(pointers.shape, np.bool_)
    return pointers, mask, np.asarray(operands[2]) if len(operands) > 2 else None


_Rule = Callable[[_Machine, ir.Operation, Sequence[Any]], Any]


def _pure(function: Callable[..., Any]) -> _Rule:
    return lambda _, __, operands: function(*operands)


def _quotient(a: Array, b: Array) -> Array:
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(np.asarray(a).dtype)


def _unsigned(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """``function`` of the same bits, read as unsigned numbers; the result as it comes."""

    def made(a: Array, b: Array) -> Array:
        return function(*(np.asarray(x).view(np.asarray(x).dtype.str.replace("i", "u")) for x in (a, b)))

    return made


def _unsigned_number(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """The same, of which the result is a number like the operands."""
    return lambda a, b: _unsigned(function)(a, b).astype(np.asarray(a).dtype)


_ORDER: list[Callable[[Array, Array], Array]] = [np.less, np.less_equal, np.greater, np.greater_equal]
_CMPI: list[Callable[[Array, Array], Array]] = [
    np.equal,
    np.not_equal,
    *_ORDER,
    *(_unsigned(each) for each in _ORDER),
]
_CMPF = {1: np.equal, 2: np.greater, 3: np.greater_equal, 4: np.less, 5: np.less_equal, 6: np.not_equal}


def _constant(_: _Machine, op: ir.Operation, __: Sequence[Any]) -> Any:
    attr = op.attributes["value"].maybe_downcast()
    if isinstance(attr, ir.DenseElementsAttr):
        return attr.get_splat_value().maybe_downcast().value
    return attr.value


def _trans(_: _Machine, op: ir.Operation, operands: Sequence[Array]) -> Array:
    return operands[0].transpose([int(d) for d in op.attributes["order"].maybe_downcast()])


def _gather(_: _Machine, op: ir.Operation, operands: Sequence[Array]) -> Array:
    return np.take_along_axis(operands[0], operands[1].astype(np.int64), _integer(op, "axis"))


def _dot(_: _Machine, op: ir.Operation, operands: Sequence[Array]) -> Array:
    a, b, c = (o.astype(np.float64) for o in operands)
    return a @ b + c


_RULES: dict[str, _Rule] = {
    "arith.constant": _constant,
    "arith.cmpi": lambda _, op, v: _CMPI[_integer(op, "predicate")](*v),
    "arith.cmpf": lambda _, op, v: _CMPF[_integer(op, "predicate")](*v),
    "scf.for": _Machine.for_,
    "scf.while": _Machine.while_,
    "scf.if": _Machine.if_,
    "tt.get_program_id": lambda m, op, _: m.program[_integer(op, "axis")],
    "tt.make_range": lambda _, op, __: np.arange(_integer(op, "start"), _integer(op, "end")),
    "tt.load": _Machine.load,
    "tt.store": _Machine.store,
    "tt.reduce": lambda m, op, v: m.fold(op, v, False),
    "tt.scan": lambda m, op, v: m.fold(op, v, True),
    "tt.expand_dims": lambda _, op, v: np.expand_dims(v[0], _integer(op, "axis")),
    "tt.broadcast": lambda _, op, v: np.broadcast_to(v[0], _shape(op.results[0].type)),
    "tt.reshape": lambda _, op, v: v[0].reshape(_shape(op.results[0].type)),
    "tt.trans": _trans,
    "tt.join": _pure(lambda a, b: np.stack([a, b], -1)),
    "tt.split": _pure(lambda a: (a[..., 0], a[..., 1])),
    "tt.cat": _pure(lambda a, b: np.concatenate([a, b])),
    "tt.gather": _gather,
    "tt.dot": _dot,
    "ttg.local_dot": _dot,
    "ttg.next_tile": lambda _, __, v: v[0],
    "ttg.barrier": lambda _, __, ___: None,
    "ttg.local_alloc": lambda _, op, v: v[0] if v else np.zeros(_shape(op.results[0].type)),
    "tt.unsplat": _pure(lambda a: a.reshape(())),
}
_PURE: dict[str, Callable[..., Any]] = {
        "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.divsi": _quotient,
        "arith.remsi": lambda a, b: a - _quotient(a, b) * b, "arith.andi": np.bitwise_and,
        "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.minsi": np.minimum,
        "arith.maxsi": np.maximum, "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
        "arith.divui": _unsigned_number(np.floor_divide), "arith.remui": _unsigned_number(np.remainder),
        "arith.minui": _unsigned_number(np.minimum), "arith.divf": np.divide, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin, "arith.maximumf": np.maximum,
        "arith.negf": np.negative, "arith.select": np.where, "math.exp": np.exp, "math.sqrt": np.sqrt,
        "math.absf": np.abs, "tt.addptr": lambda p, o: p + o.astype(np.int64),
}  # fmt: skip
_CASTS = (
    "arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci", "arith.sitofp", "arith.fptosi",
    "tt.splat", "ttg.convert_layout", "ttg.local_load",
)  # fmt: skip
_RULES |= {name: _pure(function) for name, function in _PURE.items()}
_RULES |= {name: _pure(lambda a: a) for name in _CASTS}
