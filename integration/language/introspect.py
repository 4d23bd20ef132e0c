"""Names and signatures of an installed Triton, as TOML: ``python introspect.py > triton-3.9.toml``.

Runs in an environment that has Triton; nothing of this repository is imported.
"""

from __future__ import annotations

import enum
import inspect
import json
import sys
import types
from collections.abc import Iterator
from typing import Any

#: section -> where its names are
MODULES = {
    "triton": "triton",
    "triton.testing": "triton.testing",
    "tl": "triton.language",
    "tl.math": "triton.language.math",
    "tl.target_info": "triton.language.target_info",
    "tl.extra.libdevice": "triton.language.extra.libdevice",
    "tl.extra.cuda": "triton.language.extra.cuda",
    "tl.extra.hip": "triton.language.extra.hip",
}
CLASSES = {"tl.tensor": "tensor", "tl.dtype": "dtype", "tl.tensor_descriptor": "tensor_descriptor"}
#: public without being in ``__all__``
MORE = (
    "aggregate_replace",
    "core",
    "random",
    "semantic",
    "standard",
    "str_to_ty",
    "tensor_descriptor_type",
    "tuple_type",
)
HIDDEN = ("_semantic", "_generator", "_builder", "self")


def signature(value: Any) -> str | None:
    """``(x, y=1)`` without what the compiler passes; None for what has no signature."""
    function = getattr(value, "fn", value)
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    shown = [p.replace(annotation=inspect.Parameter.empty) for p in parameters if p.name not in HIDDEN]
    return str(inspect.Signature(shown))


def names_of(module: types.ModuleType) -> Iterator[str]:
    listed = getattr(module, "__all__", None)
    yield from sorted(listed if listed is not None else (n for n in vars(module) if not n.startswith("_")))


def section(owner: Any, names: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        value = getattr(owner, name, None)
        if isinstance(value, types.ModuleType):
            found[name] = "module"
        elif callable(value):
            found[name] = signature(value) or "class"
        else:
            found[name] = "value"
    return found


def main() -> None:
    """Write the tables to standard output."""
    import importlib

    import triton
    import triton.language as tl

    out = [
        f'# names and signatures of triton {triton.__version__}, written by introspect.py\nversion = "{triton.__version__}"'
    ]
    for title, path in MODULES.items():
        module = importlib.import_module(path)
        names = list(names_of(module))
        if title in ("tl.math", "tl.extra.cuda", "tl.target_info"):
            names = sorted({*names, *(n for n in vars(module) if not n.startswith("_"))})
        if title == "triton.testing":
            names = [
                n
                for n, v in vars(module).items()
                if getattr(v, "__module__", "") == path and not n.startswith("_")
            ]
        if title == "tl":
            names = sorted({*names, *MORE})
        table = section(module, sorted(names))
        if title != "triton" and title != "tl":
            table = {
                n: s
                for n, s in table.items()
                if s != "module" and n not in ("T", "List", "wraps", "annotations", "driver")
            }
        out += [f"\n[{json.dumps(title)}]", *(f"{json.dumps(n)} = {json.dumps(s)}" for n, s in table.items())]
    for title, name in CLASSES.items():
        owner = getattr(tl, name)
        members = [
            n for n in dir(owner) if not n.startswith("_") or (n.startswith("__") and n in _operators(owner))
        ]
        table = section(owner, sorted(members))
        out += [f"\n[{json.dumps(title)}]", *(f"{json.dumps(n)} = {json.dumps(s)}" for n, s in table.items())]
    sys.stdout.write("\n".join(out) + "\n")


def _operators(owner: type) -> set[str]:
    return {n for n in vars(owner) if getattr(vars(owner)[n], "__triton_builtin__", False)}


if __name__ == "__main__":
    main()
