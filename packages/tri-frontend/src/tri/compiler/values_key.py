"""Text of compile-time values, for hashes: the same in every process, or of this process only."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import inspect
import itertools
import os
import types as python_types
import uuid
import weakref
from typing import Any

from tri.kernel import Kernel
from tri.language.constexpr import unwrap
from tri.language.structure import Structure

__all__ = ["captured", "source_text", "stable"]

_PROCESS = uuid.uuid4().hex
_numbers = itertools.count()
_tokens: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def stable(value: Any) -> str:
    """``value`` as text: functions by their source, what has no text of its own by a token of this process."""
    value = unwrap(value)
    if isinstance(value, Kernel):
        return value.cache_key
    kind = type(value).__qualname__
    if isinstance(value, (tuple, list)):
        return f"{kind if type(value) is not list else 'tuple'}({', '.join(map(stable, value))})"
    if isinstance(value, Structure):
        return f"{kind}({', '.join(map(stable, value.structure_parts()))})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__module__}.{kind}.{value.name}={stable(value.value)}"
    if inspect.isfunction(value) or inspect.ismethod(value):
        return _of_function(value)
    if isinstance(value, (type, python_types.BuiltinFunctionType)):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, (dict, set, frozenset)):
        items = value.items() if isinstance(value, dict) else value
        return f"{kind}({', '.join(sorted(map(stable, items)))})"
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):  # the text of an array leaves numbers out
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{type(value).__module__}.{kind} {value.dtype} {getattr(value, 'shape', ())} {digest}"
    if dataclasses.is_dataclass(value):
        fields = (f"{f.name}={stable(getattr(value, f.name))}" for f in dataclasses.fields(value))
        return f"{type(value).__module__}.{kind}({', '.join(fields)})"
    return f"{kind} {value!r}" if _has_text(value) else _token(value)


def _has_text(value: Any) -> bool:
    return getattr(type(value), "__repr__", None) is not getattr(object, "__repr__", None)


def _of_function(function: Any) -> str:
    """A Python function: its source, its defaults, and the values of enclosing functions that it uses."""
    owner = getattr(function, "__self__", None)
    receiver = "" if owner is None else stable(owner)
    own = f"{function.__module__}.{function.__qualname__}\n{source_text(function)}"
    return f"{own}\n{captured(function)} {receiver}"


def captured(function: Any, *, cells: bool = True) -> str:
    """The defaults of a Python function, and with ``cells`` the variables that it closes over."""
    closure = (getattr(function, "__closure__", None) or ()) if cells else ()
    values = [stable(c.cell_contents) for c in closure if _is_filled(c)]
    named = sorted((getattr(function, "__kwdefaults__", None) or {}).items())
    return f"{stable(getattr(function, '__defaults__', None))} {stable(tuple(named))} {values}"


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  an empty cell raises
    except ValueError:
        return False
    return True


def source_text(function: Any) -> str:
    """The source of a Python function; its code where there is no source."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return f"{code.co_code.hex()} {code.co_consts} {code.co_names}" if code else _token(function)


def _token(value: Any) -> str:
    """A name for an object that nothing else has, in this process or another."""
    try:
        if value not in _tokens:
            _tokens[value] = next(_numbers)
        number = _tokens[value]
    except TypeError:  # neither hashable nor weakly referable: never the same again
        number = next(_numbers)
    return f"{type(value).__qualname__} {_PROCESS} {os.getpid()} {number}"
