"""Sharing of tensor memory by accumulators: an *accumulator* is the place of dots that add to each other's
results.

Dots of one block form a chain where each adds to the result of the one before, and nothing else adds to that.  A loop
carries a chain's accumulator where it yields the last one's result: what is loop-carried is in the accumulator already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tri_core.ir.dots import Dot
from tri_core.ir.regions import For, ends_region
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import WarpGroupDotOp, WarpGroupDotWaitOp
from tri_gpu_dialect.edit import all_ops, terminator
from tri_gpu_dialect.encodings import decode

from tri_backend_nvidia.tcgen05.encoding import TensorMemoryRows  # isort: skip

__all__ = ["DOT", "WAIT", "Accumulator", "Carried", "accumulators", "is_placed", "origin", "reads"]

DOT, WAIT = WarpGroupDotOp.OPERATION_NAME, WarpGroupDotWaitOp.OPERATION_NAME


def is_placed(value: ir.Value) -> bool:
    """True if ``value`` is a tensor in the layout in which it is read from tensor memory."""
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType) or type_.encoding is None:
        return False
    return isinstance(decode(type_.encoding), TensorMemoryRows)


@dataclass(frozen=True)
class Carried:
    """Value ``index`` that ``loop``, a counted loop, carries."""

    loop: ir.Operation
    index: int

    @property
    def argument(self) -> ir.Value:
        """In the body."""
        return self.loop.regions[0].blocks[0].arguments[1 + self.index]

    @property
    def init(self) -> ir.Value:
        """Before the loop."""
        return self.loop.operands[3 + self.index]

    @property
    def result(self) -> ir.Value:
        """After the loop."""
        return self.loop.results[self.index]


@dataclass(eq=False)
class Accumulator:
    """A chain of ``dots`` in one block; ``carried``: the loop that brings the accumulator round.

    ``adds_in_place``: the first dot adds to what is carried, not to registers.
    """

    dots: list[ir.Operation]
    carried: Carried | None = None
    adds_in_place: bool = False
    #: where the accumulator is in use, in numbers of ops
    life: tuple[int, int] = field(default=(0, 0))

    @property
    def type(self) -> ir.Type:
        """The accumulator's, in registers."""
        return Dot(self.dots[0]).c.type

    @property
    def held(self) -> list[ir.Value]:
        """Values that are in the accumulator when they are made: results of dots, and what the loop carries."""
        found = [dot.results[0] for dot in self.dots]
        return found if self.carried is None else [*found, self.carried.argument, self.carried.result]


def origin(value: ir.Value) -> ir.Value:
    """``value`` before the waits that forwarded it."""
    while not isinstance(value.owner, ir.Block) and isa(value.owner.operation, WarpGroupDotWaitOp):
        value = value.owner.operation.operands[ir.OpResult(value).result_number]
    return value


def _uses(value: ir.Value) -> Iterator[tuple[ir.Value, ir.Operation, int]]:
    """(value, user, operand's number) of all uses of ``value`` and of what waits make of it."""
    for use in value.uses:
        user, number = use.owner.operation, use.operand_number
        if isa(user, WarpGroupDotWaitOp):
            yield from _uses(user.results[number])
        else:
            yield value, user, number


def _adders(value: ir.Value) -> list[ir.Operation]:
    """The dots that add to ``value``."""
    return [user for _, user, number in _uses(value) if isa(user, WarpGroupDotOp) and number == 2]


def reads(accumulator: Accumulator, value: ir.Value) -> list[tuple[ir.Value, ir.Operation, int]]:
    """Uses of ``value``, which ``accumulator`` holds, that take it as registers."""
    found = []
    for held, user, number in _uses(value):
        in_place = (
            isa(user, WarpGroupDotOp)
            and number == 2
            and user in accumulator.dots
            and _is_in_place(accumulator, user)
        )
        if not in_place and not _comes_round(accumulator, user, number):
            found.append((held, user, number))
    return found


def _is_in_place(accumulator: Accumulator, dot: ir.Operation) -> bool:
    return accumulator.adds_in_place or dot != accumulator.dots[0]


def _comes_round(accumulator: Accumulator, user: ir.Operation, number: int) -> bool:
    """True if ``user`` yields the value that the accumulator's loop carries."""
    if accumulator.carried is None or not ends_region(user) or number != accumulator.carried.index:
        return False
    return bool(user.block == accumulator.carried.argument.owner)


def accumulators(function: ir.Operation) -> list[Accumulator]:
    """The accumulators of all dots of ``function`` whose accumulators are to be in tensor memory, in program order."""
    found: list[Accumulator] = []
    for dot in [op for op in all_ops(function) if isa(op, WarpGroupDotOp) and is_placed(op.results[0])]:
        accumulator = next((c for c in found if _continues(c, dot)), None)
        if accumulator is None:
            found.append(Accumulator([dot]))
        else:
            accumulator.dots.append(dot)
    for accumulator in found:
        _carry(accumulator)
    return found


def _continues(accumulator: Accumulator, dot: ir.Operation) -> bool:
    """True if ``dot`` is the only one that adds to the result of the last dot of ``accumulator``, next to it."""
    last = accumulator.dots[-1]
    if last.block != dot.block or origin(Dot(dot).c) != last.results[0]:
        return False
    return len(_adders(last.results[0])) == 1


def _carry(accumulator: Accumulator) -> None:
    """Find the loop that carries ``accumulator``."""
    last = accumulator.dots[-1]
    loop = last.block.owner.operation
    if not isa(loop, For):
        return
    for index, value in enumerate(terminator(last.block).operands):
        if is_placed(value) and origin(value) == last.results[0]:
            accumulator.carried = Carried(loop, index)
            argument = accumulator.carried.argument
            first = accumulator.dots[0]
            accumulator.adds_in_place = origin(Dot(first).c) == argument and len(_adders(argument)) == 1
            return
