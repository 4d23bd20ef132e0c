"""Ops by the class that their dialect declares, as MLIR's ``isa``, ``cast``, ``dyn_cast`` and ``getDefiningOp``.

A pass asks of which kind an op is, and gets at operands by the names of the op's definition::

    if isa(op, LoadOp, StoreOp): ...
    left = cast(op, DotOp).a
    if (load := defining_op(value, LoadOp)) is not None: mask = load.mask

What holds for more than one kind is a trait (:mod:`.traits`), an effect (:mod:`.effects`) or an access (:mod:`.access`).

What ``cast`` gives is typed as the class, and has the class's properties and methods, but is a light view and no instance of it: the
bindings' own takes twice as long to make, and four times as long to be asked for an operand that others may stand before.  Where an
op is wanted, the view's ``operation`` is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, overload

from tri_core.mlir import ext, ir

__all__ = ["Named", "cast", "defining_op", "dyn_cast", "isa"]

_Kind = TypeVar("_Kind")

#: the names of ops of one of several classes
_names: dict[tuple[type[Any], ...], frozenset[str]] = {}
#: the views of ops of one of several classes, by the op's name
_views: dict[tuple[type[Any], ...], dict[str, Callable[[ir.Operation], Any]]] = {}
#: the view of a class's ops
_light: dict[type[Any], Callable[[ir.Operation], Any]] = {}


class Named(Protocol):
    """An op, of the IR or as a backend keeps it: ``name`` is its class's ``OPERATION_NAME``."""

    @property
    def name(self) -> str:
        """With the dialect's, as ``tt.load``."""
        ...


def isa(op: Named, *kinds: type[Any]) -> bool:
    """True if ``op`` is an instance of one of ``kinds``: classes that dialects declare, or views
    (:mod:`.regions`).
    """
    try:
        return op.name in _names[kinds]
    except KeyError:
        _names[kinds] = frozenset(kind.OPERATION_NAME for kind in kinds)
        return op.name in _names[kinds]


def cast(op: ir.Operation, kind: type[_Kind]) -> _Kind:
    """``op``, which is of that ``kind``, with operands by their names; nobody checks the kind."""
    try:
        return _light[kind](op)
    except KeyError:
        _light[kind] = _view_of(kind)
        return _light[kind](op)


def dyn_cast(op: ir.Operation | None, *kinds: type[_Kind]) -> _Kind | None:
    """``op`` as :func:`cast` gives it, if it is of one of the ``kinds``; else None."""
    if op is None:
        return None
    try:
        views = _views[kinds]
    except KeyError:
        views = _views[kinds] = {kind.OPERATION_NAME: _view_of(kind) for kind in kinds}  # type: ignore[attr-defined]
    view = views.get(op.name)
    return None if view is None else view(op)


@overload
def defining_op(value: ir.Value) -> ir.Operation | None: ...
@overload
def defining_op(value: ir.Value, *kinds: type[_Kind]) -> _Kind | None: ...


def defining_op(value: ir.Value, *kinds: type[Any]) -> Any:
    """The op that ``value`` is a result of, None for a block's argument; with ``kinds`` as :func:`dyn_cast` gives it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    return dyn_cast(owner.operation, *kinds) if kinds else owner.operation


# --- light views ------------------------------------------------------------------------------------------


class _Light:
    """The op behind a view; what the bindings' views have beside the properties of their classes is the op's."""

    __slots__ = ("operation",)

    def __init__(self, operation: ir.Operation) -> None:
        self.operation = operation

    @property
    def operands(self) -> ir.OpOperandList:
        return self.operation.operands

    @property
    def results(self) -> ir.OpResultList:
        return self.operation.results

    @property
    def attributes(self) -> ir.OpAttributeMap:
        return self.operation.attributes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.operation, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Light) and bool(self.operation == other.operation)

    def __hash__(self) -> int:
        return hash(self.operation)


def _view_of(kind: type[Any]) -> Callable[[ir.Operation], Any]:
    """The view of ops of ``kind``, a class that a dialect declares; one that is no such class is a view itself."""
    if not issubclass(kind, ir.OpView):
        return kind
    members: dict[str, Any] = {"__slots__": ()}
    for base in reversed(kind.__mro__[: kind.__mro__.index(ir.OpView)]):
        members |= {name: each for name, each in vars(base).copy().items() if _is_kept(name, each)}
    fields = [each for each in getattr(kind, "_fields", ()) if isinstance(each, ext.OperandDef)]
    segments = [_SEGMENTS[each.variadicity.name] for each in fields]
    for number, field in enumerate(fields):
        members[field.name] = property(_operand(segments, number), _setter(segments, number))
    return type(kind.__name__, (_Light,), members)


#: how many operands belong to a name at most, by how the definition declares it; None: any number
_SEGMENTS = {"single": 1, "optional": 0, "variadic": -1}


def _is_kept(name: str, member: object) -> bool:
    return (
        not name.startswith("_")
        and (isinstance(member, (property, str)) or callable(member))
        and name != "Adaptor"
    )


def _operand(segments: Sequence[int], number: int) -> Callable[[Any], Any]:
    """Gets the operands that belong to name ``number``: one, or None for an optional one, or a list.

    ``segments``, by name: 1 is one operand, 0 one or none, -1 any number.  The op's attribute ``operandSegmentSizes`` is asked only
    where the number of operands does not say who is there.
    """
    kind, before, behind = segments[number], segments[:number], segments[number + 1 :]
    most, least = len(segments), segments.count(1)
    if kind == 1 and all(each == 1 for each in before):
        return lambda view: view.operation.operands[number]
    if most - least > 1:
        return _shared_out(segments, number)
    if kind == 1:
        return lambda view: view.operation.operands[len(view.operation.operands) - len(behind) - 1]
    if kind == 0:
        return lambda view: view.operation.operands[number] if len(view.operation.operands) == most else None
    return lambda view: list(view.operation.operands)[number : len(view.operation.operands) - len(behind)]


def _setter(segments: Sequence[int], number: int) -> Callable[[Any, ir.Value], None] | None:
    """Puts another value in the place of the operand with name ``number``; None where its place is not always the same."""
    is_last = number == len(segments) - 1
    if any(each != 1 for each in segments[:number]) or segments[number] < (0 if is_last else 1):
        return None

    def put(view: Any, value: ir.Value) -> None:
        view.operation.operands[number] = value

    return put


def _shared_out(segments: Sequence[int], number: int) -> Callable[[Any], Any]:
    """As :func:`_operand`, where several names have no fixed number of operands."""
    kind, least, most = segments[number], segments.count(1), len(segments)
    bounded, first = -1 not in segments, segments[:number].count(1)

    def get(view: Any) -> Any:
        operands = view.operation.operands
        count = len(operands)
        if bounded and count == most:
            return operands[number]
        if bounded and count == least:
            return operands[first] if kind else None
        sizes = list(ir.DenseI32ArrayAttr(view.operation.attributes["operandSegmentSizes"]))
        start = sum(sizes[:number])
        if kind < 0:
            return list(operands)[start : start + sizes[number]]
        return operands[start] if sizes[number] else None

    return get
