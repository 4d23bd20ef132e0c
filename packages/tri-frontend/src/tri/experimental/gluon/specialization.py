"""Warp specialisation: functions that run at the same time, each on warps of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tri.compiler.builder import Builder
from tri.compiler.values import flatten, rebuild
from tri.experimental.gluon.builder import GluonBuilder, of_gluon
from tri.kernel import Kernel
from tri.language import builtin
from tri.language import types as t
from tri.language.tensor import tensor
from tri_core.dialects.tt import FuncOp
from tri_core.errors import CompilationError
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.edit import i32_attribute
from tri_gpu_dialect.layouts import WARP

__all__ = ["warp_specialize"]

#: budgets of registers are given to groups of so many warps
_GROUP = 4
#: registers of a multiprocessor, the most of a thread, what budgets are multiples of, and their bounds
_REGISTERS, _MOST, _STEP, _LEAST = 65536, 255, 8, 24

Partition = tuple[Kernel, tuple[Any, ...]]


@builtin
def warp_specialize(
    functions_and_args: Any, worker_num_warps: Any, worker_num_regs: Any = None, *, _semantic: Builder
) -> Any:
    """Run the first function on the kernel's warps, the others on ``worker_num_warps`` (constexpr) warps each, all at once.

    ``functions_and_args``: pairs of a jit function and a tuple of its arguments; the result is the first one's.  Arguments
    of the others are scalars and descriptors: no tensors, which are in the kernel's registers.  ``worker_num_regs``:
    registers of a thread of each; the first has what they leave.  CompilationError for counts that do not fit.
    """
    b = of_gluon(_semantic, "warp_specialize")
    (default, *workers) = _parts(functions_and_args)
    counts = _counts(worker_num_warps, len(workers), "warp counts")
    for count in counts:
        if count & (count - 1):
            raise CompilationError(
                f"a partition of {count} warps", remedy="use a power of two for each of worker_num_warps"
            )
    if b.sizes[WARP] != b.options.num_warps or _around(b) is not None:
        raise CompilationError(
            "warp_specialize inside of a partition, a loop or a branch",
            remedy="call it once, at the top of the kernel, and loop inside of the partitions",
        )
    starts = _starts(b.options.num_warps, counts)
    attributes: dict[str, ir.Attribute] = {
        "partitionNumWarps": b.i32_array(counts),
        "warpGroupStartIds": b.i32_array(starts),
    }
    total = -(-(b.options.num_warps + sum(counts)) // _GROUP) * _GROUP
    if worker_num_regs is not None:
        given = _counts(worker_num_regs, len(workers), "register counts")
        attributes["actualRegisters"] = b.i32_array(_registers(b.options.num_warps, total, starts, given))
    result = _emitted(b, default, workers, counts, attributes)
    b.module.operation.attributes["ttg.total-num-warps"] = i32_attribute(total)
    return result


# --- arguments ------------------------------------------------------------------------------------------


def _parts(given: Any) -> list[Partition]:
    pairs = list(given) if isinstance(given, (tuple, list)) else []
    if not pairs or not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs):
        raise CompilationError(
            f"warp_specialize of {given!r}", remedy="pass a list of pairs (function, (arguments, ...))"
        )
    for function, args in pairs:
        if not isinstance(function, Kernel):
            raise CompilationError(
                f"a partition is {function!r}", remedy="decorate the function with @gluon.jit"
            )
        if not isinstance(args, (tuple, list)):
            raise CompilationError(
                f"the arguments of {function.__name__} are {args!r}", remedy="pass a tuple"
            )
    return [(function, tuple(args)) for function, args in pairs]


def _counts(given: Any, expected: int, what: str) -> list[int]:
    counts = list(given) if isinstance(given, (tuple, list)) else [given]
    if len(counts) != expected or not all(isinstance(n, int) and n > 0 for n in counts):
        raise CompilationError(
            f"warp_specialize has {expected} partitions beside the first, and {what} {counts}",
            remedy="give one positive constexpr int for each",
        )
    return counts


def _around(b: GluonBuilder) -> ir.Operation | None:
    """The operation, other than the kernel, that the builder emits into; None at the kernel's top."""
    owner = b.point.block.owner.operation
    return None if isa(owner, FuncOp) else owner


def _starts(first: int, counts: Sequence[int]) -> list[int]:
    """The first warp of each partition: the largest come first, so that each begins at a multiple of its size."""
    order = sorted(range(len(counts)), key=lambda i: -counts[i])
    places = itertools.accumulate((counts[i] for i in order), initial=first)
    found = dict(zip(order, places, strict=False))
    return [found[i] for i in range(len(counts))]


def _registers(warps: int, total: int, starts: Sequence[int], given: Sequence[int]) -> list[int]:
    """Registers of a thread, of the first function and of each partition; CompilationError where they do not add up.

    Partitions in one group of warps have the most that one of them asks for.
    """
    groups: dict[int, int] = {}
    for start, count in zip(starts, given, strict=True):
        if count % _STEP or not _LEAST <= count <= _MOST + 1:
            raise CompilationError(
                f"a partition has {count} registers for a thread",
                remedy=f"use multiples of {_STEP} between {_LEAST} and {_MOST + 1}",
            )
        groups[start // _GROUP] = max(count, groups.get(start // _GROUP, 0))
    if warps % _GROUP:
        raise CompilationError(
            f"worker_num_regs in a kernel of {warps} warps", remedy=f"use a multiple of {_GROUP}"
        )
    share = min(_REGISTERS // (32 * total), _MOST) // _STEP * _STEP
    used = sum(groups.get(g, share) for g in range(warps // _GROUP, total // _GROUP))
    left = min((share * (total // _GROUP) - used) // (warps // _GROUP) // _STEP * _STEP, 240)
    if left < _LEAST:
        raise CompilationError(
            f"the partitions take {used * _GROUP * 32} registers, which leaves the first function {max(left, 0)} for a thread",
            remedy="ask for fewer registers, or run fewer warps",
        )
    return [left, *(groups[start // _GROUP] for start in starts)]


# --- operations -----------------------------------------------------------------------------------------


def _emitted(
    b: GluonBuilder,
    default: Partition,
    workers: Sequence[Partition],
    counts: Sequence[int],
    attributes: dict[str, ir.Attribute],
) -> Any:
    """The operation with its regions; gives the first function's result, rebuilt of the operation's."""
    scratch = b.scratch()
    block, _ = b.block(scratch.regions[0])
    with b.at(block):
        result = b.expand(*default)
        values = flatten(result)
        b.create("ttg.warp_yield", operands=values)
    captures = list({id(v): v for _, args in workers for v in flatten(args)}.values())
    for value in captures:
        if isinstance(value.type, t.block_type):
            raise CompilationError(
                f"a partition's argument is a tensor, {value.type}",
                remedy="pass it through shared memory: other warps do not have the kernel's registers",
            )
    op = b.create("ttg.warp_specialize", [v.type for v in values], captures, attributes, regions=2)
    block.append_to(op.regions[0])
    holder, _ = b.block(op.regions[1])
    with b.at(holder):
        inner = b.create("ttg.warp_specialize_partitions", regions=1)
    types = [v.type for v in captures]
    for worker, count in zip(workers, counts, strict=True):
        own = ir.Block.create_at_start(b.scratch().regions[0], [v.handle.type for v in captures])
        own.append_to(inner.regions[0])
        given = {id(v): tensor(a, ty) for v, a, ty in zip(captures, own.arguments, types, strict=True)}
        _partition(b, own, worker, count, given)
    made = iter([tensor(r, v.type) for r, v in zip(op.results, values, strict=True)])
    return rebuild(result, made)


def _partition(
    b: GluonBuilder, block: ir.Block, worker: Partition, count: int, given: dict[int, tensor]
) -> None:
    function, args = worker
    inside = rebuild(args, iter([given[id(v)] for v in flatten(args)]))
    with b.at(block), _warps(b, count):
        b.expand(function, inside)
        b.create("ttg.warp_return")


@contextmanager
def _warps(b: GluonBuilder, count: int) -> Iterator[None]:
    """Layouts are those of ``count`` warps inside of the ``with``."""
    before, b.sizes = b.sizes, {**b.sizes, WARP: count}
    try:
        yield
    finally:
        b.sizes = before
