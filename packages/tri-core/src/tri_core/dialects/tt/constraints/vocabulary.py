"""The words that constraints are made of: views of an op, kinds of types, and agreement between values.

A constraint is a function from a :class:`View` to a description of what is wrong, or None.  The functions here
make constraints from names of operands, results and attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

from tri_core.dialects.tt.dialect import PointerType
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = [
    "Constraint",
    "View",
    "bits",
    "boolean",
    "element",
    "i32_array",
    "integer",
    "is_float",
    "is_integer",
    "kind",
    "one_of",
    "pointee",
    "same_element",
    "same_places",
    "same_type",
    "scalar",
    "shape",
    "size",
    "structure",
    "tensor",
]

Constraint: TypeAlias = "Callable[[View], str | None]"


class View:
    """An op with its operands and results by name, as its class declares them."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self._values = _named_values(op)

    def group(self, name: str) -> Sequence[ir.Value]:
        """The values of operand or result ``name``: none or one for an optional one."""
        return self._values[name]

    def types(self, *names: str) -> list[ir.Type]:
        """The types of all values of ``names``, in order; of absent optional ones, none."""
        return [value.type for name in names for value in self._values[name]]

    def type(self, name: str) -> ir.Type:
        """The type of the one value ``name``."""
        return self._values[name][0].type

    def has(self, name: str) -> bool:
        """True if the optional operand or attribute ``name`` is present."""
        return bool(self._values[name]) if name in self._values else name in self.op.attributes

    def number(self, name: str) -> int:
        """The value of integer attribute ``name``."""
        return ir.IntegerAttr(self.op.attributes[name]).value

    def numbers(self, name: str) -> list[int]:
        """The values of i32 array attribute ``name``."""
        return list(ir.DenseI32ArrayAttr(self.op.attributes[name]))


def structure(op: ir.Operation) -> str | None:
    """Error in the number of values and regions of ``op``, or the kinds of its attributes; None if there is
    none.

    Everything else here relies on these.  (IRDL checks them too, but after the rules of the dialect.)
    """
    layout = _layout(op.name, type(op.opview))
    attributes = op.attributes
    for name, class_ in layout.attributes.items():
        if name not in attributes:
            return f"expects attribute {name}; it has none"
        found = attributes[name]
        if class_ is None or isinstance(found, class_):
            continue
        if class_ is not ir.IntegerAttr or not isinstance(found, ir.BoolAttr):  # an integer to IRDL
            return f"expects attribute {name} to be {class_.__name__}; got {found}"
    if len(op.regions) != layout.regions:
        return f"expects {layout.regions} regions; got {len(op.regions)}"
    return _count_problem(op, layout.operands, len(op.operands), "operand") or _count_problem(
        op, layout.results, len(op.results), "result"
    )


def _count_problem(op: ir.Operation, names: Mapping[str, bool], count: int, what: str) -> str | None:
    flexible = sum(names.values())
    if flexible < 2:
        least = len(names) - flexible
        fits = count >= least if flexible else count == least
        return None if fits else f"expects {least} {what}s{' or more' if flexible else ''}; got {count}"
    name = f"{what}SegmentSizes"
    sizes = op.attributes.get(name, None)
    if not isinstance(sizes, ir.DenseI32ArrayAttr) or len(sizes) != len(names) or sum(sizes) != count:
        return f"expects attribute {name} to share out {count} {what}s among {', '.join(names)}; got {sizes}"
    return None


def _named_values(op: ir.Operation) -> dict[str, Sequence[ir.Value]]:
    values: dict[str, Sequence[ir.Value]] = {}
    layout = _layout(op.name, type(op.opview))
    for names, given, what in (
        (layout.operands, op.operands, "operand"),
        (layout.results, op.results, "result"),
    ):
        at = 0
        for name, count in zip(names, _segments(op, names, len(given), what), strict=True):
            values[name] = [given[i] for i in range(at, at + count)]
            at += count
    return values


def _segments(op: ir.Operation, names: Mapping[str, bool], count: int, what: str) -> Sequence[int]:
    """Number of values of each name."""
    if sum(names.values()) > 1:
        return list(ir.DenseI32ArrayAttr(op.attributes[f"{what}SegmentSizes"]))
    return [count - len(names) + 1 if is_flexible else 1 for is_flexible in names.values()]


@dataclass(frozen=True)
class _Layout:
    """An op's class as data: values by name, each with whether it may stand for another number than one."""

    operands: Mapping[str, bool]
    results: Mapping[str, bool]
    attributes: Mapping[str, type[ir.Attribute] | None]
    regions: int


_layouts: dict[str, _Layout] = {}


def _layout(name: str, opview: Any) -> _Layout:
    found = _layouts.get(name)
    if found is None:
        fields: dict[str, list[Any]] = {}
        for field in opview._fields:
            fields.setdefault(type(field).__name__, []).append(field)
        operands, results = (
            {f.name: f.variadicity.name != "single" for f in fields.get(kind, ())}
            for kind in ("OperandDef", "ResultDef")
        )
        attributes = {
            f.name: None if f.constraint is Any else f.constraint for f in fields.get("AttributeDef", ())
        }
        found = _Layout(operands, results, attributes, len(fields.get("RegionDef", ())))
        _layouts[name] = found
    return found


# --- types ------------------------------------------------------------------------------------------------


def element(type_: ir.Type) -> ir.Type:
    """The element type of a tensor; a scalar's own type."""
    return type_.element_type if isinstance(type_, ir.RankedTensorType) else type_


def shape(type_: ir.Type) -> tuple[int, ...] | None:
    """The shape of a tensor, None for a scalar."""
    return tuple(type_.shape) if isinstance(type_, ir.RankedTensorType) else None


def size(type_: ir.Type) -> int:
    """The number of elements."""
    return math.prod(shape(type_) or ())


def is_integer(type_: ir.Type) -> bool:
    """True if ``type_`` is an integer type of kernels."""
    return isinstance(type_, ir.IntegerType) and type_.width in (1, 4, 8, 16, 32, 64) and type_.is_signless


def is_float(type_: ir.Type) -> bool:
    """True if ``type_`` is a float of any width."""
    return isinstance(type_, ir.FloatType)


def bits(type_: ir.Type) -> int | None:
    """The width of an element type; pointers have 64 bits."""
    if isinstance(type_, PointerType):
        return 64
    return type_.width if isinstance(type_, ir.IntegerType | ir.FloatType) else None


def _is_int(width: int) -> Callable[[ir.Type], bool]:
    return lambda type_: isinstance(type_, ir.IntegerType) and type_.width == width and type_.is_signless


_KINDS: dict[str, Callable[[ir.Type], bool]] = {
    "pointer": lambda type_: isinstance(type_, PointerType),
    "integer": is_integer,
    "float": is_float,
    "number": lambda type_: is_integer(type_) or is_float(type_),
    "i1": _is_int(1),
    "i16 or i32": lambda type_: _is_int(16)(type_) or _is_int(32)(type_),
    "i32": _is_int(32),
    "i64": _is_int(64),
    "f32": lambda type_: isinstance(type_, ir.F32Type),
    "value": lambda type_: is_integer(type_) or is_float(type_) or isinstance(type_, PointerType),
}


# --- constraints on one value -----------------------------------------------------------------------------


def kind(wanted: str, *names: str) -> Constraint:
    """The elements of ``names`` are of a kind: ``pointer``, ``integer``, ``float``, ``number``, ``i1``, ..."""
    test = _KINDS[wanted]

    def constraint(view: View) -> str | None:
        for name in names:
            for type_ in view.types(name):
                if not test(element(type_)):
                    return f"expects {name} to be {wanted} or a tensor of such; got {type_}"
        return None

    return constraint


def tensor(*names: str, rank: int | None = None) -> Constraint:
    """``names`` are tensors (of ``rank``)."""

    def constraint(view: View) -> str | None:
        for name in names:
            for type_ in view.types(name):
                found = shape(type_)
                if found is None or rank not in (None, len(found)):
                    of_rank = f" of rank {rank}" if rank is not None else ""
                    return f"expects {name} to be a tensor{of_rank}; got {type_}"
        return None

    return constraint


def scalar(*names: str) -> Constraint:
    """``names`` are no tensors."""

    def constraint(view: View) -> str | None:
        for name in names:
            for type_ in view.types(name):
                if shape(type_) is not None:
                    return f"expects {name} to be a scalar; got {type_}"
        return None

    return constraint


# --- constraints between values ---------------------------------------------------------------------------


def _agree(what: str, of: Callable[[ir.Type], object], names: Sequence[str]) -> Constraint:
    def constraint(view: View) -> str | None:
        types = [(name, type_) for name in names for type_ in view.types(name)]
        for name, type_ in types[1:]:
            if of(type_) != of(types[0][1]):
                return f"expects {name} to have the {what} of {types[0][0]}, {types[0][1]}; got {type_}"
        return None

    return constraint


def same_type(*names: str) -> Constraint:
    """All of ``names`` have one type."""
    return _agree("type", lambda type_: type_, names)


def same_element(*names: str) -> Constraint:
    """All of ``names`` have one element type."""
    return _agree("element type", element, names)


def same_places(*names: str) -> Constraint:
    """All of ``names`` have one shape and one encoding, or are scalars."""
    return _agree("shape and encoding", _places, names)


def _places(type_: ir.Type) -> object:
    return (type_.shape, type_.encoding) if isinstance(type_, ir.RankedTensorType) else None


def pointee(pointer: str, *names: str) -> Constraint:
    """``names`` are what ``pointer`` points to, at the same places."""
    agree = same_places(pointer, *names)

    def constraint(view: View) -> str | None:
        target = PointerType(element(view.type(pointer))).pointee_type
        for name in names:
            for type_ in view.types(name):
                if element(type_) != target:
                    return f"expects {name} to be {target}, what {pointer} points to; got {type_}"
        return agree(view)

    return constraint


# --- constraints on attributes ----------------------------------------------------------------------------


def integer(name: str, width: int = 32, least: int | None = None, most: int | None = None) -> Constraint:
    """Attribute ``name``, if it is there, is an integer of ``width`` bits in the range."""

    def constraint(view: View) -> str | None:
        if name not in view.op.attributes:
            return None
        attribute = view.op.attributes[name]
        if not isinstance(attribute, ir.IntegerAttr) or attribute.type != ir.IntegerType.get_signless(width):
            return f"expects attribute {name} to be an i{width}; got {attribute}"
        value = attribute.value
        if (least is not None and value < least) or (most is not None and value > most):
            return f"expects attribute {name} {_range(least, most)}; got {value}"
        return None

    return constraint


def _range(least: int | None, most: int | None) -> str:
    if least is None or most is None:
        return f"to be at least {least}" if most is None else f"to be at most {most}"
    return f"from {least} to {most}"


def one_of(name: str, enumeration: type[IntEnum], among: Sequence[IntEnum] | None = None) -> Constraint:
    """Attribute ``name``, if it is there, is an i32 of ``enumeration`` (``among`` some of its values)."""
    is_i32 = integer(name)
    allowed = {int(value): value.name for value in among or enumeration}

    def constraint(view: View) -> str | None:
        found = is_i32(view)
        if found is not None or name not in view.op.attributes or view.number(name) in allowed:
            return found
        values = ", ".join(f"{value} ({word})" for value, word in allowed.items())
        return f"expects attribute {name} to be one of {values}; got {view.number(name)}"

    return constraint


def boolean(*names: str) -> Constraint:
    """Attributes ``names``, if they are there, are booleans."""

    def constraint(view: View) -> str | None:
        for name in names:
            attributes = view.op.attributes
            if name in attributes and not isinstance(attributes[name], ir.BoolAttr):
                return f"expects attribute {name} to be true or false; got {attributes[name]}"
        return None

    return constraint


def i32_array(name: str) -> Constraint:
    """Attribute ``name`` is an array of i32."""

    def constraint(view: View) -> str | None:
        attribute = view.op.attributes[name]
        fits = isinstance(attribute, ir.DenseI32ArrayAttr)
        return None if fits else f"expects attribute {name} to be an array of i32; got {attribute}"

    return constraint
