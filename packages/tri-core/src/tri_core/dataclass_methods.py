"""Methods of dataclasses that are not compiled from text of their own, but for the constructor.

The standard library compiles each from text; these do the same (CPython's ``Lib/dataclasses.py``), and a class is made in a
third of the time.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import operator
import reprlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

__all__ = [
    "ORDERED",
    "comparisons",
    "constructor",
    "frozen",
    "hashing",
    "is_ordinary",
    "representation",
    "shared_parameters",
    "shared_representation",
]

Fields = Sequence["dataclasses.Field[Any]"]

#: the methods of a dataclass that is ordered
ORDERED = ("__lt__", "__le__", "__gt__", "__ge__")
_MISSING = dataclasses.MISSING
#: the attribute of a ``__repr__`` that has the names of the fields it shows
_SHOWN = "shown_fields"


def is_ordinary(cls: type) -> bool:
    """True if :func:`constructor` can make the one of ``cls``: its parameters are fields, those without a
    default first.
    """
    listed = dataclasses.fields(cls)
    names = {f.name for f in listed}
    others = [f for name, f in vars(cls)["__dataclass_fields__"].items() if name not in names]
    if "self" in names or not all("ClassVar" in str(f.type) for f in others):
        return False
    defaults = [_has_default(f) for f in listed if f.init and not f.kw_only]
    return defaults == sorted(defaults)


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not _MISSING or field.default_factory is not _MISSING


def constructor(cls: type, fields: Fields, *, is_frozen: bool) -> Callable[..., None]:
    """``__init__`` of ``cls``: assigns ``fields`` in order, then calls ``__post_init__`` if there is one.

    Compiling is most of what a class costs: its code is that of the first class of this form, with other names.
    """
    form = tuple((f.init, f.kw_only, f.default_factory is not _MISSING) for f in fields)
    code = _renamed(_code(form, is_frozen, hasattr(cls, "__post_init__")), [f.name for f in fields])
    taken = [f for f in fields if f.init]
    positional = [_given(f) for f in taken if not f.kw_only and _has_default(f)]
    keyword = {f.name: _given(f) for f in taken if f.kw_only and _has_default(f)}
    names = {"set_field": object.__setattr__, "MADE": _factory()}
    names |= {f"make_{number}": f.default_factory for number, f in enumerate(fields)}
    function = FunctionType(code, names, "__init__", tuple(positional))
    function.__kwdefaults__ = keyword or None
    function.__annotations__ = {**{f.name: f.type for f in taken}, "return": None}
    return _named(function, cls)


def _given(field: dataclasses.Field[Any]) -> object:
    """The default of the parameter of ``field``."""
    return _factory() if field.default is _MISSING else field.default


#: of fields in order: whether the constructor takes them, by keyword alone, and whether a factory makes them else
_Form = tuple[tuple[bool, bool, bool], ...]


@functools.lru_cache(maxsize=1024)
def _code(form: _Form, is_frozen: bool, has_more: bool) -> CodeType:
    """Code of a constructor whose fields are called ``field_0``, ``field_1``, without defaults; ``has_more``: it calls ``__post_init__``."""
    keyword = [f"field_{n}" for n, (taken, alone, _) in enumerate(form) if taken and alone]
    parameters = [f"field_{n}" for n, (taken, alone, _) in enumerate(form) if taken and not alone]
    parameters += ["*", *keyword] if keyword else []
    body = [*_assignments(form, is_frozen), *(["self.__post_init__()"] if has_more else [])]
    text = f"def __init__(self, {', '.join(parameters)}):\n " + "\n ".join(body or ["pass"])
    made = compile(text, "<string>", "exec")
    return next(each for each in made.co_consts if isinstance(each, CodeType))


def _renamed(code: CodeType, fields: Sequence[str]) -> CodeType:
    """``code`` with the names of ``fields`` in place of ``field_0`` and its like, as variables, attributes and texts."""
    names = {f"field_{number}": sys.intern(name) for number, name in enumerate(fields)}

    def renamed(before: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(names.get(each, each) if type(each) is str else each for each in before)

    return code.replace(
        co_varnames=renamed(code.co_varnames),
        co_names=renamed(code.co_names),
        co_consts=renamed(code.co_consts),
    )


@functools.cache
def _factory() -> object:
    """Sentinel of the standard library for a parameter whose default a factory makes."""
    taken = ("value", int, dataclasses.field(default_factory=int))
    made = dataclasses.make_dataclass("Made", [taken], repr=False, eq=False)
    default: object = inspect.signature(made).parameters["value"].default
    return default


def _assignments(form: _Form, is_frozen: bool) -> Iterator[str]:
    for number, (taken, _, has_factory) in enumerate(form):
        name, make = f"field_{number}", f"make_{number}()"
        if has_factory:
            value = f"{make} if {name} is MADE else {name}" if taken else make
        elif taken:
            value = name
        else:
            # the class has its default, if there is one
            continue
        yield f"set_field(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}"


def representation(cls: type, fields: Fields) -> Callable[[Any], str]:
    """``__repr__`` of ``cls``: its name, and the fields that are shown."""
    names = tuple(f.name for f in fields if f.repr)

    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    made = _named(reprlib.recursive_repr()(_named(__repr__, cls)), cls)
    made.__dict__[_SHOWN] = names
    return made


def shared_representation(value: Any, known: dict[int, tuple[Any, str]]) -> str:
    """``repr(value)``, in which a dataclass that is in several values is written once.

    ``known``: those written so far with their text, by their identity; they must not change meanwhile.
    """
    names = getattr(type(value).__repr__, _SHOWN, None)
    if names is None:
        return repr(value)
    found = known.get(id(value))
    if found is None:
        shown = ", ".join(f"{name}={shared_representation(getattr(value, name), known)}" for name in names)
        found = known[id(value)] = value, f"{type(value).__qualname__}({shown})"
    return found[1]


def comparisons(cls: type, fields: Fields) -> dict[str, Callable[[Any, object], bool]]:
    """``__eq__`` and those of :data:`ORDERED`, of ``cls``: of objects of one class, by the tuple of the fields that are compared."""
    values = _values([f.name for f in fields if f.compare])

    def method(name: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, object], bool]:
        def compared(self: Any, other: object) -> bool:
            if other.__class__ is self.__class__:
                return compare(values(self), values(other))
            return NotImplemented

        compared.__name__ = name
        return _named(compared, cls)

    # since Python 3.13 a field counts by its own ``==`` even where both objects hold the same value, a NaN for one
    equal = operator.eq if sys.version_info < (3, 13) else _each_is_equal
    ordered = {name: getattr(operator, name) for name in ORDERED}
    return {name: method(name, compare) for name, compare in {"__eq__": equal, **ordered}.items()}


def _each_is_equal(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return all(map(operator.eq, left, right))


def hashing(cls: type, fields: Fields) -> Callable[[Any], int]:
    """``__hash__`` of ``cls``: that of the tuple of the fields that count."""
    values = _values([f.name for f in fields if (f.compare if f.hash is None else f.hash)])

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return _named(__hash__, cls)


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Function from an object to its attributes ``names``, as a tuple."""
    if not names:
        return lambda self: ()
    values = operator.attrgetter(*names)
    return values if len(names) > 1 else lambda self: (values(self),)


def frozen(cls: type, fields: Fields) -> tuple[Callable[..., None], Callable[..., None]]:
    """``__setattr__`` and ``__delattr__`` that refuse ``fields``, and all attributes where the object is a ``cls`` itself."""
    names = frozenset(f.name for f in fields)
    owner: Any = cls

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(owner, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(owner, self).__delattr__(name)

    return _named(__setattr__, cls), _named(__delattr__, cls)


def _named(function: Callable[..., Any], cls: type) -> Callable[..., Any]:
    function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
    function.__module__ = cls.__module__
    return function


@functools.cache
def shared_parameters(options: tuple[tuple[str, Any], ...]) -> Any:
    """Value of ``__dataclass_params__`` that the standard library gives a class with these options."""
    without = {"init": False, "repr": False, "eq": False}  # no method is compiled
    made: type = dataclasses.dataclass(**without)(type("Empty", (), {"__doc__": "no fields"}))
    parameters = copy.copy(vars(made)["__dataclass_params__"])
    for name, value in {**dict.fromkeys(without, True), **dict(options)}.items():
        if hasattr(parameters, name):  # Python 3.11 notes no kw_only
            setattr(parameters, name, value)
    return parameters
