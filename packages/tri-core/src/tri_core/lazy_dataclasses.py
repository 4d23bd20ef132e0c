"""``dataclass`` whose methods are made when a class is first used.

The standard library compiles source text for each method of a dataclass when its module is imported: 0.4 ms a class, a
fifth of the time from the start of a process to its first kernel.  Most of the classes that a compiler declares, passes and
ops and encodings of other hardware, are used by few kernels.  This decorator puts in place of the methods what has
them made, once, when one of them or the fields are asked for: fields by :func:`dataclasses.dataclass`, methods by
:mod:`tri_core.dataclass_methods` where that can; from then on the class does what the standard library's does.
"""

from __future__ import annotations

import dataclasses
import inspect
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tri_core import dataclass_methods as methods
from tri_core import forks

__all__ = ["dataclass"]

#: what the standard library adds to each dataclass, to frozen ones, and to those that are compared
_ADDED = ("__init__", "__repr__", "__match_args__", "__dataclass_fields__", "__dataclass_params__")
_FROZEN = ("__setattr__", "__delattr__")
_COMPARED = ("__eq__", "__hash__")
_BEHIND_FIELDS = (*_COMPARED, *methods.ORDERED)
#: bases, the last of which is no dataclass, and the dictionary of a class
_Parts = tuple[tuple[type, ...], dict[str, Any]]
#: options with which the class is what it would be, but later
_DEFERRED = {"eq", "frozen", "kw_only", "order"}
_UNFROZEN = {"__dataclass_params__": methods.shared_parameters(())}
#: one for all: making a class asks for the classes that it derives from
_lock = forks.RLock()


class _Deferred:
    """An attribute ``name`` of a class that has it not yet."""

    __slots__ = ("declared", "name")

    def __init__(self, declared: _Declared, name: str) -> None:
        self.declared = declared
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        with _lock:
            if self.declared.cls.__dict__.get(self.name) is self:
                self.declared.make(self.name)
        return getattr(owner if instance is None else instance, self.name)


class _Declared:
    """A class ``cls`` with the options of its decorator; made in two steps, of which comparison is the second."""

    def __init__(self, cls: type, options: dict[str, Any]) -> None:
        self.cls = cls
        self.options = options
        #: bases and dictionary of what the standard library gets, as declared; known from the first step on
        self.parts: _Parts | None = None

    def defer(self) -> type:
        """Put the attributes' stand-ins in their place."""
        compared = _COMPARED if self.options.get("eq", True) else ()
        frozen = _FROZEN if self.options.get("frozen") else ()
        ordered = methods.ORDERED if self.options.get("order") else ()
        if compared and not frozen:
            # whether a class can be hashed is asked of its dictionary
            self.cls.__hash__ = None  # type: ignore[assignment]
        for name in (*_ADDED, *compared, *frozen, *ordered):
            if name not in vars(self.cls):
                setattr(self.cls, name, _Deferred(self, name))
        return self.cls

    def make(self, name: str) -> None:
        """Make what ``name`` is made with.

        Each attribute is put in place of its :class:`_Deferred` at once: another thread finds one or the other.  A mistake in
        the fields leaves the class as it is, so that the next who asks is told, too.
        """
        if self.parts is None:
            self._make_fields()
        if name in _BEHIND_FIELDS:
            fields = dataclasses.fields(self.cls)
            self._take(
                {**methods.comparisons(self.cls, fields), "__hash__": methods.hashing(self.cls, fields)}
            )

    def _make_fields(self) -> None:
        parts = self._parts()
        made = self._without_text(parts) or _counterpart(self.cls, parts, self.options)
        self.parts = parts
        for name in inspect.get_annotations(self.cls):
            if name in vars(made):
                setattr(self.cls, name, vars(made)[name])
            elif name in vars(self.cls):  # the declaration of a field without a default
                delattr(self.cls, name)
        self._take(vars(made))

    def _without_text(self, parts: _Parts) -> type | None:
        """A class with fields and all methods but those that compare; None where the standard library must make it."""
        is_frozen = bool(self.options.get("frozen"))
        if any(base.__dataclass_params__.frozen != is_frozen for base in parts[0][:-1]):  # type: ignore[attr-defined]
            return None
        bases = [_unfrozen(base) for base in parts[0][:-1]]
        made = _counterpart(
            self.cls,
            ((*bases, parts[0][-1]), parts[1]),
            {**self.options, "init": False, "repr": False, "eq": False, "order": False, "frozen": False},
        )
        if not methods.is_ordinary(made):
            return None
        fields = dataclasses.fields(made)
        more: dict[str, Any] = {
            "__dataclass_params__": methods.shared_parameters(tuple(self.options.items())),
            "__init__": methods.constructor(self.cls, fields, is_frozen=is_frozen),
            "__repr__": methods.representation(self.cls, fields),
        }
        if is_frozen:
            more |= dict(zip(_FROZEN, methods.frozen(self.cls, fields), strict=True))
        for name, value in more.items():
            setattr(made, name, value)
        return made

    def _take(self, made: Mapping[str, Any]) -> None:
        for name, value in made.items():
            if isinstance(self.cls.__dict__.get(name), _Deferred):
                setattr(self.cls, name, value)

    def _parts(self) -> _Parts:
        if self.parts is not None:
            return self.parts
        cls = self.cls
        bases = [_with_fields_alone(base) for base in cls.__mro__[1:] if "__dataclass_fields__" in vars(base)]
        own = {
            k: v
            for k, v in vars(cls).copy().items()
            if not isinstance(v, _Deferred) and k not in ("__dict__", "__weakref__")
        }
        # what the standard library asks the class for, wherever it comes from
        asked = ("__post_init__", *inspect.get_annotations(cls))
        inherited = {n: getattr(cls, n) for n in asked if n not in own and hasattr(cls, n)}
        # without a text it would write the signature
        own = {**own, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__ or cls.__name__}
        return (*bases, type("Inherited", (), inherited)), own


#: by dataclass: what has its fields and nothing else, and the same as of one that is not frozen
_fields_alone: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()
_unfrozen_ones: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


def _with_fields_alone(base: type) -> type:
    """A class with the fields of the dataclass ``base``, as the standard library asks bases for them; made once, since many derive from it."""
    found = _fields_alone.get(base)
    if found is None:
        fields = ("__dataclass_fields__", "__dataclass_params__")
        found = _fields_alone[base] = type(base.__name__, (), {name: getattr(base, name) for name in fields})
    return found


def _unfrozen(alone: type) -> type:
    """The same as of a dataclass that is not frozen."""
    found = _unfrozen_ones.get(alone)
    if found is None:
        found = _unfrozen_ones[alone] = type(alone.__name__, (), {**vars(alone), **_UNFROZEN})
    return found


def _counterpart(cls: type, parts: _Parts, options: dict[str, Any]) -> type:
    """A dataclass of the fields of ``cls``; its methods belong to ``cls``."""
    made = type(cls.__name__, *parts)
    if vars(made).get("__hash__", made) is None:
        del made.__hash__
    made = dataclasses.dataclass(**options)(made)
    for method in (vars(made)[name] for name in _FROZEN if name in vars(made)):
        for cell in method.__closure__ or ():
            if cell.cell_contents is made:
                cell.cell_contents = cls
    return made


def _deferrable(cls: type, options: dict[str, Any]) -> bool:
    """True if deferral is unobservable: the class defines no comparison or hash, and no option replaces the
    class or is refused.
    """
    is_refused = options.get("order") and not options.get("eq", True)
    own = vars(cls).keys() & {*_COMPARED, *(methods.ORDERED if options.get("order") else ())}
    return options.keys() <= _DEFERRED and not own and not is_refused


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """As :func:`dataclasses.dataclass`, with the same options; the class is made when it is first used, but for options such as ``slots``.

    A mistake in its fields (a default before none, a mutable default) is an error then, not where it is declared.
    """

    def wrap(cls: type) -> type:
        return (
            _Declared(cls, options).defer()
            if _deferrable(cls, options)
            else dataclasses.dataclass(**options)(cls)
        )

    return wrap if cls is None else wrap(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass: Callable[..., Any] = _dataclass
