"""Loads of a loop that can be issued iterations ahead, and the ops that must run ahead with them.

The schedule has two stages: the loads of dots' operands with all that their addresses and masks are computed
from, and everything else, ``num_stages - 1`` iterations later.  A load that another load's address needs runs
in the first stage as well.

A load may pass what the loop writes through other arguments of the kernel: these do not overlap what it reads.  A pointer from elsewhere
(a table of pointers, an integer) may point anywhere: its loads run ahead in loops that write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from tri_core.dialects.tt import DotOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.access import access_of, global_load
from tri_core.ir.dots import is_dot
from tri_core.ir.effects import (
    READ_DESCRIBED,
    READ_GLOBAL,
    SYNCHRONIZE_CTA,
    SYNCHRONIZE_GRID,
    SYNCHRONIZE_LAUNCHES,
    WRITE_DESCRIBED,
    WRITE_GLOBAL,
    WRITE_SHARED,
    has_at_most,
    may_have,
)
from tri_core.ir.regions import While
from tri_core.ir.traits import is_pure, is_rematerializable
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.origins import arguments_of, reaches
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.dialect import LocalAllocOp, LocalDeallocOp, WarpGroupDotOp
from tri_gpu_dialect.edit import all_ops, block_ops, terminator
from tri_gpu_dialect.encodings import Blocked, MatrixEncoding

__all__ = [
    "DOT_OPERANDS",
    "PipelinedLoads",
    "feeds_matrix_unit",
    "is_dot_buffer",
    "obstacle",
    "pipelined_loads",
    "unpacked_registers",
]

#: effects that loads may not pass, or that other threads' memory may depend on
_ORDERING = (
    READ_DESCRIBED,
    WRITE_DESCRIBED,
    WRITE_GLOBAL,
    WRITE_SHARED,
    SYNCHRONIZE_CTA,
    SYNCHRONIZE_GRID,
    SYNCHRONIZE_LAUNCHES,
)
#: which operands of dots may come by copies ahead: operands, and scales where a dot reads them from registers
DOT_OPERANDS = {"tt.dot": (0, 1), "tt.dot_scaled": (0, 1, 3, 4), "ttg.warp_group_dot": (0, 1)}


@dataclass
class PipelinedLoads:
    """The first stage of a loop: ``loads``, all its ``ops`` in order, and the ``carried`` values (indices) it needs."""

    loads: list[ir.Operation] = field(default_factory=list)
    ops: list[ir.Operation] = field(default_factory=list)
    carried: list[int] = field(default_factory=list)


def pipelined_loads(
    loop: ir.Operation, suits: Callable[[ir.Operation], bool], *, whatever_they_feed: bool = False
) -> PipelinedLoads | None:
    """Those loads of a counted loop that ``suits`` accepts, and that feed dots unless ``whatever_they_feed``; None without any."""
    body = loop.regions[0].blocks[0]
    ops = block_ops(body)
    written = _written(loop)
    if written is None:
        return None
    found = PipelinedLoads()
    reach = _Reach(body, ops)
    for op in ops:
        load = global_load(op)
        if load is None or not (whatever_they_feed or _feeds_dot(op)) or not suits(op):
            continue
        if _may_be_written(load.address, written):
            continue
        if reach.add(op, loop, written):
            found.loads.append(op)
    if not found.loads:
        return None
    found.ops = [op for op in ops if op.results and op.results[0] in reach.results]
    found.carried = sorted(reach.carried)
    return found


def obstacle(loop: ir.Operation, suits: Callable[[ir.Operation], bool]) -> str | None:
    """Reason that ``loop``, a counted loop, has no :func:`pipelined_loads`; None if none of its loads feeds a
    matrix instruction.
    """
    body = loop.regions[0].blocks[0]
    ops = block_ops(body)
    found = {op: load for op in ops if (load := global_load(op)) is not None and feeds_matrix_unit(op)}
    loads = list(found)
    if not loads:
        return None
    written = _written(loop)
    if written is None:
        return "it does what loads must not be moved before"
    if not any(suits(op) for op in loads):
        return "no load of an operand is a copy of a matrix, in accesses of a width that asynchronous copies have"
    if all(_may_be_written(load.address, written) for load in found.values()):
        return "it may write what it loads"
    reach = _Reach(body, ops)
    if not any(suits(op) and reach.add(op, loop, written) for op in loads):
        return "the addresses of its loads depend on what the iteration before computes"
    return None


# --- memory -----------------------------------------------------------------------------------------------


def _written(loop: ir.Operation) -> set[ir.Value] | None:
    """The arguments that the loop writes through; None if it does what loads must not pass, or anything unknown."""
    found: set[ir.Value] = set()
    for op in all_ops(loop):
        written = _address_written(op)
        if written is not None:
            roots = arguments_of(written)
            used = any(next(iter(r.uses), None) is not None for r in op.results)
            if roots is None or used:
                return None
            found |= roots
        elif isa(op, While) or may_have(op, *_ORDERING) or reads_again(op):
            return None
    return found


def _may_be_written(address: ir.Value, written: set[ir.Value]) -> bool:
    """True if ``address`` may point into memory that is written through the arguments ``written``."""
    if not written:
        return False
    roots = arguments_of(address)
    return roots is None or not written.isdisjoint(roots)


def _address_written(op: ir.Operation) -> ir.Value | None:
    """The pointers through which ``op`` writes, if it does and orders nothing else."""
    access = access_of(op)
    if access is None or access.stored is None or not has_at_most(op, READ_GLOBAL, WRITE_GLOBAL):
        return None
    return access.address


# --- what feeds what --------------------------------------------------------------------------------------


def is_dot_buffer(op: ir.Operation) -> bool:
    """True if ``op`` fills a buffer, next to it, whose only readers are asynchronous dots."""
    if not isa(op, LocalAllocOp) or not len(op.operands):
        return False
    users = [use.owner.operation for use in op.results[0].uses]
    readers = [user for user in users if isa(user, WarpGroupDotOp)]
    return bool(readers) and all(
        user.block == op.block and (user in readers or isa(user, LocalDeallocOp)) for user in users
    )


def feeds_matrix_unit(load: ir.Operation) -> bool:
    """True if the result of ``load`` becomes an operand of a dot on a matrix instruction."""
    return reaches(load.results, _is_matrix_operand, _makes_operands)


def _feeds_dot(load: ir.Operation) -> bool:
    """True if the result of ``load`` becomes an operand of a dot, on a matrix instruction or by multiply-add."""
    return reaches(load.results, _is_operand, _makes_operands)


def unpacked_registers(load: ir.Operation) -> int:
    """Registers of a thread that the numbers take which ops that unpack (halves joined, scaled conversions) make of what ``load`` gives; 0 without any."""
    most = 0

    def through(op: ir.Operation) -> bool:
        nonlocal most
        if not _makes_operands(op):
            return False
        if not is_rematerializable(op):
            most = max([most, *map(registers_of, op.results)])
        return True

    reaches(load.results, lambda _: False, through)
    return most


def _makes_operands(op: ir.Operation) -> bool:
    """True where each element of ``op``'s results is made of single elements of its operands, in whatever order: halves joined, numbers unpacked and scaled."""
    return is_rematerializable(op) or (is_pure(op) and not len(op.regions) and not is_dot(op))


def _is_operand(use: ir.OpOperand) -> bool:
    return _is_matrix_operand(use) or _is_multiplied(use)


def _is_multiplied(use: ir.OpOperand) -> bool:
    """True if ``use`` is a register operand of a dot lowered to multiply-adds."""
    user = use.owner.operation
    return (
        use.operand_number in (0, 1)
        and isa(user, DotOp)
        and isinstance(encoding_of(user.results[0]), Blocked)
    )


def _is_matrix_operand(use: ir.OpOperand) -> bool:
    user = use.owner.operation
    if use.operand_number in DOT_OPERANDS.get(user.name, ()):
        return isinstance(encoding_of(user.results[0]), MatrixEncoding)
    return is_dot_buffer(user)


@dataclass
class _Reach:
    """Backward slice of loads within a loop's ``body``."""

    body: ir.Block
    ops: Sequence[ir.Operation]
    results: set[ir.Value] = field(default_factory=set)
    carried: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.own = {r: op for op in self.ops for r in op.results}
        self.arguments = {a: i for i, a in enumerate(self.body.arguments)}
        self.coming = list(terminator(self.body).operands)

    def add(self, first: ir.Operation, loop: ir.Operation, written: set[ir.Value]) -> bool:
        """Add what ``first`` needs; False (and nothing added) if that cannot run ahead."""
        results, carried = {first.results[0]}, set[int]()
        ahead = list(first.operands)
        while ahead:
            value = ahead.pop()
            index = self.arguments.get(value)
            if index is not None:
                if index > 0 and index - 1 not in carried:
                    carried.add(index - 1)
                    ahead.append(self.coming[index - 1])
                continue
            op = self.own.get(value)
            if op is None or value in results:
                continue
            load = global_load(op)
            if load is not None:
                if _may_be_written(load.address, written):
                    return False
            elif not is_rematerializable(op):
                return False
            results.update(op.results)
            ahead += op.operands
        self.results |= results
        self.carried |= carried
        return True
