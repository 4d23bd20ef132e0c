"""The names of a Triton that is installed: ``python integration/triton_names/read_wheel.py`` under its Python.

Writes ``names.json``: module -> name -> kind, parameters of a function or class, public attributes of a class; and the
variables of the environment.  Facts only; what Triton's tests are made of is left out.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

#: what Triton's own tests and builds are made of
_LEFT_OUT = (
    "triton._C",
    "triton._compile_warmup",
    "triton._filecheck",
    "triton._instrumentation",
    "triton._internal_testing",
    "triton._test_runner",
    "triton.plugins",
)
_VARIABLE = re.compile(
    r"""["']((?:TRITON|AMDGCN|NVPTX|MLIR|LLVM)_[A-Z0-9_]+|DISABLE_[A-Z_]+|PTXAS_OPTIONS|USE_IR_LOC)["']"""
)


def _parameters(value: Any) -> list[str] | None:
    try:
        return [
            str(p).partition(":")[0].partition("=")[0] for p in inspect.signature(value).parameters.values()
        ]
    except (TypeError, ValueError):
        return None


def _entry(value: Any) -> dict[str, Any]:
    if inspect.isclass(value):
        public = sorted(a for a in dir(value) if not a.startswith("_"))
        return {"kind": "class", "parameters": _parameters(value), "attributes": public}
    if callable(value):
        return {"kind": "function", "parameters": _parameters(value)}
    return {"kind": "value"}


def _scan(name: str, found: dict[str, Any]) -> None:
    found[name] = {}
    try:
        module = importlib.import_module(name)
    except ImportError as error:  # parts of the wheel need what it does not bring
        print(f"{name}: {error}")
        return
    for key, value in sorted(vars(module).items()):
        owner = getattr(value, "__module__", None) or name
        own = (
            not inspect.ismodule(value)
            and not isinstance(value, (TypeVar, ParamSpec))
            and str(owner).startswith("triton")
        )
        if (
            own
            and not key.startswith("__")
            and (not key.startswith("_") or owner == name)
            and key != "TYPE_CHECKING"
        ):
            found[name][key] = _entry(value)
    for child in pkgutil.iter_modules(getattr(module, "__path__", [])):
        path = f"{name}.{child.name}"
        if not path.startswith(_LEFT_OUT):
            _scan(path, found)


def main() -> None:
    """Write the file beside this one."""
    import triton

    found: dict[str, Any] = {}
    _scan("triton", found)
    root = Path(triton.__file__).parent
    files = [p for p in root.rglob("*.py") if "experimental" not in p.parts]
    variables = sorted({v for p in files for v in _VARIABLE.findall(p.read_text())})
    made = {"version": triton.__version__, "modules": found, "variables": variables}
    (Path(__file__).parent / "names.json").write_text(json.dumps(made, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
