"""Triton's public names (``triton-3.9.toml``), and what this repository has under them."""

from __future__ import annotations

import functools
import importlib
import inspect
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["HERE", "absent", "find", "reference", "signature"]

HERE = Path(__file__).parent
#: section -> (module, class in it)
_PLACES = {
    "triton": ("tri", None),
    "triton.testing": ("tri.testing", None),
    "tl": ("tri.language", None),
    "tl.math": ("tri.language.math", None),
    "tl.target_info": ("tri.language.target_info", None),
    "tl.extra.libdevice": ("tri.language.extra.libdevice", None),
    "tl.extra.cuda": ("tri.language.extra", "cuda"),
    "tl.extra.hip": ("tri.language.extra", "hip"),
    "tl.tensor": ("tri.language", "tensor"),
    "tl.dtype": ("tri.language", "dtype"),
    "tl.tensor_descriptor": ("tri.language", "tensor_descriptor"),
}
_HIDDEN = ("_semantic", "_generator", "self")
_MISSING = object()


@functools.cache
def reference() -> Mapping[str, Mapping[str, str]]:
    """Section -> name -> signature as text, or ``class``, ``module``, ``value``."""
    tables = tomllib.loads((HERE / "triton-3.9.toml").read_text())
    return {title: table for title, table in tables.items() if isinstance(table, dict)}


def find(section: str, name: str) -> Any:
    """The object here, or None where there is none."""
    module, attribute = _PLACES[section]
    owner: Any = importlib.import_module(module)
    if attribute is not None:
        owner = getattr(owner, attribute)
    found = getattr(owner, name, _MISSING)
    if found is _MISSING and section == "tl.tensor" and name in ("T",):
        return "handled by the code generator"
    return None if found is _MISSING else found


def absent() -> list[str]:
    """The full names that this repository does not have."""
    return [f"{s}.{n}" for s, table in reference().items() for n in table if find(s, n) is None]


def signature(value: Any) -> str | None:
    """As ``introspect.py`` writes it; None for what has no signature."""
    plain = getattr(value, "__tri_builtin__", getattr(value, "fn", value))
    try:
        parameters = inspect.signature(plain).parameters.values()
    except (TypeError, ValueError):
        return None
    shown = [p.replace(annotation=inspect.Parameter.empty) for p in parameters if p.name not in _HIDDEN]
    return str(inspect.Signature(shown))
