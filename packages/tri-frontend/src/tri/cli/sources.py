"""Inputs of ``tri compile``: kernels named on the command line, with their signatures."""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tri.jit import JITFunction
from tri.signature_text import literal, parse_signature
from tri_core.errors import OptionError, SourceLocation, TriError
from tri_core.files import read_text
from tri_core.foreign import Contained, Ended, describe

if TYPE_CHECKING:
    from tri_core.compiler import IRSource, Source

__all__ = ["parse_options", "read_kernel", "read_source", "read_wrapped"]


def read_source(text: str, signature: str) -> Source | IRSource:
    """``FILE.py:kernel``, or ``FILE.py`` with one kernel, with its signature; or the path of a file of IR."""
    from tri_core.compiler import IRSource

    if not text.endswith(".py") and not text.rpartition(":")[0].endswith(".py"):
        return IRSource.from_file(text)
    from tri.compiler.source import ASTSource

    kernel = read_kernel(text)
    return ASTSource(kernel, *parse_signature(kernel, signature))


def _only_kernel(path: str, module: ModuleType) -> str:
    """The name of the one kernel in ``module`` that can be launched; OptionError if there are none or several."""
    kernels = [name for name, kernel in _kernels(module).items() if _is_entry(kernel)]
    if len(kernels) != 1:
        raise OptionError(
            f"{path} has {len(kernels)} kernels without a result",
            remedy=f"name one: {path}:{kernels[0] if kernels else 'kernel'}"
            + (f" (there are {', '.join(kernels)})" if kernels else ""),
        )
    return kernels[0]


def _is_entry(kernel: JITFunction) -> bool:
    """True if a function can be launched: one that returns a value is for callers."""
    nodes = ast.walk(kernel.source.tree)
    return not any(isinstance(node, ast.Return) and node.value is not None for node in nodes)


def read_kernel(text: str) -> JITFunction:
    """The kernel in ``FILE.py:kernel``, or the only one in ``FILE.py``, without tuning and heuristics around it."""
    return read_wrapped(text)[0]


def read_wrapped(text: str) -> tuple[JITFunction, Any]:
    """The kernel as :func:`read_kernel` has it, and with what is around it."""
    if text.endswith(".py"):
        path, module = text, _load(Path(text))
        name = _only_kernel(text, module)
    else:
        path, colon, name = text.rpartition(":")
        if not colon or not path.endswith(".py"):
            raise OptionError(f"{text} names no kernel", remedy=f"write {text.rstrip(':')}:kernel")
        module = _load(Path(path))
    return _kernel(module, path, name), getattr(module, name)


def _load(path: Path) -> ModuleType:
    """The module in a Python file; OptionError for a file that is none, or that fails as it is imported."""
    read_text(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    try:
        with Contained():
            spec.loader.exec_module(module)
    except Exception as error:
        sys.path.remove(str(path.parent))
        if before is None:
            sys.modules.pop(path.stem, None)
        raise _not_imported(path, error) from error
    return module


def _not_imported(path: Path, error: Exception) -> TriError:
    """Error for a file whose import ended in ``error``, with the last place in it."""
    if isinstance(error, TriError) and error.location is not None:
        return error
    if isinstance(error, SyntaxError):
        location = SourceLocation(
            error.filename or str(path), error.lineno or 1, max((error.offset or 1) - 1, 0)
        )
    else:
        cause = error.__cause__ if isinstance(error, Ended) else error
        frames = traceback.extract_tb(cause.__traceback__) if cause is not None else []
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        location = SourceLocation(str(path), (lines or [1])[-1] or 1)
    return OptionError(
        f"{path} cannot be imported: {describe(error)}",
        location=location,
        remedy=f"see that `python {path.name}` works",
    )


def _kernel(module: ModuleType, path: str, name: str) -> JITFunction:
    found = getattr(module, name, None)
    found = getattr(found, "base_fn", found)
    if isinstance(found, JITFunction):
        return found
    raise OptionError(
        f"{path} has no kernel {name!r}", remedy=f"its kernels are {', '.join(_kernels(module)) or 'none'}"
    )


def _kernels(module: ModuleType) -> dict[str, JITFunction]:
    """The kernels in ``module`` by name, without what is around them."""
    found = {name: getattr(value, "base_fn", value) for name, value in vars(module).copy().items()}
    return {name: value for name, value in found.items() if isinstance(value, JITFunction)}


def parse_options(pairs: Sequence[str]) -> Mapping[str, Any]:
    """``["num_warps=8"]`` as options; values are Python literals, else strings."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise OptionError(f"{pair!r} is not an option", remedy="write name=value, e.g. num_warps=8")
        constant = literal(value)
        options[name.strip()] = constant[0] if constant is not None else value
    return options
