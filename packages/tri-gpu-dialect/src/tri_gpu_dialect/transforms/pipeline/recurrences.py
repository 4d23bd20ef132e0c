"""Loads of recurrences: loops that carry a matrix and take rows and numbers of each step, but no dot.

    for t: q, g = load(rows(t)), load(numbers(t)); state = state * g + ...; store(out(t), sum(state * q))

A step is short, and takes what its loads take to arrive unless these come ahead.  Rows are copied to rings as operands of dots are, by the
strategy for loads, where it suits them; numbers, and what it does not suit, wait in registers.
"""

from __future__ import annotations

from tri_core.api import Target
from tri_core.dialects.tt import PointerType
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.access import global_load
from tri_core.ir.dots import is_dot
from tri_core.ir.regions import For
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipelined_loads import pipelined_loads
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.edit import all_ops, block_ops
from tri_gpu_dialect.transforms.pipeline.copy_buffers import stays_in_block
from tri_gpu_dialect.transforms.pipeline.loaded_loop import LoadedLoop, thread_registers
from tri_gpu_dialect.types import tensor_info

__all__ = ["hold_numbers_ahead", "is_recurrence", "is_row_of_recurrence"]


def is_recurrence(loop: ir.Operation) -> bool:
    """Whether ``loop``, a counted one without loops inside, carries a tensor of two dimensions or more, and has no dots."""
    carried = max((_dimensions(value) for value in loop.results), default=0)
    return carried > 1 and not any(is_dot(op) for op in all_ops(loop))


def is_row_of_recurrence(load: ir.Operation) -> bool:
    """Whether ``load`` gives a row of elements, or a number, in registers of the block that reads it."""
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
