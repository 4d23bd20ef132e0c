"""``dataclass`` whose methods are made when a class is first used.

The standard library compiles source text for each method of a dataclass when its module is imported: 0.4 ms a class, a
fifth of the time from the start of a process to its first kernel.  Most of the classes that a compiler declares, passes and
ops and encodings of other hardware, are used by few kernels.  This decorator puts in place of the methods what has
:func:`dataclasses.dataclass` make them, once, when one of them or the fields are asked for; from then on the class is
what the standard library makes.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri_core import forks

__all__ = ["dataclass"]

#: what the standard library adds to each dataclass, to those that are compared, and to frozen ones
_ADDED = ("__init__", "__repr__", "__match_args__", "__dataclass_fields__", "__dataclass_params__")
_COMPARED = ("__eq__", "__hash__")
_FROZEN = ("__setattr__", "__delattr__")
#: options with which the class is what it would be, but later
_DEFERRED = {"eq", "frozen", "kw_only"}
#: one for all: making a class asks for the classes that it derives from
_lock = forks.RLock()


class _Deferred:
    """An attribute ``name`` of ``cls``, which is not a dataclass yet."""

    __slots__ = ("cls", "name", "options")

    def __init__(self, cls: type, name: str, options: dict[str, Any]) -> None:
        self.cls = cls
        self.name = name
        self.options = options

    def __get__(self, instance: object, owner: type) -> Any:
        with _lock:
            if self.cls.__dict__.get(self.name) is self:
                _make(self.cls, self.options)
        return getattr(owner if instance is None else instance, self.name)


def _make(cls: type, options: dict[str, Any]) -> None:
    """Give ``cls`` what the standard library gives a class of the same fields.

    Each attribute is put in place of its :class:`_Deferred` at once: another thread finds one or the other.  A mistake in
    the fields leaves the class as it is, so that the next who asks is told, too.
    """
    made = _counterpart(cls, options)
    for name in inspect.get_annotations(cls):
        if name in vars(made):
            setattr(cls, name, vars(made)[name])
        elif name in vars(cls):  # the declaration of a field without a default
            delattr(cls, name)
    for name, value in vars(made).items():
        if isinstance(cls.__dict__.get(name), _Deferred):
            setattr(cls, name, value)


def _counterpart(cls: type, options: dict[str, Any]) -> type:
    """A dataclass of the fields of ``cls``; its methods belong to ``cls``."""
    fields = ("__dataclass_fields__", "__dataclass_params__")
    bases = [
        type(base.__name__, (), {name: getattr(base, name) for name in fields})
        for base in cls.__mro__[1:]
        if fields[0] in vars(base)
    ]
    own = {
        k: v
        for k, v in vars(cls).items()
        if not isinstance(v, _Deferred) and k not in ("__dict__", "__weakref__")
    }
    # what the standard library asks the class for, wherever it comes from
    asked = ("__post_init__", *inspect.get_annotations(cls))
    inherited = type("Inherited", (), {n: getattr(cls, n) for n in asked if n not in own and hasattr(cls, n)})
    made = type(cls.__name__, (*bases, inherited), {**own, "__qualname__": cls.__qualname__})
    if vars(made).get("__hash__", made) is None:
        del made.__hash__
    made = dataclasses.dataclass(**options)(made)
    for method in (vars(made)[name] for name in _FROZEN if name in vars(made)):
        for cell in method.__closure__ or ():
            if cell.cell_contents is made:
                cell.cell_contents = cls
    return made


def _added(options: dict[str, Any]) -> tuple[str, ...]:
    compared = _COMPARED if options.get("eq", True) else ()
    return (*_ADDED, *compared, *(_FROZEN if options.get("frozen") else ()))


def _defer(cls: type, options: dict[str, Any]) -> type:
    added = _added(options)
    if "__eq__" in added and not options.get("frozen"):
        cls.__hash__ = None  # type: ignore[assignment]  # whether a class can be hashed is asked of its dictionary
    for name in added:
        if name not in vars(cls):
            setattr(cls, name, _Deferred(cls, name, options))
    return cls


def _deferrable(cls: type, options: dict[str, Any]) -> bool:
    """Whether nobody can tell: neither equality nor hashing is the class's own, and no option makes another class of it."""
    return options.keys() <= _DEFERRED and not vars(cls).keys() & set(_COMPARED)


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """As :func:`dataclasses.dataclass`, with the same options; the class is made when it is first used, but for options such as ``order`` and ``slots``.

    A mistake in its fields (a default before none, a mutable default) is an error then, not where it is declared.
    """

    def wrap(cls: type) -> type:
        return _defer(cls, options) if _deferrable(cls, options) else dataclasses.dataclass(**options)(cls)

    return wrap if cls is None else wrap(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass: Callable[..., Any] = _dataclass
