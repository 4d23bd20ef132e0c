"""Aggregates: classes of the language with typed fields and jit functions as methods."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

from tri.kernel import Kernel
from tri.language.constexpr import constexpr
from tri.language.python_values import wrap
from tri.language.structure import Structure
from tri_core.errors import CompilationError

__all__ = ["Aggregate", "aggregate", "aggregate_replace", "is_aggregate_class"]

_MISSING = object()
#: members that belong to the class that the user wrote, not to the one made from it
_OWN = frozenset({"__init__", "__new__", "__dict__", "__weakref__", "__annotate__", "__annotate_func__"})


class Aggregate(Structure):
    """The base of the classes that :func:`aggregate` makes: immutable values with named, typed fields."""

    __tri_fields__: ClassVar[dict[str, Any]] = {}
    __tri_defaults__: ClassVar[dict[str, Any]] = {}
    #: the functions whose sources are part of a kernel's identity
    __tri_functions__: ClassVar[tuple[Any, ...]] = ()
    _initialize: ClassVar[Callable[..., None] | None] = None

    def __init__(self, *args: Any, _semantic: Any = None, _generator: Any = None, **kwargs: Any) -> None:
        object.__setattr__(self, "_open", True)
        init = type(self)._initialize
        if init is None:
            self._fill(args, kwargs)
        else:
            given = {"_semantic": _semantic, "_generator": _generator}
            wanted = inspect.signature(init).parameters
            init(self, *args, **kwargs, **{k: v for k, v in given.items() if k in wanted})
        for name in self.__tri_fields__:
            if name not in self.__dict__:
                raise AttributeError(f"the constructor of {type(self).__name__} does not set {name!r}")
        object.__setattr__(self, "_open", False)

    def _fill(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The constructor of a class that defines none: fields in order or by name, defaults for the rest."""
        kind, fields = type(self).__name__, list(self.__tri_fields__)
        if len(args) > len(fields):
            raise TypeError(f"{kind} has {len(fields)} fields, {len(args)} values were given")
        given = dict(zip(fields, args, strict=False))
        for name in kwargs:
            if name not in fields or name in given:
                what = "is given twice" if name in given else "is no field"
                raise TypeError(f"{name!r} {what} of {kind}")
        values = {**self.__tri_defaults__, **given, **kwargs}
        for name in fields:
            if name not in values:
                raise TypeError(f"field {name!r} of {kind} is given no value")
            setattr(self, name, _wrapped(values[name]))

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__tri_fields__
        kind = type(self).__name__
        if name not in fields:
            raise AttributeError(f"{kind} has no field {name!r}")
        if not self.__dict__.get("_open", False):
            raise AttributeError(
                f"cannot assign to field {name!r} on immutable aggregate {kind}: make another with aggregate_replace"
            )
        if not isinstance(value, fields[name]):
            wanted = getattr(fields[name], "__name__", fields[name])
            raise TypeError(f"field {name!r} of {kind} is a {wanted}, got {type(value).__name__}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        fields = ", ".join(f"{n}={self.__dict__[n]!r}" for n in self.__tri_fields__)
        return f"{type(self).__name__}({fields})"

    def structure_parts(self) -> tuple[Any, ...]:
        """The fields' values."""
        return tuple(self.__dict__[name] for name in self.__tri_fields__)

    def structure_names(self) -> tuple[str, ...]:
        """The fields."""
        return tuple(self.__tri_fields__)

    def structure_with(self, parts: Iterable[Any]) -> Self:
        """Another value with the given fields, made without the constructor."""
        new = object.__new__(type(self))
        for name, value in zip(self.__tri_fields__, parts, strict=True):
            object.__setattr__(new, name, value)
        return new


def _wrapped(value: Any) -> Any:
    """A field's value as the language holds it: Python values are constexprs."""
    return wrap(value)


def is_aggregate_class(value: object) -> bool:
    """True if ``value`` is a class made by :func:`aggregate`."""
    return isinstance(value, type) and issubclass(value, Aggregate)


def _fields(cls: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Types and defaults of the fields, the oldest base's first."""
    types: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        if base in (object, Structure, Aggregate):
            continue
        if not is_aggregate_class(base):
            raise TypeError(
                f"Aggregates can only inherit from other aggregates; {cls.__name__} derives from {base.__name__}"
            )
        types.update(base.__tri_fields__)  # type: ignore[attr-defined]
        defaults.update(base.__tri_defaults__)  # type: ignore[attr-defined]
    own = inspect.get_annotations(cls)
    hints = typing.get_type_hints(cls)
    for name in own:
        types[name] = hints[name]
        value = cls.__dict__.get(name, _MISSING)
        if value is not _MISSING and (not callable(value) or isinstance(value, constexpr)):
            defaults[name] = value
    return types, defaults


def aggregate(cls: type) -> type[Aggregate]:
    """Make ``cls`` a class of the language; its annotations are its fields.

    A field's type is ``tl.tensor``, ``tl.constexpr``, a tuple or another aggregate.  ``__init__`` (plain
    Python, run while compiling) sets every field; without one the fields are its parameters.  Functions
    decorated with ``@tri.jit`` are methods and operators.  An aggregate may derive from others and gets
    their fields and methods.  Values are immutable; :func:`aggregate_replace` makes changed copies.
    TypeError for a base that is no aggregate, and for an ``__init__`` that is no plain function.
    """
    types, defaults = _fields(cls)
    members = {
        name: member
        for base in reversed(cls.__mro__[:-1])
        if base not in (Structure, Aggregate)
        for name, member in vars(base).copy().items()
        if name not in _OWN and name not in vars(Aggregate) and name not in types and _is_method(member)
    }
    init = cls.__dict__.get("__init__")
    if init is not None and not inspect.isfunction(init):
        raise TypeError(f"{cls.__name__}.__init__ is a plain Python function; it runs while compiling")
    namespace = {
        **members,
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__tri_fields__": types,
        "__tri_defaults__": defaults,
        "__tri_functions__": (*([init] if init is not None else []), *members.values()),
        "_initialize": init,
    }
    return type(cls.__name__, (Aggregate,), namespace)


def _is_method(member: Any) -> bool:
    return isinstance(member, (Kernel, staticmethod, classmethod, property)) or inspect.isfunction(member)


def aggregate_replace(instance: Any, **changes: Any) -> Any:
    """A copy of the aggregate ``instance`` with the fields in ``changes`` replaced, through its constructor.

    CompilationError for anything but an aggregate, and for a field that it does not have.
    """
    if not isinstance(instance, Aggregate):
        raise CompilationError(
            f"aggregate_replace takes an aggregate, got a {type(instance).__name__}",
            remedy="decorate its class with @tri.aggregate",
        )
    fields = type(instance).__tri_fields__
    for name in changes:
        if name not in fields:
            raise CompilationError(
                f"{type(instance).__name__} has no field {name!r}",
                remedy=f"its fields are {', '.join(fields)}",
            )
    kept = dict(zip(fields, instance.structure_parts(), strict=True))
    return type(instance)(**{**kept, **changes})


aggregate_replace.__tri_raw__ = True  # type: ignore[attr-defined]
