"""A version of a kernel as text, to be compiled in another process before it is needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tri_core.errors import OptionError

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel

__all__ = ["read_specialization_data", "specialization_data"]

#: what JSON keeps as it is
_PLAIN = (bool, int, float, str, type(None))


def specialization_data(source: ASTSource, target: str, options: Mapping[str, Any]) -> str | None:
    """The version as JSON; None where tuples or objects are among the arguments."""
    if source.trees:
        return None
    constants = {}
    for name, value in source.constants.items():
        written = _written(value)
        if written is None:
            return None
        constants[name] = written
    return json.dumps(
        {
            "name": source.fn.__name__,
            "signature": source.texts(),
            "constants": constants,
            "attrs": {name: [list(fact) for fact in facts] for name, facts in source.attrs.items()},
            "options": {name: value for name, value in options.items() if isinstance(value, _PLAIN)},
            "target": target,
            "key": source.fn.cache_key,
        }
    )


def _written(value: Any) -> dict[str, Any] | None:
    from tri.language.types import dtype

    if isinstance(value, _PLAIN):
        return {"value": value}
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if isinstance(value, tuple):
        items = [_written(item) for item in value]
        return {"tuple": items} if None not in items else None
    return None


def _read(written: Mapping[str, Any]) -> Any:
    from tri.language.types import dtype

    if "dtype" in written:
        return dtype(written["dtype"])
    if "tuple" in written:
        return tuple(_read(item) for item in written["tuple"])
    return written["value"]


def read_specialization_data(function: Kernel, text: str) -> tuple[ASTSource, str, dict[str, Any]]:
    """The source, target and options in ``text``; OptionError when it is of another kernel or another source."""
    from tri.compiler.source import ASTSource

    try:
        data = json.loads(text)
        name, key = data["name"], data["key"]
        constants = {n: _read(written) for n, written in data["constants"].items()}
        signature, attrs, target, options = (data[k] for k in ("signature", "attrs", "target", "options"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise OptionError(
            f"the specialization of {function.__name__} cannot be read: {type(error).__name__}: {error}",
            remedy="pass the text that jit_cache_hook gets as compile['specialization_data']",
        ) from error
    if name != function.__name__ or key != function.cache_key:
        what = f"of kernel {name}" if name != function.__name__ else "of another version of its source"
        raise OptionError(
            f"the specialization is {what}, not of {function.__name__}", remedy="record it anew"
        )
    return ASTSource(function, signature, constants, attrs), target, options
