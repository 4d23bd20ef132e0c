"""Alias sets of memory descriptors: the buffers of shared memory that each may refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tri_core.ir.effects import ALLOCATE_SHARED, Effects
from tri_core.ir.regions import ForwardWalk
from tri_core.ir.traits import is_view
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["Aliases", "aliases", "allocates_shared"]

Buffers = frozenset[int]

#: types of values that are nobody's memory
_VALUES = (ir.RankedTensorType, ir.IntegerType, ir.FloatType)


@dataclass
class Aliases:
    """``allocations``: the buffers in program order; ``of``: which of them (by index) a value may be."""

    allocations: list[ir.Operation] = field(default_factory=list)
    of: dict[ir.Value, Buffers] = field(default_factory=dict)


def allocates_shared(op: ir.Operation) -> bool:
    """True if result 0 of ``op`` is a newly allocated buffer of shared memory."""
    declared = Effects.declared_by(op.name)
    return declared is not None and ALLOCATE_SHARED in declared


def aliases(function: ir.Operation) -> Aliases:
    """Find the allocations of ``function`` and follow them through views, loops and branches."""
    found = Aliases()
    analysis = _Analysis(found)
    for block in function.regions[0].blocks:
        analysis.block(block)
    return found


@dataclass
class _Analysis(ForwardWalk):
    found: Aliases
    seen: set[ir.Value] = field(default_factory=set)

    def op(self, op: ir.Operation) -> None:
        """Propagate alias sets to the results of ``op``."""
        of = self.found.of
        if allocates_shared(op):
            self.allocation(op)
        elif is_view(op):
            self.join(op.results, op.operands[:1])
        elif len(op.results) and len(op.operands) and any(v in of for v in op.operands):
            # an op that nobody described: its results may be any of its operands, but for numbers and tensors in registers
            for result in (r for r in op.results if not isinstance(r.type, _VALUES)):
                for operand in op.operands:
                    self.join([result], [operand])

    def allocation(self, op: ir.Operation) -> None:
        result = op.results[0]
        if result not in self.seen:
            self.seen.add(result)
            self.found.of[result] = frozenset({len(self.found.allocations)})
            self.found.allocations.append(op)

    def join(self, targets: Sequence[ir.Value], values: Sequence[ir.Value], *, loop: bool = False) -> bool:
        """Let ``targets`` also be what ``values`` are; whether that is news."""
        changed = False
        for target, value in zip(targets, values, strict=True):
            if (more := self.found.of.get(value)) is not None:
                old = self.found.of.get(target, frozenset())
                if not more <= old:
                    self.found.of[target], changed = old | more, True
        return changed
