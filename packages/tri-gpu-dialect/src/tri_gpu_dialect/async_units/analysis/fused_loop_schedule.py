"""Overlap of one loop's last late stage with the next loop's first early stage: a single loop split in two.

Causal attention goes over keys without a mask, then with one: the bodies differ in their early stages, while the late ones, the second
dot, are the same op by op.  What the first loop hands to its late stage then fits that of the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tri_core.ir.traits import is_rematerializable, is_view
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.async_units.analysis.dot_stages import DotStages
from tri_gpu_dialect.edit import block_ops, terminator

__all__ = ["between", "forwarded_alike"]


def between(first: ir.Operation, second: ir.Operation) -> list[ir.Operation] | None:
    """The ops between two loops that may as well be before both; None where the second does not just go on where the first ends.

    It does if it begins with all that the first one ends with, which nobody else uses.
    """
    if first.block != second.block or list(second.operands)[3:] != list(first.results):
        return None
    if any(use.owner.operation != second for result in first.results for use in result.uses):
        return None
    ops = block_ops(first.block)
    found = ops[ops.index(first) + 1 : ops.index(second)]
    moves = all((is_rematerializable(op) or is_view(op)) and not len(op.regions) for op in found)
    return found if moves else None


def forwarded_alike(one: DotStages, other: DotStages) -> dict[ir.Value, ir.Value] | None:
    """For each value that ``other`` hands to its late stage the one that ``one`` hands; None: stages differ."""
    if one.late_args != other.late_args or len(one.late) != len(other.late):
        return None
    if [v.type for v in one.loop.operands] != [v.type for v in other.loop.operands]:
        return None
    found = _Likeness(one, other)
    if not found.ops() or not found.ends():
        return None
    handed = {found.known.get(value): value for value in one.forwarded}
    if len(one.forwarded) != len(other.forwarded) or set(handed) != set(other.forwarded):
        return None
    return {value: handed[value] for value in other.forwarded}


@dataclass
class _Likeness:
    """``known``: which value of the other loop a value of the one corresponds to."""

    one: DotStages
    other: DotStages
    known: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        left, right = (list(each.loop.regions[0].blocks[0].arguments)[1:] for each in (self.one, self.other))
        self.known.update((left[k], right[k]) for k in self.one.late_args)

    def ops(self) -> bool:
        """True if the late ops of both match pairwise, in order."""
        pairs = zip(sorted(self.one.late), sorted(self.other.late), strict=True)
        return all(self.op(self.one.ops[i], self.other.ops[j]) for i, j in pairs)

    def ends(self) -> bool:
        """True if the late iter_args of both get matching values."""
        left, right = (terminator(each.loop.regions[0].blocks[0]).operands for each in (self.one, self.other))
        return self.values([left[k] for k in self.one.late_args], [right[k] for k in self.one.late_args])

    def op(self, left: ir.Operation, right: ir.Operation) -> bool:
        """True if both ops are the same computation on corresponding values; their results then correspond."""
        if left.name != right.name or len(left.regions) or len(right.regions):
            return False
        if _attributes(left) != _attributes(right) or [r.type for r in left.results] != [
            r.type for r in right.results
        ]:
            return False
        if not self.values(list(left.operands), list(right.operands)):
            return False
        self.known.update(zip(left.results, right.results, strict=True))
        return True

    def values(self, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> bool:
        """True if the values correspond pairwise; forwarded values do at first sight."""
        return len(left) == len(right) and all(map(self.value, left, right))

    def value(self, left: ir.Value, right: ir.Value) -> bool:
        """True if the two values correspond."""
        if left in self.known:
            return bool(self.known[left] == right)
        if left in self.one.forwarded:
            if right not in self.other.forwarded or left.type != right.type or right in self.known.values():
                return False
            self.known[left] = right
            return True
        return bool(left == right)


def _attributes(op: ir.Operation) -> dict[str, str]:
    return {name: str(op.attributes[name]) for name in op.attributes}
