"""Alias analysis: overlap of two accesses at different points of a loop nest.

Most loops that load and store can be fused only when different pointer arguments don't overlap.  A plan that takes
them for disjoint says so (:class:`Aliasing`, ``assumed``), so that a launch can look whether it is true; another plan of
the same kernel (``ordered``) takes nothing for granted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple

from tri_core.ir.regions import If
from tri_core.ir.traits import derives_pointer
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith
from tri_core.ttir import Op, Value, as_for
from tri_core.ttir.loops import ForLoop

__all__ = ["Aliasing", "Assumption", "root_pointer"]


def root_pointer(pointer: Value) -> Value | None:
    """The kernel argument that ``pointer`` is derived from, or None when that is not known or there are several."""
    found: set[Value | None] = set()
    seen: set[Value] = set()
    waiting = [pointer]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        sources = _sources(value)
        if sources is None:
            found.add(None)
        elif sources:
            waiting.extend(sources)
        else:
            found.add(value)
    return found.pop() if len(found) == 1 else None


def _sources(pointer: Value) -> list[Value] | None:
    """Pointers that ``pointer`` may be derived from, one step back: none for a kernel's argument, None if not
    known.
    """
    op = pointer.op
    if op is None:
        if pointer.block is None:
            return None
        if pointer.block.parent is None:
            return []
        loop = as_for(pointer.block.parent)
        return _carried(loop, pointer.index - 1) if loop is not None and pointer.index else None
    if derives_pointer(op.name):
        return [op.source]
    if isa(op, arith.SelectOp):
        _, *chosen = op.operands
        return chosen
    if (loop := as_for(op)) is not None:
        return _carried(loop, pointer.index)
    if isa(op, If):
        return [block.terminator.operands[pointer.index] for block in op.blocks if block.ops]
    return None


def _carried(loop: ForLoop, index: int) -> list[Value]:
    """Initial and next value of iter_arg ``index`` of ``loop``."""
    return [loop.inits[index], loop.yielded[index]]


class Assumption(NamedTuple):
    """A plan is right if the arguments of parameters ``first`` and ``second`` don't overlap.

    ``in_place``: also if they are one address, since every access through one is at the point of that through the other.
    """

    first: int
    second: int
    in_place: bool


@dataclass
class Aliasing:
    """Aliasing assumptions of one plan.

    ``ordered``: different arguments may overlap; else what is taken for granted is noted in ``assumed``, by parameters.
    """

    ordered: bool = False
    assumed: dict[tuple[int, int], Assumption] = field(default_factory=dict)

    def conflict(self, first: Value | None, second: Value | None) -> bool:
        """True if accesses through two pointers may overlap at different points of a nest."""
        if first is None or second is None:
            return True
        if first is second:
            return not _is_injective(first)
        one, other = root_pointer(first), root_pointer(second)
        if one is None or other is None or one is other:
            return True
        in_place = _same_offsets(first, second, {}) and _is_injective(first)
        self._assume(one.index, other.index, in_place)
        return self.ordered

    def _assume(self, first: int, second: int, in_place: bool) -> None:
        key = (min(first, second), max(first, second))
        known = self.assumed.get(key)
        self.assumed[key] = Assumption(*key, in_place and (known is None or known.in_place))

    def assumptions(self) -> list[Assumption]:
        """Assumptions made, in the order of parameters."""
        return sorted(self.assumed.values())


def _same_offsets(first: Value, second: Value, known: dict[tuple[Value, Value], bool]) -> bool:
    """True if the pointers ``first`` and ``second``, of different arguments, are equal whenever those
    arguments are.
    """
    if first.shape != second.shape or first.dtype.element.nbytes != second.dtype.element.nbytes:
        return False
    if first.op is None and second.op is None:
        return all(v.block is not None and v.block.parent is None for v in (first, second))
    if first.op is None or second.op is None:
        return False
    key = (first, second)
    if key not in known:
        known[key] = _same_op(first.op, second.op, known)
    return known[key]


def _same_op(first: Op, second: Op, known: dict[tuple[Value, Value], bool]) -> bool:
    """True if two ops do the same to their pointers, and have all other operands in common."""
    if (
        not first.has_kind_of(second)
        or not derives_pointer(first.name)
        or first.attributes != second.attributes
    ):
        return False
    if first.operands[1:] != second.operands[1:]:
        return False
    return _same_offsets(first.source, second.source, known)


def _is_injective(pointer: Value) -> bool:
    """True if different points have different addresses, unless a stride is smaller than the extent it steps
    over.
    """
    found = _varies_along(pointer)
    return found is not None and all(d in found for d, n in enumerate(pointer.shape) if n > 1)


def _varies_along(value: Value) -> frozenset[int] | None:
    """The dimensions along which each step moves an index or pointer; None where it may come back to the same."""
    if not value.is_tensor:
        return frozenset()
    op = value.op
    if op is None:
        loop = (
            as_for(value.block.parent) if value.block is not None and value.block.parent is not None else None
        )
        return _varies_along(loop.inits[value.index - 1]) if loop is not None and value.index else None
    if (loop := as_for(op)) is not None:
        return _varies_along(loop.inits[value.index])
    if isa(op, arith.ConstantOp):
        return None if isinstance(op.attributes["value"], list) else frozenset()
    rule = _MOVES.get(op.name)
    found = [] if rule is None else [_varies_along(v) for v in op.operands]
    if rule is None or any(f is None for f in found):
        return None
    return rule(op, frozenset().union(*(f for f in found if f is not None)))


def _kept(op: Op, along: frozenset[int]) -> frozenset[int]:
    return along


def _expanded(op: Op, along: frozenset[int]) -> frozenset[int]:
    axis = op.attributes["axis"]
    return frozenset(d + (d >= axis) for d in along)


def _transposed(op: Op, along: frozenset[int]) -> frozenset[int]:
    return frozenset(i for i, d in enumerate(op.attributes["order"]) if d in along)


#: what ops make of the dimensions that their operands vary along
_MOVES: dict[str, Callable[[Op, frozenset[int]], frozenset[int]]] = {
    "tt.make_range": lambda op, along: frozenset({0}),
    "tt.expand_dims": _expanded,
    "tt.trans": _transposed,
    "tt.splat": _kept,
    "tt.broadcast": _kept,
    "tt.addptr": _kept,
    "tt.int_to_ptr": _kept,
    "tt.ptr_to_int": _kept,
    "tt.bitcast": _kept,
    "arith.addi": _kept,
    "arith.subi": _kept,
    "arith.muli": _kept,
    "arith.extsi": _kept,
    "arith.extui": _kept,
    "arith.trunci": _kept,
}
