"""Bytes and floating-point operations of a launch, from the kernel's TTIR, its grid and its arguments; no device is asked.

A program's work is a tree: what an op moves and computes, and loops around that.  Trip counts are evaluated from the arguments of
the launch and, where they depend on it, the program's ids.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tri_core.errors import TriError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.mlir import ir

__all__ = ["Amounts", "Work", "work_of"]

#: programs of a grid that are evaluated where trip counts depend on the program
_SAMPLES = 64
_LIBRARY = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class Program:
    """Values that trip counts may depend on: ``args`` of the launch in the kernel's order, ``ids`` of the program, the ``grid``."""

    args: Sequence[Any]
    ids: tuple[int, int, int]
    grid: tuple[int, int, int]


#: an integer of a program; None where it is not known
Scalar = Callable[[Program], int | None]


@dataclass
class Amounts:
    """``nbytes`` that loads and stores move, masked elements included, and floating-point operations ``flops``."""

    nbytes: float = 0.0
    flops: float = 0.0

    def add(self, other: Amounts, times: float) -> None:
        """Count ``other`` too, ``times`` over."""
        self.nbytes += times * other.nbytes
        self.flops += times * other.flops


@dataclass(frozen=True)
class Leaf:
    """Work of one execution of an op of ``line`` (file, line from 1)."""

    line: tuple[str, int]
    amounts: Amounts


@dataclass(frozen=True)
class Loop:
    """``body``, from ``lower`` to below ``upper`` by ``step``."""

    lower: Scalar
    upper: Scalar
    step: Scalar
    body: tuple[Leaf | Loop, ...]

    def trips(self, program: Program) -> int | None:
        """Iterations in ``program``; None where they are not known."""
        lower, upper, step = self.lower(program), self.upper(program), self.step(program)
        if lower is None or upper is None or not step:
            return None
        return max(0, -((lower - upper) // step))


@dataclass
class Work:
    """Work of the programs of a kernel of ``parameters``; ``operands``: the element type of its dots, empty without any.

    ``reasons``: why the counts are not exact, a phrase each.
    """

    tree: tuple[Leaf | Loop, ...] = ()
    operands: str = ""
    by_program: bool = False
    parameters: int = 0
    reasons: dict[str, None] = field(default_factory=dict)

    def of_launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> dict[tuple[str, int], Amounts]:
        """Amounts of all programs of ``grid``, by line."""
        found: dict[tuple[str, int], Amounts] = {}
        if len(args) != self.parameters:  # a launcher that takes them in another form
            args = [None] * self.parameters
        count = grid[0] * grid[1] * grid[2]
        sample = min(count, _SAMPLES) if self.by_program else min(count, 1)
        if 1 < sample < count:
            self.reasons["programs were sampled"] = None
        for i in range(sample):
            number = i * count // sample
            ids = number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])
            self._add(self.tree, Program(args, ids, grid), count / sample, found)
        return found

    def _add(
        self,
        tree: Sequence[Leaf | Loop],
        program: Program,
        times: float,
        found: dict[tuple[str, int], Amounts],
    ) -> None:
        for part in tree:
            if isinstance(part, Leaf):
                found.setdefault(part.line, Amounts()).add(part.amounts, times)
                continue
            trips = part.trips(program)
            if trips is None:
                self.reasons["a loop's iterations are not known: one is counted"] = None
                trips = 1
            self._add(part.body, program, times * trips, found)


def work_of(kernel: CompiledKernel) -> Work:
    """Work of the programs of ``kernel``; none, with the reason, where it has no TTIR."""
    if "ttir" not in kernel.asm:
        return Work(reasons={"the kernel has no TTIR": None})
    try:
        return _read(str(kernel.asm["ttir"]), str(kernel.metadata.target))
    except TriError as error:  # what is counted must not stop what is launched
        return Work(reasons={f"its TTIR cannot be read: {error.message}": None})


@lru_cache(maxsize=256)
def _read(text: str, target: str) -> Work:
    from tri_core import mlir
    from tri_core.dialects import tt
    from tri_core.plugins import manager
    from tri_core.target_selection import resolve
    from tri_core.text import parse_module

    mlir.registry.add_dialect(tt.TT)
    manager().register_ir(mlir.registry, resolve(target))
    with mlir.session():
        module = parse_module(text)
        return _Reader().read(module)


class _Reader:
    """Reads a module while its session is open; what it makes holds no IR."""

    def __init__(self) -> None:
        self.work = Work()
        self.arguments: dict[Any, int] = {}

    def read(self, module: ir.Module) -> Work:
        from tri_core.dialects import tt
        from tri_core.ir.views import isa

        for view in module.body:
            function = view.operation
            visibility = function.attributes.get("sym_visibility", "public")
            if isa(function, tt.FuncOp) and "private" not in str(visibility):
                block = function.regions[0].blocks[0]
                self.work.parameters = len(block.arguments)
                self.arguments = {argument: i for i, argument in enumerate(block.arguments)}
                self.work.tree = tuple(self.block(block, 1))
        return self.work

    def block(self, block: ir.Block, times: int) -> Iterator[Leaf | Loop]:
        """The work of ``block``, each op of which is done for ``times`` elements."""
        for view in block:
            yield from self.op(view.operation, times)

    def op(self, op: ir.Operation, times: int) -> Iterator[Leaf | Loop]:
        from tri_core.dialects import tt
        from tri_core.ir.regions import For, is_control
        from tri_core.ir.views import isa

        if isa(op, For):
            loop = For(op)
            body = tuple(self.block(loop.body, times))
            if body:
                yield Loop(self.scalar(loop.lower), self.scalar(loop.upper), self.scalar(loop.step), body)
            return
        if isa(op, tt.CallOp):
            self.work.reasons["functions that are not inlined are not counted"] = None
        inner = times
        if len(op.regions):
            if is_control(op):
                self.work.reasons["both sides of branches, and one iteration of while loops, are counted"] = (
                    None
                )
            else:
                inner = times * max((_numel(value.type) for value in op.operands), default=1)
            for region in op.regions:
                for each in region.blocks:
                    yield from self.block(each, inner)
        amounts = self.amounts(op, times)
        if amounts.nbytes or amounts.flops:
            yield Leaf(_line(op), amounts)

    def amounts(self, op: ir.Operation, times: int) -> Amounts:
        from tri_core.ir.access import access_of
        from tri_core.ir.dots import Dot, is_dot
        from tri_core.ir.traits import is_cast, is_elementwise
        from tri_core.ir.views import isa
        from tri_core.mlir import arith, ir, math

        if is_dot(op):
            dot = Dot(op)
            shape = ir.RankedTensorType(dot.a.type).shape
            self.work.operands = str(ir.RankedTensorType(dot.a.type).element_type)
            return Amounts(flops=2.0 * times * _numel(dot.c.type) * shape[-1])
        access = access_of(op)
        if access is not None:
            ways = 1 + (access.stored is not None and len(op.results) > 0)  # an atomic reads and writes
            return Amounts(nbytes=float(times * ways * _nbytes(access.value.type)))
        if is_elementwise(op) and not is_cast(op) and not isa(op, arith.SelectOp) and _is_float(op):
            return Amounts(
                flops=float(times * _numel(op.results[0].type) * (2 if isa(op, math.FmaOp) else 1))
            )
        return Amounts()

    def scalar(self, value: ir.Value) -> Scalar:
        """``value``, an integer, as a function of the program."""
        from tri_core.dialects import tt
        from tri_core.ir.views import defining_op, isa
        from tri_core.mlir import arith

        number = self.arguments.get(value)
        if number is not None:
            return lambda program: _integer(program.args[number])
        op = defining_op(value)
        if op is None:
            return lambda program: None
        if isa(op, arith.ConstantOp):
            constant = int(op.attributes["value"].value)
            return lambda program: constant
        if isa(op, tt.GetProgramIdOp, tt.GetNumProgramsOp):
            axis = int(op.attributes["axis"].value)
            self.work.by_program = True
            if isa(op, tt.GetProgramIdOp):
                return lambda program: program.ids[axis]
            return lambda program: program.grid[axis]
        for kind, compute in _operations().items():
            if isa(op, kind):
                return _computed(compute, [self.scalar(operand) for operand in op.operands])
        return lambda program: None


def _computed(compute: Callable[..., int], operands: Sequence[Scalar]) -> Scalar:
    def value(program: Program) -> int | None:
        values = [operand(program) for operand in operands]
        if any(each is None for each in values):
            return None
        try:
            return compute(*values)
        except ZeroDivisionError:
            return None

    return value


@lru_cache(maxsize=1)
def _operations() -> Mapping[type[Any], Callable[..., int]]:
    from tri_core.mlir import arith

    return {
        arith.AddIOp: operator.add,
        arith.SubIOp: operator.sub,
        arith.MulIOp: operator.mul,
        arith.DivSIOp: _quotient,
        arith.DivUIOp: _quotient,
        arith.CeilDivSIOp: lambda a, b: -(-a // b),
        arith.RemSIOp: lambda a, b: a - b * _quotient(a, b),
        arith.RemUIOp: lambda a, b: a - b * _quotient(a, b),
        arith.MinSIOp: min,
        arith.MaxSIOp: max,
        arith.MinUIOp: min,
        arith.MaxUIOp: max,
        arith.ExtSIOp: int,
        arith.ExtUIOp: int,
        arith.TruncIOp: int,
    }


def _quotient(a: int, b: int) -> int:
    """Division that rounds towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _numel(kind: ir.Type) -> int:
    """Elements of a block; 1 of a scalar."""
    from tri_core.mlir import ir

    count = 1
    for size in ir.RankedTensorType(kind).shape if isinstance(kind, ir.RankedTensorType) else ():
        count *= size
    return count


def _element(kind: ir.Type) -> ir.Type:
    from tri_core.mlir import ir

    return ir.RankedTensorType(kind).element_type if isinstance(kind, ir.RankedTensorType) else kind


def _nbytes(kind: ir.Type) -> int:
    """Bytes of a value in memory; pointers have 8."""
    element = _element(kind)
    bits = getattr(element, "width", 64)
    return _numel(kind) * max(bits // 8, 1)


def _is_float(op: ir.Operation) -> bool:
    from tri_core.mlir import ir

    return len(op.results) == 1 and isinstance(_element(op.results[0].type), ir.FloatType)


def _line(op: ir.Operation) -> tuple[str, int]:
    """The line of the user's that ``op`` comes from: in functions of the language, that of their call; ("", 0) for none."""
    from tri_core.locations import source_location

    place = source_location(op.location)
    if place is None:
        return "", 0
    for each in (place, *place.call_sites):
        if not each.file.startswith(_LIBRARY):
            return each.file, each.line
    return place.file, place.line
