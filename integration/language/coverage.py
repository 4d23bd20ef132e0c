"""``docs/conformance/coverage.md``: which rows of the conformance kit reach which name of the language.

Found by watching the code generator while it makes the IR of every row's first case: a name counts when a kernel of the
kit itself uses it in code that is compiled, not when the language does so behind it.
"""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

from integration.language.names import HERE, find, reference
from integration.language.probing import probes
from tri.compiler.generator import Generator
from tri.language.block_pointers import block_pointer
from tri.language.constexpr import constexpr
from tri.language.descriptors import tensor_descriptor_base
from tri.language.python_values import BoundMethod
from tri.language.tensor import tensor
from tri.language.types import dtype, pointer_type
from tri_conformance import Subject
from tri_conformance.case import Case, asked
from tri_conformance.levels import LEVELS, effects
from tri_core import mlir
from tri_core.errors import CompilationError

__all__ = ["DOCUMENT", "reached", "reason", "reasons", "render", "tried", "wanted", "write"]

DOCUMENT = HERE.parents[1] / "docs" / "conformance" / "coverage.md"
_MOST = 4
_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
#: functions whose masks are none of their operands
_MASKED = ("load", "store", "where", "atomic", "histogram", "expect_zero")
_UNARY = {ast.USub: "neg", ast.Invert: "invert", ast.Not: "not"}


class _Compiled(Exception):
    """The IR is made; no more is needed."""


@functools.cache
def _by_object() -> Mapping[int, tuple[str, ...]]:
    """The full names of a function of the language, by its identity."""
    found: dict[int, list[str]] = {}
    for section in ("tl", "tl.math", "tl.extra.libdevice"):
        for name in reference()[section]:
            value = find(section, name)
            if callable(value):
                found.setdefault(id(value), []).append(f"{section}.{name}")
    return {key: tuple(names) for key, names in found.items()}


class _Watch:
    """Nodes that the code generator visits in the functions of the kit."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        #: full name -> element types of what it was given
        self.types: dict[str, set[str]] = {}
        self._values: dict[int, Any] = {}

    def sees(self, generator: Generator, node: ast.AST, value: Any) -> None:
        """``node`` of the function of ``generator`` was found to be ``value``."""
        if not generator.function.fn.__module__.startswith("tri_conformance."):
            return
        self._values[id(node)] = value
        self.names.update(self._named(node, value))
        for names, given in self._given(node, value):
            for name in names:
                self.types.setdefault(name, set()).update(given)

    def _given(self, node: ast.AST, value: Any) -> Iterator[tuple[Iterable[str], set[str]]]:
        """Names that ``node`` uses, and the element types of their operands."""
        if isinstance(node, ast.Call):
            function = self._values.get(id(node.func))
            operands = [*node.args, *(k.value for k in node.keywords)]
            given = [self._values.get(id(operand)) for operand in operands]
            given += [function.receiver] if isinstance(function, BoundMethod) else []
            names = list(self._named(node.func, function))
            types = {name for value in given for name in _elements(value)}
            masked = any(name.rpartition(".")[2].startswith(_MASKED) for name in names)
            yield names, (types - {"int1"} or types) if masked else types
        elif isinstance(
            node, (ast.BinOp, ast.AugAssign, ast.Compare, ast.UnaryOp, ast.Subscript, ast.Attribute)
        ):
            parts = [self._values.get(id(part)) for part in ast.iter_child_nodes(node)]
            if not any(isinstance(part, tensor) and part.dtype.is_ptr() for part in parts):
                yield self._named(node, value), {name for part in parts for name in _elements(part)}

    def _named(self, node: ast.AST, value: Any) -> Iterator[str]:
        held = value.value if isinstance(value, constexpr) else value
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield from _by_object().get(id(held), ())
        if isinstance(node, ast.Attribute):
            yield from self._attribute(node, value)
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            yield from self._binary(node)
        elif isinstance(node, ast.Compare) and isinstance(self._values.get(id(node.left)), tensor):
            yield from (f"tl.tensor.__{_COMPARE[type(op)]}__" for op in node.ops if type(op) in _COMPARE)
        elif isinstance(node, ast.UnaryOp) and isinstance(self._values.get(id(node.operand)), tensor):
            yield f"tl.tensor.__{_UNARY[type(node.op)]}__"
        elif isinstance(node, ast.Subscript) and isinstance(self._values.get(id(node.value)), tensor):
            yield "tl.tensor.__getitem__"

    def _attribute(self, node: ast.Attribute, value: Any) -> Iterator[str]:
        written = ast.unparse(node)
        if written.startswith("tl."):
            yield written
        owner = self._values.get(id(node.value))
        if isinstance(value, BoundMethod):
            owner = value.receiver
        if isinstance(owner, tensor):
            yield f"tl.tensor.{node.attr}"
        elif isinstance(owner, tensor_descriptor_base):
            yield f"tl.tensor_descriptor.{node.attr}"

    def _binary(self, node: ast.BinOp | ast.AugAssign) -> Iterator[str]:
        left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        name = _BINARY.get(type(node.op))
        if name is None:
            return
        if isinstance(node, ast.AugAssign) or isinstance(self._values.get(id(left)), tensor):
            yield f"tl.tensor.__{name}__"
        elif isinstance(self._values.get(id(right)), tensor):
            yield f"tl.tensor.__r{name}__"


def _elements(value: Any) -> Iterator[str]:
    """Element types of an operand, of what pointers point to, and types themselves."""
    held = value.value if isinstance(value, constexpr) else value
    if isinstance(held, (tuple, list)):
        for item in held:
            yield from _elements(item)
    elif isinstance(held, (tensor, tensor_descriptor_base)):
        scalar = held.dtype
        yield (scalar.element_ty if isinstance(scalar, pointer_type) else scalar).name
    elif isinstance(held, block_pointer):
        yield from _elements(held.base)
    elif isinstance(held, dtype) and not held.is_ptr() and not held.is_block():
        yield held.name


@contextmanager
def _watching(watch: _Watch) -> Iterator[None]:
    """Compiles end with their IR, and ``watch`` sees how it is made."""
    plain = Generator.visit

    def visit(self: Generator, node: ast.AST) -> Any:
        value = plain(self, node)
        watch.sees(self, node, value)
        return value

    def only_ir(source: Any, target: Any, options: Any) -> Any:
        with mlir.session():
            source.build(target, target.options_type.parse(options))
        raise _Compiled

    with mock.patch.object(Generator, "visit", visit), mock.patch("tri_core.compiler.compile", only_ir):
        yield


def _row_of(case: Case) -> str:
    """Row of the document for a case: its feature, or its place in a group of many rows."""
    if case.feature in ("libdevice", "dot_scaled"):
        return f"{case.feature}/{case.point.rsplit('-', 3)[0]}"
    return case.feature


@functools.cache
def _watched() -> list[tuple[str, _Watch]]:
    """Nodes seen in the first case of each row and element type."""
    subject = Subject("cpu")
    firsts: dict[tuple[str, ...], Callable[[Subject], None]] = {
        ("device_print",): asked(effects.launch, "print")
    }
    for level in ("language", "programs", "runtime"):
        for case in LEVELS[level]():
            if level != "runtime" or case.feature == "grid":  # the others expect errors
                firsts.setdefault((_row_of(case), *case.needs.dtypes[:1]), case.run)
    found = []
    for (row, *_), run in firsts.items():
        watch = _Watch()
        # what is reached does not depend on what comes of it: the kit itself says when a kernel is refused
        with _watching(watch), suppress(_Compiled, CompilationError):
            run(subject)
        found.append((row, watch))
    return found


@functools.cache
def reached() -> Mapping[str, tuple[str, ...]]:
    """Full name -> the rows of the kit whose kernels use it."""
    found: dict[str, dict[str, None]] = {}
    for row, watch in _watched():
        for name in watch.names:
            found.setdefault(name, {})[row] = None
    return {name: tuple(rows) for name, rows in found.items()}


@functools.cache
def tried() -> Mapping[str, frozenset[str]]:
    """Full name -> the element types of operands that rows of the kit give it."""
    found: dict[str, set[str]] = {}
    for _, watch in _watched():
        for name, types in watch.types.items():
            found.setdefault(name, set()).update(types)
    return {name: frozenset(types) for name, types in found.items()}


def wanted() -> list[str]:
    """Names that kernels use: those that are probed."""
    return list(probes())


def reasons() -> dict[str, str]:
    """Full name -> why no row of the kit reaches it."""
    tables = tomllib.loads((HERE / "uncovered.toml").read_text())
    return {f"{section}.{name}": str(why) for section, names in tables.items() for name, why in names.items()}


def reason(name: str) -> str:
    """Reason that nothing reaches ``name``; empty if none is given."""
    section = name.rpartition(".")[0]
    given = reasons()
    return given.get(name) or given.get(f"{section}.*", "")


def render() -> str:
    """The document's text."""
    found = reached()
    names = wanted()
    count = sum(name in found for name in names)
    lines = [
        "# What the kit covers", "",
        f"{count} of the {len(names)} names that kernels use ([language.md](../language.md)) are reached by rows of the conformance",
        "kit; the others have a reason. Written by `python -m integration.language coverage`;",
        "`integration/tests/test_conformance_coverage.py` says when it is out of date.", "",
        "| name | rows of the kit |", "| --- | --- |",
    ]  # fmt: skip
    for name in names:
        rows = found.get(name, ())
        shown = ", ".join(f"`{row}`" for row in rows[:_MOST]) + (" and more" if len(rows) > _MOST else "")
        lines.append(f"| `{name}` | {shown or 'none: ' + (reason(name) or '**unexplained**')} |")
    return "\n".join(lines) + "\n"


def write(path: Path = DOCUMENT) -> None:
    """Write the document."""
    path.write_text(render())
