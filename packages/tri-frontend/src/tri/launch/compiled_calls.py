"""``run`` of a compiled kernel by compiled code: launches like ones that a plan has done go from Python's call to the driver's.

The callable has the arguments of :meth:`tri_core.compiler.CompiledKernel.launch_over`.  Its table is :mod:`tri_runtime.native`'s, as that of ``kernel[grid]``;
what a record asks of arguments is what :class:`tri.launch.compiled_plans.CompiledLaunchPlan` asks: nothing that the kernel was not compiled for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri.launch.compiled_plans import GENERATION, KEY, CompiledLaunchPlan
from tri.launch.fast_launch import Slot, Unfit, any_number, array_like, exchange_for
from tri_core import forks, knobs

if TYPE_CHECKING:
    from tri.launch.compiled_plans import Read
    from tri_core.compiler import CompiledKernel
    from tri_runtime.native import Item, Pattern

__all__ = ["CompiledCalls"]

#: descriptions that fail before no more are tried, and calls that are known of one kernel
_FAILURES, _CALLS = 8, 64


class CompiledCalls:
    """Launches of ``kernel``; those that no record describes go its own way, and one that goes by a plan is described."""

    def __init__(self, kernel: CompiledKernel) -> None:
        from tri_runtime.native import FastLaunches, LaunchEntry

        self._kernel = kernel
        self._lock = forks.Lock()
        self._known: set[Any] = set()
        self._failures = 0
        self._generation: object = None
        self._table = FastLaunches(self._learn, LaunchEntry.COMPILED)
        #: what a launch calls
        self.call: Callable[..., None] = self._table.call

    def __len__(self) -> int:
        return len(self._table)

    def _learn(self, *given: Any, **others: Any) -> None:
        """Launch in Python; have compiled code do the like of it from then on where a plan does it."""
        kernel = self._kernel
        kernel.launch_over(*given, **others)
        stream, args = given[3], given[9:]
        plan = kernel.state.launches.get(tuple(map(type, args)))
        if self._failures < _FAILURES and isinstance(plan, CompiledLaunchPlan) and plan.is_current():
            self._add(plan, args, stream or None)

    def _add(self, plan: CompiledLaunchPlan, args: tuple[Any, ...], stream: Any) -> None:
        from tri_runtime.native import Call

        pattern = _described(plan, args, stream)
        with self._lock:
            if plan.generation is not self._generation:
                self._table.clear()
                self._known.clear()
                self._generation = plan.generation
            how = plan.loaded.plan
            key = None if pattern is None else (pattern.items, pattern.numbers, plan.epoch)
            if pattern is None or how is None or key in self._known or len(self._known) >= _CALLS:
                self._failures += 1
                return
            self._known.add(key)
            self._table.add(Call(how, pattern))


def _described(plan: CompiledLaunchPlan, args: tuple[Any, ...], stream: Any) -> Pattern | None:
    """Pattern of launches like the one by ``plan`` with ``args``; None if compiled code cannot recognise
    them.
    """
    from tri_runtime.native import Call, Pattern, table_of

    how = plan.loaded.plan
    if how is None or not Call.possible(how) or (plan.overlap is not None and how.apart is None):
        return None
    offsets, types = table_of(how).offsets, [p.type for p in how.parameters]
    slots = map(Slot, offsets[: len(plan.reads)], types)
    try:
        items, values = _items(plan, args, list(slots))
        array = next(args[read.argument] for read in plan.reads if read.is_array)
        exchange = exchange_for(array)
        device = exchange.look(array).device
        on = exchange.stream(device) if stream is None else _handle(stream)
    except Unfit:
        return None
    numbers = how.numbers(on)
    if numbers is None:
        return None
    names = [""] * len(items)
    return Pattern(tuple(items), names, 0, _conditions(plan), values, numbers, exchange, device, None, {})


def _handle(stream: Any) -> int:
    if type(stream) is not int:
        raise Unfit
    return stream


def _items(
    plan: CompiledLaunchPlan, args: tuple[Any, ...], slots: list[Slot]
) -> tuple[list[Item], list[Any]]:
    """Requirement on each argument, and the values of those that are parameters."""
    from tri_runtime.native import AnyItem

    items: list[Item] = [AnyItem() for _ in args]
    values = []
    for read, slot in zip(plan.reads, slots, strict=True):
        given = args[read.argument]
        items[read.argument] = _item(read, slot, given)
        values.append(read.reader(given)[0])
    return items, values


def _item(read: Read, slot: Slot, given: Any) -> Item:
    if not read.is_array:
        return any_number(slot, given)
    if read.is_small:
        raise Unfit  # how much memory an array is part of is nothing that compiled code looks at
    return array_like(slot.offset, given, read.mask)


def _conditions(plan: CompiledLaunchPlan) -> list[Any]:
    from tri_runtime.native import Entry, Variable

    return [
        Variable(knobs.overrides, None),
        Entry(knobs.EPOCH, knobs.ASSIGNED, plan.epoch),
        Entry(GENERATION, KEY, plan.generation),
    ]
