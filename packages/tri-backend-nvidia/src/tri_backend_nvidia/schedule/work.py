"""Work of an iteration of a kernel's busiest loop of dots, read from TTIR or TTGIR."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tri_core.dialects.tt import (
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorStoreOp,
    DotOp,
    FuncOp,
    MakeTensorDescriptorOp,
    ReduceOp,
    ScanOp,
    StoreOp,
)
from tri_core.ir.access import access_of
from tri_core.ir.dots import Dot as Operands
from tri_core.ir.regions import For, is_loop
from tri_core.ir.traits import maps_elements
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.dialect import WarpGroupDotOp
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch
from tri_gpu_dialect.edit import all_ops, asked_stages, forwards_elements, terminator
from tri_gpu_dialect.types import bitwidth, tensor_info

__all__ = ["Dot", "Unknown", "Work", "loops_of_dots", "work_of"]

_DOTS = (DotOp, WarpGroupDotOp)
_STORES = (StoreOp, DescriptorStoreOp, DescriptorReduceOp)
#: what the unit for special functions computes
_SPECIAL = frozenset(
    f"math.{name}" for name in ("cos", "exp", "exp2", "log", "log2", "rsqrt", "sin", "sqrt", "tanh")
)


@dataclass(frozen=True)
class Unknown:
    """Kernel whose schedule is not estimated, because of ``reason``."""

    reason: str


@dataclass(frozen=True)
class Dot:
    """A dot: ``[m, k] x [k, n]`` of elements of ``bits``."""

    m: int
    n: int
    k: int
    bits: int

    @property
    def multiply_adds(self) -> int:
        """Multiply-additions."""
        return self.m * self.n * self.k


@dataclass(frozen=True, kw_only=True)
class Work:
    """One iteration of the busiest loop, for a CTA, and what is around it.

    ``special`` and ``simple``: elements that special functions, other arithmetic and reductions compute.  ``copied``: bytes of the
    blocks that an iteration copies; ``held``: of blocks copied outside of loops, ``next``: of the smallest of these.  ``iterations``: None where only a launch knows.  ``chained``:
    a dot reads what another one gave.  ``accumulators``: elements of the tensors that the loop carries, ``between``: of other dots' results,
    ``forwarded``: of the largest operand that is computed from these.  ``describes``: whether the kernel makes descriptors that no launch can make.
    ``stages``: what the loop itself says; None: nothing.  ``tile``: bytes of the largest tile that is stored.  ``tiles_inside``: whether the kernel goes through tiles itself.
    """

    dots: tuple[Dot, ...]
    copied: int
    special: int = 0
    simple: int = 0
    held: int = 0
    next: int = 0
    iterations: int | None = None
    stages: int | None = None
    chained: bool = False
    accumulators: int = 0
    between: int = 0
    forwarded: int = 0
    tile: int = 0
    tiles_inside: bool = False
    describes: bool = False

    @property
    def largest(self) -> Dot:
        """The dot with the largest result."""
        return max(self.dots, key=lambda p: p.m * p.n)


def work_of(function: ir.Operation) -> Work | Unknown:
    """The work of ``function``, whose dots' operands are blocks of descriptors, other dots' results, or from outside the loop."""
    loops = loops_of_dots(function)
    if not loops:
        return Unknown("it has no loop of dots")
    bodies = [_Body(loop) for loop in loops]
    for body in bodies:
        reason = body.refusal()
        if reason is not None:
            return Unknown(reason)
    busiest = max(bodies, key=lambda b: sum(p.multiply_adds for p in b.shapes()))
    inside = {op for body in bodies for op in body.ops}
    ops = all_ops(function)
    held = [_bytes(op.results[0]) for op in ops if isa(op, DescriptorLoadOp) and op not in inside]
    return replace(
        busiest.work(),
        held=sum(held),
        next=min(held, default=0),
        tile=max((_bytes(_stored(op)) for op in ops if isa(op, *_STORES)), default=0),
        describes=not all(known_at_launch(op) for op in ops if isa(op, MakeTensorDescriptorOp)),
    )


def _stored(op: ir.Operation) -> ir.Value:
    access = access_of(op)
    assert access is not None
    return access.value


def loops_of_dots(function: ir.Operation) -> list[ir.Operation]:
    """The innermost loops around dots."""
    found = dict.fromkeys(
        loop for op in all_ops(function) if isa(op, *_DOTS) and (loop := _loop_around(op)) is not None
    )
    return list(found)


def _loop_around(op: ir.Operation) -> ir.Operation | None:
    while not isa(op, FuncOp) and op.parent is not None:
        op = op.parent.operation
        if is_loop(op):
            return op
    return None


def _bytes(value: ir.Value) -> int:
    info = tensor_info(value.type)
    return 0 if info is None else info.numel * bitwidth(info.element_type) // 8


def _elements(value: ir.Value) -> int:
    info = tensor_info(value.type)
    return 0 if info is None else info.numel


@dataclass(frozen=True)
class _Body:
    loop: ir.Operation

    @property
    def ops(self) -> list[ir.Operation]:
        return [op for op in all_ops(self.loop) if op != self.loop]

    @property
    def dots(self) -> list[ir.Operation]:
        return [op for op in self.ops if isa(op, *_DOTS)]

    def refusal(self) -> str | None:
        """Reason that the cost of an iteration is unknown; None if it is known."""
        if any(is_loop(op) for op in self.ops):
            return "a loop of dots has another one inside"
        if any(len(dot.results[0].type.shape) != 2 for dot in self.dots):
            return "it multiplies several matrices at once"
        if not all(self.is_fed(value) for dot in self.dots for value in list(dot.operands)[:2]):
            return "an operand of a dot in a loop is not a block that a copy brings"
        return None

    def is_fed(self, value: ir.Value) -> bool:
        """True if an operand is a block of a descriptor, the result of another dot, or loop-invariant."""
        op = self._maker(value)
        while op is not None and forwards_elements(op):
            value = next(iter(op.operands))
            op = self._maker(value)
        if op is not None:
            return isa(op, DescriptorLoadOp) or self.reads_a_dot(value)
        return not (isinstance(value.owner, ir.Block) and value.owner.owner.operation == self.loop)

    def reads_a_dot(self, value: ir.Value) -> bool:
        """True if ``value`` is computed from a dot of this iteration."""
        ahead, seen = [value], {value}
        while ahead:
            op = self._maker(ahead.pop())
            if op is None:
                continue
            if isa(op, *_DOTS):
                return True
            more = [v for v in op.operands if v not in seen]
            seen.update(more)
            ahead += more
        return False

    def _maker(self, value: ir.Value) -> ir.Operation | None:
        """The op of the loop's body that made ``value``."""
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        around = _loop_around(op)
        return op if around is not None and around == self.loop else None

    def shapes(self) -> tuple[Dot, ...]:
        """The dots as numbers."""
        return tuple(self._dot(dot) for dot in self.dots)

    @staticmethod
    def _dot(dot: ir.Operation) -> Dot:
        m, n = dot.results[0].type.shape
        left = Operands(dot).a.type
        return Dot(m, n, left.shape[1], bitwidth(left.element_type))

    def work(self) -> Work:
        """All that is in an iteration."""
        ops, dots = self.ops, self.dots
        carried = self.loop.results
        accumulators = {terminator(self.loop.regions[-1].blocks[0]).operands[i] for i in range(len(carried))}
        forwarded = [_elements(v) for dot in dots for v in list(dot.operands)[:2] if self.reads_a_dot(v)]
        return Work(
            dots=self.shapes(),
            copied=sum(_bytes(op.results[0]) for op in ops if isa(op, DescriptorLoadOp)),
            special=sum(_elements(op.results[0]) for op in ops if op.name in _SPECIAL),
            simple=sum(_arithmetic(ops)),
            iterations=_iterations(self.loop),
            stages=asked_stages(self.loop),
            chained=bool(forwarded),
            forwarded=max(forwarded, default=0),
            accumulators=sum(_elements(v) for v in carried),
            between=sum(_elements(d.results[0]) for d in dots if d.results[0] not in accumulators),
            tiles_inside=_loop_around(self.loop) is not None or any(isa(op, *_STORES) for op in ops),
        )


def _arithmetic(ops: Sequence[ir.Operation]) -> Iterator[int]:
    """Elements that each op computes; reductions have those that they read."""
    for op in ops:
        if isa(op, ReduceOp, ScanOp):
            yield _elements(next(iter(op.operands)))
        elif maps_elements(op.name) and op.name not in _SPECIAL:
            yield _elements(op.results[0])


def _iterations(loop: ir.Operation) -> int | None:
    """Trip count of a loop whose bounds are constants; None for others."""
    if not isa(loop, For):
        return None
    numbers = []
    for value in list(loop.operands)[:3]:
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if op is None or not isa(op, arith.ConstantOp):
            return None
        numbers.append(ir.IntegerAttr(op.attributes["value"]).value)
    low, high, step = numbers
    return max(math.ceil((high - low) / step), 0)
