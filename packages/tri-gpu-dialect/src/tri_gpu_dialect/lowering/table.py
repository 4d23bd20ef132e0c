"""The lowering table: which rule lowers which op.

The generic rules stand at benefit 1; a backend adds its own through the ``tri_lowering`` hook, with a
larger benefit and, if they hold only for some ops, a condition.  The rule with the largest benefit whose
condition holds lowers the op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from tri_core.errors import PluginError
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.axis_rules import SHARED, AxisRules
from tri_gpu_dialect.lowering.context import Lowered, Lowering
from tri_gpu_dialect.plans.scratch import SHARED as SHARED_SCRATCH_MEASURES
from tri_gpu_dialect.plans.scratch import ScratchMeasures

__all__ = ["Condition", "LoweringTable", "Rule", "RuleEntry"]

#: rule(lowering, op) emits code and returns what each result became, in order (None: no results)
Rule = Callable[[Lowering, ir.Operation], Sequence[Lowered] | None]

#: when(lowering, op): whether the rule can lower this very op; emits nothing
Condition = Callable[[Lowering, ir.Operation], bool]


@dataclass(frozen=True)
class RuleEntry:
    """A rule with its standing; ``owner`` names who added it, for messages and cache keys."""

    op_name: str
    rule: Rule
    benefit: int
    when: Condition | None
    owner: str

    @property
    def text(self) -> str:
        """The entry as a line of the table's text."""
        condition = f" when {self.when.__module__}.{self.when.__qualname__}" if self.when else ""
        return f"{self.op_name} {self.benefit} {self.owner}{condition}"


@dataclass
class LoweringTable:
    """Rules by op name, best first.

    ``axis_rules``: what is known of addresses, ``scratch_measures``: the shared memory that ops take, both as the target's policy says.
    """

    rules: dict[str, list[RuleEntry]] = field(default_factory=dict)
    axis_rules: AxisRules = SHARED
    scratch_measures: ScratchMeasures = SHARED_SCRATCH_MEASURES

    def add(
        self,
        op_name: str,
        rule: Rule,
        benefit: int = 10,
        when: Condition | None = None,
        owner: str | None = None,
    ) -> None:
        """Add ``rule`` for ``op_name``.

        ``owner`` is the rule's module and name by default.  PluginError when another rule stands at the
        same benefit: the order of plugins must not decide what code is made.
        """
        name = owner or f"{rule.__module__}.{rule.__qualname__}"
        entry = RuleEntry(op_name, rule, benefit, when, name)
        entries = self.rules.setdefault(op_name, [])
        for other in entries:
            if other.benefit == benefit:
                raise PluginError(
                    f"two lowering rules for {op_name} at benefit {benefit}: {other.owner} and {name}",
                    remedy="give one of them another benefit",
                    plugin=name,
                )
        entries.append(entry)
        entries.sort(key=lambda e: -e.benefit)

    def update(self, rules: dict[str, Rule], benefit: int = 10) -> None:
        """Add a whole dictionary of rules by op name."""
        for op_name, rule in rules.items():
            self.add(op_name, rule, benefit)

    def find(self, lowering: Lowering, op: ir.Operation) -> RuleEntry | None:
        """The best rule whose condition holds for ``op``, or None."""
        for entry in self.rules.get(op.name, ()):
            if entry.when is None or entry.when(lowering, op):
                return entry
        return None

    def text(self) -> str:
        """The table as text, in an order that does not depend on who came first; for cache keys."""
        return "\n".join(e.text for name in sorted(self.rules) for e in self.rules[name])
