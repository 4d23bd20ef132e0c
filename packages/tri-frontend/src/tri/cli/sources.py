"""What ``tri compile`` compiles: kernels named on the command line, with their signatures."""

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
from tri_core.errors import OptionError, SourceLocation, TriError
from tri_core.files import read_text
from tri_core.foreign import Contained, Ended, describe

if TYPE_CHECKING:
    from tri_core.compiler import IRSource, Source

__all__ = ["parse_options", "parse_signature", "read_kernel", "read_source", "with_kernel"]


def read_source(text: str, signature: str) -> Source | IRSource:
    """``FILE.py:kernel`` with its signature, or the path of a file of IR."""
    from tri_core.compiler import IRSource

    path, colon, _ = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        if text.endswith(".py"):
            raise OptionError(f"{text} is a Python file", remedy=f"name the kernel in it: {text}:kernel")
        return IRSource.from_file(text)
    from tri.compiler.source import ASTSource

    kernel = read_kernel(text)
    return ASTSource(kernel, *parse_signature(kernel, signature))


def with_kernel(text: str) -> str:
    """``FILE.py`` as ``FILE.py:kernel``, if there is only one; OptionError if not.  Other texts as they are."""
    if not text.endswith(".py"):
        return text
    module = _load(Path(text))
    kernels = [name for name, kernel in _kernels(module).items() if _is_entry(kernel)]
    if len(kernels) != 1:
        raise OptionError(
            f"{text} has {len(kernels)} kernels without a result",
            remedy=f"name one: {text}:{kernels[0] if kernels else 'kernel'}"
            + (f" (there are {', '.join(kernels)})" if kernels else ""),
        )
    return f"{text}:{kernels[0]}"


def _is_entry(kernel: JITFunction) -> bool:
    """Whether a function can be launched: one that returns a value is called by others."""
    nodes = ast.walk(kernel.source.tree)
    return not any(isinstance(node, ast.Return) and node.value is not None for node in nodes)


def read_kernel(text: str) -> JITFunction:
    """The kernel in ``FILE.py:kernel``, without what is around it (tuning, heuristics)."""
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise OptionError(f"{text} names no kernel", remedy=f"write {text.rstrip(':')}:kernel")
    return _kernel(_load(Path(path)), path, name)


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
    """What is said of a file whose import ended in ``error``, with the last place in it."""
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
    found = {name: getattr(value, "base_fn", value) for name, value in vars(module).items()}
    return {name: value for name, value in found.items() if isinstance(value, JITFunction)}


def parse_signature(
    kernel: JITFunction, text: str
) -> tuple[dict[str, str], dict[str, Any], dict[Any, Sequence[Sequence[Any]]]]:
    """The signature, constexprs and attributes of ``*fp32:16, n=i32, 1024``; OptionError for what is wrong."""
    entries = [e.strip() for e in text.split(",") if e.strip()]
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    attributes: dict[Any, Sequence[Sequence[Any]]] = {}
    for position, entry in enumerate(entries):
        name, value = _split(kernel, position, entry)
        type_, _, hint = value.partition(":")
        constant = _constant(type_)
        if constant is not None or hint == "1":
            signature[name] = "constexpr"
            constants[name] = constant[0] if constant is not None else 1
            continue
        signature[name] = type_
        if hint:
            attributes[name] = [["tt.divisibility", _integer(hint, entry)]]
    defaults = {p.name: p.default for p in kernel.params if p.has_default and p.name not in signature}
    missing = [n for n in kernel.arg_names if n not in signature and n not in defaults]
    if missing:
        raise OptionError(
            f"the signature of {kernel.__name__} lacks {', '.join(missing)}",
            remedy=f"give --signature for all of {kernel.signature_text}, e.g. '*fp32:16, i32, 1024'",
        )
    return signature, {**defaults, **constants}, attributes


def _split(kernel: JITFunction, position: int, entry: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if equals:
        return name.strip(), value.strip()
    if position >= len(kernel.params):
        raise OptionError(f"the signature has more entries than {kernel.__name__}{kernel.signature_text}")
    return kernel.arg_names[position], entry


def _constant(text: str) -> tuple[Any] | None:
    """A literal in a tuple; None for a type."""
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError):
        return None


def _integer(text: str, entry: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"{entry!r}: {text!r} is not a divisor", remedy="write *fp32:16") from None


def parse_options(pairs: Sequence[str]) -> Mapping[str, Any]:
    """``["num_warps=8"]`` as options; values are Python literals, else strings."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise OptionError(f"{pair!r} is not an option", remedy="write name=value, e.g. num_warps=8")
        constant = _constant(value)
        options[name.strip()] = constant[0] if constant is not None else value
    return options
