"""``constexpr``: a value known at compile time, with every operator of Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["constexpr", "constexpr_type", "tuple_type", "unwrap"]


def unwrap(value: Any) -> Any:
    """The Python value inside a constexpr, through lists and tuples; anything else as it is."""
    if isinstance(value, constexpr):
        return unwrap(value.value)
    if type(value) is tuple:
        return tuple(map(unwrap, value))
    if type(value) is list:
        return [unwrap(v) for v in value]
    return value


def _static(value: Any) -> Any:
    """``value`` as a constexpr; a run-time value (while a kernel is interpreted) as it is."""
    return value if hasattr(value, "handle") else constexpr(value)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: _static(function(self.value, unwrap(other)))


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: _static(function(unwrap(other), self.value))


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], constexpr]:
    return lambda self: constexpr(function(self.value))


class constexpr:
    """A compile-time value: annotate a kernel's parameter with it, or wrap a global that kernels may read.

    Operators compute on the values and give a constexpr; mixed with plain Python values too.
    """

    __slots__ = ("value",)
    value: Any

    def __init__(self, value: Any) -> None:
        while isinstance(value, constexpr):
            value = value.value
        _keep(self, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refused: what was compiled with the value would not know."""
        raise AttributeError("a constexpr does not change: bind its name to another one")

    @property
    def type(self) -> constexpr_type:
        """The type of the value: itself, at compile time."""
        return constexpr_type(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by its value."""
        return type(self), (self.value,)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __iter__(self) -> Iterator[constexpr]:
        return map(constexpr, iter(self.value))

    def __len__(self) -> int:
        return len(self.value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the value."""
        return self.value(*args, **kwargs)

    def __getitem__(self, index: Any) -> constexpr:
        return constexpr(self.value[unwrap(index)])

    def __not__(self) -> constexpr:
        """``not`` of the value, as a constexpr."""
        return constexpr(not self.value)

    def logical_and(self, other: Any) -> constexpr:
        """``and`` of the values."""
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        """``or`` of the values."""
        return constexpr(self.value or unwrap(other))

    def __eq__(self, other: object) -> constexpr:  # type: ignore[override]
        return _static(self.value == unwrap(other))

    def __ne__(self, other: object) -> constexpr:  # type: ignore[override]
        return _static(self.value != unwrap(other))

    __add__ = _binary(operator.add)
    __radd__ = _reflected(operator.add)
    __sub__ = _binary(operator.sub)
    __rsub__ = _reflected(operator.sub)
    __mul__ = _binary(operator.mul)
    __rmul__ = _reflected(operator.mul)
    __truediv__ = _binary(operator.truediv)
    __rtruediv__ = _reflected(operator.truediv)
    __floordiv__ = _binary(operator.floordiv)
    __rfloordiv__ = _reflected(operator.floordiv)
    __mod__ = _binary(operator.mod)
    __rmod__ = _reflected(operator.mod)
    __pow__ = _binary(operator.pow)
    __rpow__ = _reflected(operator.pow)
    __and__ = _binary(operator.and_)
    __rand__ = _reflected(operator.and_)
    __or__ = _binary(operator.or_)
    __ror__ = _reflected(operator.or_)
    __xor__ = _binary(operator.xor)
    __rxor__ = _reflected(operator.xor)
    __lshift__ = _binary(operator.lshift)
    __rlshift__ = _reflected(operator.lshift)
    __rshift__ = _binary(operator.rshift)
    __rrshift__ = _reflected(operator.rshift)
    __lt__ = _binary(operator.lt)
    __le__ = _binary(operator.le)
    __gt__ = _binary(operator.gt)
    __ge__ = _binary(operator.ge)
    __neg__ = _unary(operator.neg)
    __pos__ = _unary(operator.pos)
    __invert__ = _unary(operator.invert)
    __abs__ = _unary(operator.abs)


class constexpr_type:
    """The type of a compile-time ``value``: equal values have one type."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, constexpr_type) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        mangle = getattr(self.value, "mangle", None)
        return f"c{repr(self.value) if mangle is None else mangle()}"

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"


class tuple_type:
    """The type of a tuple: ``types`` of its items, and ``fields``, their names, of a named one."""

    def __init__(self, types: Iterable[Any], fields: Iterable[str] | None = None) -> None:
        self.types = tuple(types)
        self.fields = None if fields is None else tuple(fields)

    @classmethod
    def of(cls, value: tuple[Any, ...]) -> tuple_type:
        """The type of ``value``, whose items are values of the language."""
        return cls(map(_type_of, value), getattr(value, "_fields", None))

    @property
    def name(self) -> str:
        """``[type,...]``, or ``[field:type,...]``."""
        names = map(str, self.types)
        if self.fields is not None:
            names = map(":".join, zip(self.fields, names, strict=True))
        return f"[{','.join(names)}]"

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, index: Any) -> Any:
        return self.types[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple_type) and (self.types, self.fields) == (other.types, other.fields)

    def __hash__(self) -> int:
        return hash((self.types, self.fields))

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        return f"T{'_'.join(item.mangle() for item in self.types)}T"

    def __str__(self) -> str:
        return self.name


def _type_of(value: Any) -> Any:
    """The type of a value of the language, a constexpr's of any other."""
    if isinstance(value, tuple):
        return tuple_type.of(value)
    found = getattr(value, "type", None)
    return constexpr_type(value) if found is None else found


#: sets the value of a new constexpr
_keep = vars(constexpr)["value"].__set__
