"""Records of plugins whose fields are checked when they are made."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from functools import cache
from typing import Any

from tri_core.errors import PluginError

__all__ = ["TypedFields"]


class _Checked(type):
    """Refuses fields that a record does not have, before its own ``__init__`` does without a remedy."""

    def __call__(cls, *values: Any, **fields: Any) -> Any:
        known = _declared(cls)
        for name in fields:
            if name not in known:
                near = difflib.get_close_matches(name, known)
                raise PluginError(
                    f"{cls.__name__} has no field {name!r}",
                    remedy=f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}",
                    plugin=cls.__module__.partition(".")[0],
                )
        return super().__call__(*values, **fields)


class TypedFields(metaclass=_Checked):
    """A frozen dataclass whose fields exist, with values of the types that they declare: PluginError otherwise.

    The error is as early as a plugin makes the record.
    """

    def __post_init__(self) -> None:
        record: Any = type(self)
        for name, wanted in _declared(record).items():
            value = getattr(self, name)
            if not _is(value, wanted):
                raise PluginError(
                    f"{type(self).__name__}.{name} is {value!r}; {_text(wanted)} is expected",
                    remedy=f"see the docstring of {type(self).__module__}.{type(self).__qualname__}",
                    plugin=type(self).__module__.partition(".")[0],
                )


@cache
def _declared(record: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(record)
    return {field.name: hints[field.name] for field in dataclasses.fields(record)}


def _is(value: object, wanted: Any) -> bool:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(_is(value, each) for each in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1:] == (Ellipsis,):
            return all(_is(each, arguments[0]) for each in value)
        return len(value) == len(arguments) and all(map(_is, value, arguments))
    if wanted is int:  # True is no number of registers
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, type) and getattr(
        wanted, "_is_protocol", False
    ):  # a class has the methods of its instances
        return False
    return isinstance(value, wanted) if isinstance(wanted, type) else True


def _text(wanted: Any) -> str:
    return wanted.__name__ if isinstance(wanted, type) and not typing.get_args(wanted) else str(wanted)
