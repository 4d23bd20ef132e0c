"""Constraints on all ``tt`` ops: a table by op name, checked by :func:`check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.dialects.tt.constraints import (
    descriptors,
    elementwise,
    functions,
    memory,
    reductions,
    shapes,
)
from tri_core.dialects.tt.constraints.vocabulary import Constraint, View, structure
from tri_core.mlir import ir

__all__ = ["CONSTRAINTS", "check", "problem"]

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {
    **functions.CONSTRAINTS,
    **elementwise.CONSTRAINTS,
    **memory.CONSTRAINTS,
    **shapes.CONSTRAINTS,
    **reductions.CONSTRAINTS,
    **descriptors.CONSTRAINTS,
}


def problem(op: ir.Operation) -> str | None:
    """Violated constraint of ``op``: expected and actual; None if there is none."""
    wrong = structure(op)
    if wrong is not None:
        return wrong
    view = View(op)
    for constraint in CONSTRAINTS.get(op.name, ()):
        found = _found(constraint, view)
        if found is not None:
            return found
    return None


def _found(constraint: Constraint, view: View) -> str | None:
    try:
        return constraint(view)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        # what the bindings raise for a part that is not there, or an attribute of another class
        return f"has a part that is not as its definition says: {error}"


def check(op: ir.Operation) -> bool:
    """True if ``op`` is valid; a violation is reported as MLIR reports its own."""
    found = problem(op)
    if found is None:
        return True
    op.location.emit_error(f"'{op.name}' op {found}")
    return False
