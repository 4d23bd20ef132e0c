"""Signature of a function of the language for its callers: parameters, types, results."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tri.jit import JITFunction
from tri.language.builtin import is_builtin

__all__ = ["Shown", "annotation", "is_language_function", "overloads"]

#: what the code generator passes, and nobody else
_HIDDEN = frozenset({"_semantic", "_generator"})
#: functions with a flag that makes the result a tuple: name -> (flag, the result with it)
_FLAGS = dict.fromkeys(("max", "min"), ("return_indices", "_builtins.tuple[tensor, tensor]"))
#: functions whose result is a value, or a tuple for a tuple: name -> (parameter, its type for a value)
_TUPLES = {
    "reduce": ("input", "tensor"),
    "associative_scan": ("input", "tensor"),
    "inline_asm_elementwise": ("dtype", "_dtype"),
}
#: types of the language that classes have members named like; the stubs import them under another name too
_TYPES = re.compile(r"(?<![\w.])(dtype|block_type|pointer_type|tensor_descriptor_type)(?!\w)")
#: names of Python that the language has for something else
_SHADOWED = re.compile(r"(?<![\w.])(tuple|slice|range)(?!\w)")


@dataclass(frozen=True)
class Shown:
    """One overload: parameters as text, and the result."""

    parameters: tuple[str, ...]
    result: str

    def text(self, name: str, doc: str, indent: str, *, overload: bool, last: bool) -> str:
        """The definition; ``doc`` stands under the last one."""
        lines = ["@_overload"] if overload else []
        ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        end = "" if last and doc else " ..."
        lines.append(f"def {name}({', '.join(self.parameters)}) -> {self.result}:{end}{ignore}")
        if last and doc:
            lines.append(f'    """{doc}"""')
        return textwrap.indent("\n".join(lines), indent)


def is_language_function(value: object) -> bool:
    """True if kernels call ``value`` as a function of the language."""
    return is_builtin(value) or isinstance(value, JITFunction)


def overloads(name: str, value: Any, *, method: bool = False) -> Iterator[Shown]:
    """The ways to call ``value``, a function of the language."""
    function = value.fn if isinstance(value, JITFunction) else value.__tri_builtin__
    signature = inspect.signature(function)
    if method and not isinstance(value, JITFunction) and "self" not in signature.parameters:
        method = bool(signature.parameters)
    result = "tensor" if isinstance(value, JITFunction) else annotation(signature.return_annotation)
    if isinstance(value, JITFunction):
        result = _result_of(value)
    given = [p for p in signature.parameters.values() if p.name not in _HIDDEN]
    if name in ("__eq__", "__ne__"):
        given = [p.replace(annotation="object") for p in given]
    if name in _FLAGS:
        flag, wide = _FLAGS[name]
        yield Shown(_parameters(given, method, {flag: "_Literal[True]"}, needed=flag), wide)
        yield Shown(_parameters(given, method, {flag: "_Literal[True]"}, keyword=flag), wide)
        yield Shown(_parameters(given, method, {flag: "_Literal[False]"}), result)
    elif name in _TUPLES and not method:
        parameter, kind = _TUPLES[name]
        several = "_builtins.tuple[_Any, ...]" + (" | list[_Any]" if kind == "_dtype" else "")
        yield Shown(_parameters(given, method, {parameter: kind}), "tensor")
        yield Shown(_parameters(given, method, {parameter: several}), "_builtins.tuple[tensor, ...]")
    else:
        yield Shown(_parameters(given, method, {}), "tensor" if name in _TUPLES else result)


def _parameters(
    given: Sequence[inspect.Parameter],
    method: bool,
    types: dict[str, str],
    needed: str | None = None,
    keyword: str | None = None,
) -> tuple[str, ...]:
    """``given`` as text; all up to ``needed`` without defaults, those from ``keyword`` on by keyword alone."""
    names = [p.name for p in given]
    required = names[: names.index(needed) + 1] if needed is not None else []
    shown: list[str] = []
    starred = False
    for i, p in enumerate(given):
        if i == 0 and method:
            shown.append("self")
            continue
        starred = starred or p.kind is p.VAR_POSITIONAL
        if not starred and (p.kind is p.KEYWORD_ONLY or p.name == keyword):
            shown.append("*")
            starred = True
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        text = f"{stars}{p.name}: {types.get(p.name) or annotation(p.annotation)}"
        if p.default is not p.empty and p.name not in required and p.name != keyword:
            text += f" = {_default(p.default)}"
        shown.append(text)
    return tuple(shown)


def annotation(given: Any) -> str:
    """A type as the stubs write it."""
    if given is inspect.Parameter.empty:
        return "_Any"
    text = given if isinstance(given, str) else getattr(given, "__name__", str(given))
    text = re.sub(r"(?<![\w.])(?:types|t)\.(?=\w)", "", text)
    text = re.sub(r"(?<![\w.])(Any|Sequence|Callable|Iterable)(?!\w)", r"_\1", text)
    return _TYPES.sub(r"_\1", _SHADOWED.sub(r"_builtins.\1", text))


def _default(value: Any) -> str:
    return repr(value) if value is None or type(value) in (bool, int, float, str, tuple) else "..."


def _result_of(function: JITFunction) -> str:
    """Result annotation of a function of the language that is written in itself: a value, or so many."""
    counts = {
        _count(function, node.value) for node in ast.walk(_tree(function.fn)) if isinstance(node, ast.Return)
    }
    if len(counts) != 1:
        raise ValueError(f"{function} returns tuples of different sizes: {sorted(counts)}")
    count = counts.pop()
    return "tensor" if count == 1 else f"_builtins.tuple[{', '.join(['tensor'] * count)}]"


def _tree(function: Callable[..., Any]) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _count(function: JITFunction, value: ast.expr | None) -> int:
    """Number of values that a return gives."""
    if isinstance(value, ast.Tuple):
        return len(value.elts)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        called = function.fn.__globals__.get(value.func.id)
        if isinstance(called, JITFunction) and called is not function:
            inner = _result_of(called)
            return max(inner.count("tensor"), 1)
    return 1
