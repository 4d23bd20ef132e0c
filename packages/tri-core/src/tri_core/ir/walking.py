"""Walking over ops with a function of Python: what it raises arrives as itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_core.bindings import ir

__all__ = ["collect", "walk"]

#: what a visit gives: how the walk goes on
Visit = Callable[["ir.Operation"], Any]


def walk(root: ir.Operation, visit: Visit, order: ir.WalkOrder | None = None) -> None:
    """Call ``visit`` for ``root`` and every op within, in ``order`` (None: post-order); it gives a ``WalkResult``.

    The bindings turn what a callback raises into a RuntimeError, Ctrl-C too, which would pass for a fault of a pass; here
    it ends the walk, and is raised from it.
    """
    from tri_core.bindings import ir  # not with this module, which those import who may never walk

    raised: list[BaseException] = []

    def guarded(op: ir.Operation) -> Any:
        try:
            return visit(op)
        except BaseException as error:
            raised.append(error)
            return ir.WalkResult.INTERRUPT

    try:
        root.walk(guarded, ir.WalkOrder.POST_ORDER if order is None else order)
    except RuntimeError as error:
        # between two visits the callback itself may be where Python notices a Ctrl-C
        if not raised and KeyboardInterrupt.__name__ in str(error):
            raise KeyboardInterrupt from error
        if not raised:
            raise
    if raised:
        raise raised[0]


def collect(root: ir.Operation) -> list[ir.Operation]:
    """All ops in ``root`` and itself, inner ones first: what :func:`walk` visits, at half of its cost."""
    from tri_core.bindings import ir  # as above

    found: list[ir.Operation] = []
    raised: list[BaseException] = []
    add, advance = found.append, ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> Any:
        try:
            add(op)
        except BaseException as error:  # of a signal's handler
            raised.append(error)
            return ir.WalkResult.INTERRUPT
        return advance

    try:
        root.walk(visit, ir.WalkOrder.POST_ORDER)
    except RuntimeError as error:
        if not raised and KeyboardInterrupt.__name__ in str(error):
            raise KeyboardInterrupt from error
        if not raised:
            raise
    if raised:
        raise raised[0]
    return found
