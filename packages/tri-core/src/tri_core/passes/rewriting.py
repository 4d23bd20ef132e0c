"""Rewriting by small rules: one rule looks at one op, and the driver does the rest.

A rule is registered for op names.  It returns None when it does not apply, or the values that replace the op's
results, made before the op; it changes nothing else.  The driver replaces and erases the op, so what the op
alone used is left dead: later sweeps skip it, and dead code elimination takes it away.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tri_core.ir.rewriting import is_dead
from tri_core.ir.walking import collect, walk
from tri_core.mlir import ir

__all__ = ["Rule", "RuleTable", "constant", "make", "producer", "rewrite"]

Rule: TypeAlias = Callable[[ir.Operation], "Sequence[ir.Value] | None"]

logger = logging.getLogger(__name__)

#: sweeps after which rules are taken to undo each other
_MOST_SWEEPS = 32


class RuleTable:
    """Rules by op name; ``@table.rule("tt.splat")`` adds one."""

    def __init__(self) -> None:
        self.rules: dict[str, list[Rule]] = {}
        self.fed: dict[str, list[Rule]] = {}
        self.feeders: set[str] = set()

    def rule(self, *names: str, fed_by: Sequence[str] = ()) -> Callable[[Rule], Rule]:
        """Register the decorated rule for the ops called ``names``.

        With ``fed_by`` it is tried only on those that use a result of an op called so: most ops are arithmetic,
        and few of them use a splat.
        """

        def add(rule: Rule) -> Rule:
            self.feeders.update(fed_by)
            table = self.fed if fed_by else self.rules
            for name in names:
                table.setdefault(name, []).append(rule)
            return rule

        return add


def rewrite(module: ir.Module, table: RuleTable) -> bool:
    """Apply the rules of ``table`` everywhere until none applies; whether any did."""
    for sweep in range(_MOST_SWEEPS):
        if not _sweep(module, table):
            return sweep > 0
    logger.warning("rewriting did not come to an end in %d sweeps", _MOST_SWEEPS)
    return True


def _sweep(module: ir.Module, table: RuleTable) -> bool:
    changed = False
    ahead = deque(_candidates(module, table))
    while ahead:
        op, rules = ahead.popleft()
        for rule in rules:
            values = rule(op)
            if values is None:
                continue
            for result, value in zip(op.results, values, strict=True):
                result.replace_all_uses_with(value)
            if len(op.regions):  # what is inside of it goes, too, and would come later
                inside = set(collect(op))
                ahead = deque(each for each in ahead if each[0] not in inside)
            op.erase()
            changed = True
            break
    return changed


def _candidates(module: ir.Module, table: RuleTable) -> list[tuple[ir.Operation, list[Rule]]]:
    """The live ops that rules may apply to, defining ones before using ones, each once."""
    found: dict[ir.Operation, list[Rule]] = {}
    fed: set[ir.Operation] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.name
        rules = table.rules.get(name)
        if rules is not None and not is_dead(op):
            found[op] = found.get(op, []) + rules
        if name in table.feeders:
            for use in op.results[0].uses:
                user = use.owner.operation
                rules = table.fed.get(user.name)
                if rules is not None and user not in fed and not is_dead(user):
                    fed.add(user)
                    found[user] = found.get(user, []) + rules
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit, ir.WalkOrder.PRE_ORDER)
    return list(found.items())


# --- what rules are made of -------------------------------------------------------------------------------


def producer(value: ir.Value) -> ir.Operation | None:
    """The op that makes ``value``; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def make(
    at: ir.Operation,
    name: str,
    type_: ir.Type,
    operands: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Value:
    """A new op with one result before ``at``, at its location."""
    op = ir.Operation.create(
        name,
        results=[type_],
        operands=operands,
        attributes=dict(attributes or {}),
        loc=at.location,
        ip=ir.InsertionPoint(at),
    )
    return op.result


def constant(at: ir.Operation, attribute: ir.TypedAttr) -> ir.Value:
    """``attribute`` as a value before ``at``."""
    return make(at, "arith.constant", attribute.type, [], {"value": attribute})
