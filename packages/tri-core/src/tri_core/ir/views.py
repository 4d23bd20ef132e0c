"""Ops by the class that their dialect declares, as MLIR's ``isa``, ``dyn_cast`` and ``getDefiningOp``.

A pass asks of which kind an op is, and gets at operands by the names of the op's definition::

    if isa(op, LoadOp, StoreOp): ...
    dot = dyn_cast(op, DotOp)
    if dot is not None: left = dot.a

What holds for more than one kind is a trait (:mod:`.traits`) or an effect (:mod:`.effects`).  ``isa`` compares names and makes
no view of the op: a view takes ten times as long.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from tri_core.mlir import ir

__all__ = ["defining_op", "dyn_cast", "isa"]

_View = TypeVar("_View", bound=ir.OpView)

#: the names of ops of one of several classes
_names: dict[tuple[type[Any], ...], frozenset[str]] = {}


def isa(op: ir.Operation, *kinds: type[Any]) -> bool:
    """Whether ``op`` is of one of the ``kinds``: classes that dialects declare, or views (:mod:`.regions`)."""
    try:
        return op.name in _names[kinds]
    except KeyError:
        _names[kinds] = frozenset(kind.OPERATION_NAME for kind in kinds)
        return op.name in _names[kinds]


def dyn_cast(op: ir.Operation | None, *kinds: type[_View]) -> _View | None:
    """``op`` as the class of its kind, if that is one of the ``kinds``: its operands by their names; else None."""
    if op is None or not isa(op, *kinds):
        return None
    view: Any = op.opview
    return view


@overload
def defining_op(value: ir.Value) -> ir.Operation | None: ...
@overload
def defining_op(value: ir.Value, *kinds: type[_View]) -> _View | None: ...


def defining_op(value: ir.Value, *kinds: type[Any]) -> Any:
    """The op that ``value`` is a result of, None for a block's argument; with ``kinds`` as :func:`dyn_cast` gives it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    return dyn_cast(owner.operation, *kinds) if kinds else owner.operation
