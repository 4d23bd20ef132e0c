"""Offsets of accesses that every program makes, as expressions that a launch can put numbers into.

Only what is certain is described: an access without a mask, outside of loops and branches, through a parameter, by an
offset of constants, program ids, ranges, numbers of programs and scalar parameters, joined by sums, differences and
products.  Every range and program id occurs once at most, so that the least and the largest offset of an expression
are those of its ends, and some element has them.
"""

from __future__ import annotations

from typing import Any

from tri_backend_cpu.lower.records import frames_of
from tri_core.dialects import tt
from tri_core.ir.views import isa
from tri_core.mlir import arith
from tri_core.ttir import Op, Value, constant_of
from tri_core.ttir.reader import Kernel

__all__ = ["certain_accesses"]

#: an expression: a number, or a list of its kind and its parts
Expression = Any

_ARITHMETIC = {arith.AddIOp: "add", arith.SubIOp: "sub", arith.MulIOp: "mul"}


#: parts of an offset; longer ones are no offsets of arrays, and shared parts would be read again and again
_MOST = 200


class _Unknown(Exception):
    """An offset that is no such expression."""


def certain_accesses(kernel: Kernel) -> list[dict[str, Any]]:
    """Records of the loads and stores of ``kernel`` whose offsets are known, JSON-able, in program order.

    ``parameter`` and ``offset``, in elements of ``size`` bytes; ``verb`` and ``place`` as the checker has them.
    """
    found = []
    for op in kernel.body.ops:
        if isa(op, tt.LoadOp, tt.StoreOp) and _is_unmasked(op):
            try:
                parameter, offset = _Reader(kernel.body.arguments).access(op.operand("ptr"))
            except _Unknown:
                continue
            size = op.operand("ptr").dtype.element.nbytes
            verb = op.name.removeprefix("tt.")
            found.append(
                {"verb": verb, "parameter": parameter, "offset": offset, "size": size, "place": frames_of(op)}
            )
    return found


def _is_unmasked(op: Op) -> bool:
    mask = op.optional("mask")
    return mask is None or constant_of(mask) in (True, 1, -1)


class _Reader:
    """Reads the pointer of one access."""

    def __init__(self, parameters: list[Value]) -> None:
        self._parameters = parameters
        self._seen: set[tuple[Any, ...]] = set()
        self._left = _MOST

    def access(self, pointer: Value) -> tuple[int, Expression]:
        """The parameter that ``pointer`` points into, and the offset in elements; _Unknown."""
        offset: Expression = 0
        axes: tuple[int, ...] = ()
        while pointer.op is not None:
            self._count()
            op = pointer.op
            if isa(op, tt.AddPtrOp):
                _, amount = op.operands
                offset = ["add", 64, offset, self._value(amount, axes)]
            elif isa(op, tt.ExpandDimsOp):
                axes = (*axes, op.attributes["axis"])
            elif not isa(op, tt.SplatOp, tt.BroadcastOp):
                raise _Unknown
            pointer = op.source
        if pointer not in self._parameters:
            raise _Unknown
        return self._parameters.index(pointer), offset

    def _value(self, value: Value, axes: tuple[int, ...]) -> Expression:
        """``value``, an integer or a block of them that was given dimensions ``axes`` since."""
        self._count()
        number = constant_of(value)
        if number is not None:
            return int(number)
        op = value.op
        if op is None:
            return self._parameter(value)
        if isa(op, tt.ExpandDimsOp):
            return self._value(op.source, (*axes, op.attributes["axis"]))
        if isa(op, tt.SplatOp, tt.BroadcastOp, arith.ExtSIOp):
            return self._value(op.source, axes)
        if isa(op, tt.MakeRangeOp):
            self._once(value, axes)
            return ["range", op.attributes["start"], op.attributes["end"] - 1]
        if isa(op, tt.GetProgramIdOp):
            self._once(op.attributes["axis"])
            return ["program", op.attributes["axis"]]
        if isa(op, tt.GetNumProgramsOp):
            return ["programs", op.attributes["axis"]]
        for kind, name in _ARITHMETIC.items():
            if isa(op, kind):
                first, second = (self._value(v, axes) for v in op.operands)
                return [name, value.dtype.bits, first, second]
        raise _Unknown

    def _parameter(self, value: Value) -> Expression:
        if value not in self._parameters:
            raise _Unknown
        return ["parameter", self._parameters.index(value), value.dtype.bits]

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _Unknown

    def _once(self, *variable: Any) -> None:
        """Note that ``variable`` occurs; _Unknown if it did before: two ends may exclude each other."""
        if variable in self._seen:
            raise _Unknown
        self._seen.add(variable)
