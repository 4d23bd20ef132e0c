"""Common subexpressions, those that loops carry among them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from typing import ClassVar

from tri_core.ir.regions import loops_in
from tri_core.ir.traits import is_pure
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, run_passes
from tri_core.passes import loops
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["LoopAwareCSE"]


@dataclass(frozen=True)
class LoopAwareCSE(Pass):
    """As ``cse``; two values that a loop carries and that are always the same become one.

    They start the same, and each iteration makes the same of them: what cannot be shown one by one is assumed
    for all at once, and given up where an iteration tells them apart.
    """

    name: ClassVar[str] = "loop-aware-cse"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        run_passes(module, "cse")
        merged = [_merge(loop) for loop in reversed(loops_in(module.operation))]
        if any(merged):
            run_passes(module, "canonicalize,cse")


def _repeats(op: ir.Operation) -> bool:
    """True if ``op`` is deterministic in its operands and attributes."""
    return is_pure(op) and not len(op.regions)


def _merge(loop: ir.Operation) -> bool:
    """Use one of each class of equal carried values; whether there was any."""
    classes = _classes(loop)
    arguments = list(loops.body(loop).arguments)[1:]
    first: dict[int, int] = {}
    changed = False
    for i, group in enumerate(classes):
        kept = first.setdefault(group, i)
        if kept != i:
            arguments[i].replace_all_uses_with(arguments[kept])
            loop.results[i].replace_all_uses_with(loop.results[kept])
            changed = True
    return changed


def _classes(loop: ir.Operation) -> list[int]:
    """For each carried value the number of its class; the same number: always equal."""
    classes = _numbered([(value, value.type) for value in loops.carried(loop)])
    end = loops.yielded(loop)
    while len(set(classes)) < len(classes):
        keys = _Keys(dict(zip(list(loops.body(loop).arguments)[1:], classes, strict=True)))
        refined = _numbered([(c, keys.of(v)) for c, v in zip(classes, end.operands, strict=True)])
        if len(set(refined)) == len(set(classes)):
            return refined
        classes = refined
    return classes


def _numbered(keys: list[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


@dataclass
class _Keys:
    """Equal keys for values that are equal if carried values of one class are."""

    classes: dict[ir.Value, int]
    known: dict[ir.Value, int] = field(default_factory=dict)
    numbers: dict[Hashable, int] = field(default_factory=dict)

    def of(self, value: ir.Value) -> int:
        """The key of ``value``; chains of ops may be long, so this keeps its own stack."""
        stack = [value]
        while stack:
            top = stack[-1]
            missing = [v for v in self.operands(top) if v not in self.known]
            if missing and top not in self.known:
                stack += missing
                continue
            stack.pop()
            if top not in self.known:
                self.known[top] = self.numbers.setdefault(self.key(top), len(self.numbers))
        return self.known[value]

    def operands(self, value: ir.Value) -> list[ir.Value]:
        owner = value.owner
        return (
            []
            if isinstance(owner, ir.Block) or not _repeats(owner.operation)
            else list(owner.operation.operands)
        )

    def key(self, value: ir.Value) -> Hashable:
        if value in self.classes:
            return ("carried", self.classes[value])
        owner = value.owner
        if isinstance(owner, ir.Block) or not _repeats(owner.operation):
            return value
        op = owner.operation
        attributes = tuple((name, op.attributes[name]) for name in op.attributes)
        return (op.name, value.type, attributes, tuple(self.known[v] for v in op.operands))
