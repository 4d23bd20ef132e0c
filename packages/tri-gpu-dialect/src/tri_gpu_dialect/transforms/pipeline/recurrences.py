"""Loads of recurrences: loops that carry a matrix and take rows and numbers of each step, but no dot.

    for t: q, g = load(rows(t)), load(numbers(t)); state = state * g + ...; store(out(t), sum(state * q))

A step is short, and takes what its loads take to arrive unless these come ahead.  Rows are copied to rings as operands of dots are, by the
strategy for loads, where it suits them; numbers, and what it does not suit, wait in registers.

A loop within a block of time is left as it is where its rows are few registers of a thread, used as they are loaded: programs are then many,
whose warps hide each other's loads, and a step has fewer instructions than copies, their wait, their barrier and reads of what they brought take.
"""

from __future__ import annotations

from tri_core.api import Target
from tri_core.dialects.tt import PointerType
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.access import global_load
from tri_core.ir.dots import is_dot
from tri_core.ir.regions import For
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.integer_range import IntegerRange
from tri_gpu_dialect.analysis.pipelined_loads import pipelined_loads
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.analysis.ranges import Ranges
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import all_ops, block_ops
from tri_gpu_dialect.transforms.pipeline.copy_buffers import stays_in_block
from tri_gpu_dialect.transforms.pipeline.loaded_loop import LoadedLoop, thread_registers
from tri_gpu_dialect.types import tensor_info

__all__ = ["hold_numbers_ahead", "is_recurrence", "is_row_of_recurrence"]


def is_recurrence(loop: ir.Operation) -> bool:
    """True if ``loop``, a counted one without loops inside, carries a tensor of two dimensions or more, has no dots, and
    waits for its rows."""
    carried = max((_dimensions(value) for value in loop.results), default=0)
    return carried > 1 and not any(is_dot(op) for op in all_ops(loop)) and not _is_hidden(loop)


def _is_hidden(loop: ir.Operation) -> bool:
    """True if other warps hide the latency of ``loop``, a short one of many programs: it is known to be short, and its
    rows take few registers."""
    rows = [op for op in block_ops(For(loop).body) if is_row_of_recurrence(op)]
    if any(map(_is_converted, rows)) or sum(map(_registers, rows)) > _FEW:
        return False
    most = _most_trips(For(loop))
    return most is not None and most <= _SHORT


def _is_converted(row: ir.Operation) -> bool:
    return any(isa(use.owner.operation, ConvertLayoutOp) for use in row.results[0].uses)


def _most_trips(loop: For) -> int | None:
    """The most iterations of ``loop``; None where no number below those of its variable's type is known."""
    ranges = Ranges()
    low, high, step = map(ranges.of, loop.bounds)
    if high.high == IntegerRange.top(high.width).high:
        return None
    return -(-(high.high - low.low) // max(step.low, 1))


def is_row_of_recurrence(load: ir.Operation) -> bool:
    """True if ``load`` gives a one-dimensional tensor, or a scalar, in registers of the block that reads it."""
    if global_load(load) is None or reads_again(load):
        return False
    info = tensor_info(load.results[0].type)
    return info is None or (info.rank == 1 and stays_in_block(load))


def hold_numbers_ahead(
    loop: ir.Operation, stages: int, copied: set[ir.Operation], target: Target | None, warps: int
) -> bool:
    """Have the rows and numbers that ``loop``, a recurrence, loads, but those that are ``copied``, wait in registers; whether it was replaced.

    They come ``stages - 1`` iterations ahead, or fewer, as far as there are registers: the largest are left out first.
    """
    rows = [op for op in block_ops(For(loop).body) if is_row_of_recurrence(op) and op not in copied]
    have = thread_registers(target, warps)
    if have is None:
        return False
    # as much as is carried is computed of it
    free = have - 2 * sum(map(_carried_registers, loop.results)) - _BESIDE
    while rows and sum(map(_registers, rows)) * (stages - 1) > free:
        rows.remove(max(rows, key=_registers))
    plan = pipelined_loads(loop, set(rows).__contains__, whatever_they_feed=True) if rows else None
    if plan is None:
        return False
    LoadedLoop(loop, plan, {}, stages, peels=False, is_last=False).run()
    return True


#: registers of a thread for the rows of a step that is computed of few elements: by ``chunk_gla_bwd_kernel_intra`` and two of ``chunk_gsa``
#: on an H200, which have 5 and 10 and were 13 to 29 % slower with copies; 12 and more with a conversion were a fifth faster
_FEW = 10
#: iterations of a loop within a block of time: programs are as many as there are blocks
_SHORT = 64
#: registers of a thread for addresses, masks and what machine code has under way
_BESIDE = 48


def _registers(load: ir.Operation) -> int:
    """Registers of a thread that what ``load`` gives takes while it waits: one of a number."""
    return max(registers_of(load.results[0]), 1)


def _carried_registers(value: ir.Value) -> int:
    """Registers of a thread for ``value``; 0 for pointers, which are a number and what is known of their layout."""
    info = tensor_info(value.type)
    return 0 if info is None or isinstance(info.element_type, PointerType) else registers_of(value)


def _dimensions(value: ir.Value) -> int:
    info = tensor_info(value.type)
    return 0 if info is None else sum(size > 1 for size in info.shape)
