"""Axis information: how regular an integer or pointer tensor is along each of its dimensions.

For every dimension of a value:

* ``contiguity``: the tensor falls into aligned runs of this many elements that go up by one element;
* ``divisibility``: a power of two that divides the first element of every such run (bytes for pointers);
* ``constancy``: the tensor falls into aligned runs of this many equal elements.

All three are powers of two, and 1 (nothing known) is always true.  Example: ``16 + arange(0, 64)`` has
contiguity 64, divisibility 16, constancy 1; ``arange(0, 64) // 8`` has constancy 8.  A scalar has one
dimension of size 1.

This decides which dimension lanes follow, how wide loads and stores are, and when a mask may be tested
once per vector.  Rules are in :mod:`.axis_rules`; this module runs them over a function, loops to a
fixpoint from the optimistic side (values only ever get less regular).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tri_core.errors import VerificationError
from tri_core.ir.regions import Edge, For, ForwardWalk, is_loop
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.axis_rules import SHARED, AxisRule, AxisRules
from tri_gpu_dialect.analysis.axis_value import AxisInfo
from tri_gpu_dialect.types import pointee_bytes, shape_of

__all__ = ["AxisInfo", "AxisInfos", "axis_info"]

#: attributes with which a program states what the analysis cannot see, and the field each sets
HINTS = {
    "tt.contiguity": "contiguity",
    "tt.divisibility": "divisibility",
    "tt.constancy": "constancy",
}


@dataclass
class AxisInfos:
    """The axis information of the values of one function, by the ``rules`` of a target."""

    known: dict[ir.Value, AxisInfo]
    rules: AxisRules = SHARED

    def of(self, value: ir.Value) -> AxisInfo:
        """Axis information of ``value``; the default, no knowledge, for a value the analysis has not seen."""
        found = self.known.get(value)
        return found if found is not None else AxisInfo.unknown(max(len(shape_of(value.type)), 1))

    def learn(self, op: ir.Operation) -> None:
        """Add what is known of the results of ``op``, which was made after the analysis."""
        _Analysis(self.known, self.rules.by_name).op(op)

    def contiguous(self, pointers: ir.Value, dim: int) -> int:
        """Elements along ``dim`` that are adjacent in memory and start at a multiple of their total size."""
        info = self.of(pointers)
        aligned = max(info.divisibility[dim] // pointee_bytes(pointers.type), 1)
        return min(aligned, info.contiguity[dim])

    def alignment(self, pointers: ir.Value, dim: int) -> int:
        """Bytes that divide the address of every run of contiguous elements along ``dim``."""
        return self.of(pointers).divisibility[dim]

    def constant_run(self, mask: ir.Value, dim: int) -> int:
        """Elements along ``dim`` for which a mask is surely the same, in aligned runs."""
        return self.of(mask).constancy[dim]


def axis_info(function: ir.Operation, rules: AxisRules = SHARED) -> AxisInfos:
    """Analyse a ``tt.func`` (or any op with regions) by the ``rules`` of a target."""
    analysis = _Analysis({}, rules.by_name)
    analysis.arguments(function)
    for region in function.regions:
        for block in region.blocks:
            analysis.block(block)
    return AxisInfos(analysis.known, rules)


@dataclass
class _Analysis(ForwardWalk):
    known: dict[ir.Value, AxisInfo]
    rules: Mapping[str, AxisRule]

    def arguments(self, function: ir.Operation) -> None:
        """Parameters know only what their attributes say."""
        attributes = function.attributes
        given = list(ir.ArrayAttr(attributes["arg_attrs"])) if "arg_attrs" in attributes else []
        for region in function.regions:
            for block in region.blocks:
                for i, argument in enumerate(block.arguments):
                    info = AxisInfo.unknown(max(len(shape_of(argument.type)), 1))
                    hints = ir.DictAttr(given[i]) if i < len(given) else None
                    self.known[argument] = info if hints is None else _hinted(info, hints, argument.location)

    def op(self, op: ir.Operation) -> None:
        """Apply the rule of one op; an op with regions but no rule of its own makes its insides unknown."""
        results = op.results
        for region in op.regions:
            for block in region.blocks:
                self.block(block)
        if not len(results):
            return
        rule = self.rules.get(op.name)
        made = None
        if rule is not None:
            made = rule(op, [self.of(v) for v in op.operands])
        attributes = op.attributes
        hinted = len(attributes) and any(h in attributes for h in HINTS)
        for result in results:
            info = made if made is not None else AxisInfo.unknown(max(len(shape_of(result.type)), 1))
            self.known[result] = _hinted(info, attributes, op.location) if hinted else info

    def of(self, value: ir.Value) -> AxisInfo:
        found = self.known.get(value)
        return found if found is not None else AxisInfo.unknown(max(len(shape_of(value.type)), 1))

    # --- control flow -----------------------------------------------------------------------------------

    def join(self, targets: Sequence[ir.Value], values: Sequence[ir.Value], *, loop: bool) -> bool:
        """See :class:`ForwardWalk`.  In a loop, a least element that sinks is taken to sink for ever: else there might be no fixpoint."""
        changed = False
        for target, value in zip(targets, values, strict=True):
            info, old = self.of(value), self.known.get(target)
            new = info if old is None else old.join(info)
            if loop and old is not None and new.low != old.low:
                new = new.sunk()
            if new != old:
                self.known[target], changed = new, True
        return changed

    def enter(self, targets: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
        """Join ``values`` into the block arguments ``targets``: loop-carried values start anew each time
        control enters.
        """
        self.known.update(zip(targets, [self.of(v) for v in values], strict=True))

    def begin(self, op: ir.Operation, edges: Sequence[Edge]) -> None:
        """See :class:`ForwardWalk`.  An induction variable is a multiple of what divides the first value and the step."""
        super().begin(op, edges)
        loop = For.of(op)
        if loop is not None:
            divisor = math.gcd(*(self.of(v).divisibility[0] for v in (loop.lower, loop.step)))
            self.known[loop.variable] = AxisInfo((1,), (divisor,), (1,))
        elif not is_loop(op):
            for result in op.results:
                self.known.pop(result, None)


def _hinted(info: AxisInfo, attributes: ir.DictAttr | ir.OpAttributeMap, place: ir.Location) -> AxisInfo:
    """``info`` with the fields that hints state: an integer, or one per dimension; VerificationError at ``place`` for anything else."""
    for name, field in HINTS.items():
        if name in attributes:
            values = _integers(attributes[name], f"the hint {name}", place)
            if len(values) == 1:
                values *= len(info.contiguity)
            if len(values) == len(info.contiguity):
                info = info.stated(field, tuple(values))
    return info


def _integers(attr: ir.Attribute, what: str, place: ir.Location) -> list[int]:
    attr = attr.maybe_downcast()
    if isinstance(attr, ir.IntegerAttr):
        return [attr.value]
    try:
        return [int(v) for v in attr]  # dense integers of any kind
    except (TypeError, ValueError) as error:
        raise VerificationError(
            f"{what} is {attr}; integers are expected",
            location=source_location(place),
            remedy="give one integer, or one for each dimension",
        ) from error
