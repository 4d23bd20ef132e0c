"""The source of a Python function: where it stands, its text, its syntax tree and facts about it."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from tri.source_index import Definition, definitions_of
from tri_core.errors import CompilationError, SourceLocation
from tri_core.lazy_dataclasses import dataclass

__all__ = ["KernelSource", "indexed", "read_source", "source_of_text"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
#: fields of nodes that hold a kind or a value, in which no name stands
_WITHOUT_NAMES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment"})


@dataclass
class KernelSource:
    """The source of a function: ``text`` begins with ``def`` and is dedented.  ``parsed``: its tree, or what makes it."""

    file: str
    first_line: int
    text: str
    parsed: ast.FunctionDef | Callable[[], ast.FunctionDef]
    _assigned: dict[ast.AST, tuple[str, ...]] = field(default_factory=dict, repr=False)
    _returning: frozenset[ast.AST] | None = field(default=None, repr=False)
    _paths: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def tree(self) -> ast.FunctionDef:
        """The syntax tree, with the lines and columns of ``file``."""
        if not isinstance(self.parsed, ast.FunctionDef):
            self.parsed = self.parsed()
        return self.parsed

    def locate(self, node: ast.AST) -> SourceLocation:
        """The place of ``node`` in the user's file, with its line."""
        line = getattr(node, "lineno", self.first_line)
        column = getattr(node, "col_offset", 0)
        text = linecache.getline(self.file, line).rstrip("\n")
        # columns of ast count bytes of UTF-8
        column = len(text.encode()[:column].decode(errors="ignore"))
        within = (line - self.tree.lineno + 1, getattr(node, "col_offset", 0) - self.tree.col_offset)
        return SourceLocation(self.file, line, column, text or None, in_function=within)

    def assigned(self, node: ast.AST) -> tuple[str, ...]:
        """The names that ``node`` or anything in it binds, each once, in order."""
        found = self._assigned.get(node)
        if found is None:
            names = (n.id for n in _walk([node]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            found = self._assigned[node] = tuple(dict.fromkeys(names))
        return found

    def paths(self) -> tuple[str, ...]:
        """The names and dotted names (``a``, ``a.b``) that are used outside of decorators, each once, in order."""
        if self._paths is None:
            # decorators are no part of a kernel's identity: a text that is put in place of the function's has none
            parts = [n for n in ast.iter_child_nodes(self.tree) if n not in self.tree.decorator_list]
            self._paths = tuple(dict.fromkeys(path for path in map(_path, _named(parts)) if path is not None))
        return self._paths

    def returns(self, node: ast.AST) -> bool:
        """True if the statement ``node`` contains a ``return``."""
        if self._returning is None:
            self._returning = frozenset(_statements_with_return(self.tree.body))
        return node in self._returning


def _path(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _path(node.value)
        return f"{owner}.{node.attr}" if owner is not None else None
    return None


def _named(nodes: list[ast.AST]) -> Iterator[ast.Name | ast.Attribute]:
    """The names and attributes below ``nodes``, outer ones first; ``nodes`` grows.  A third of ``ast.walk``'s time."""
    for node in nodes:
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield node
        for name in node._fields:
            if name in _WITHOUT_NAMES:
                continue
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes.extend(item for item in value if isinstance(item, ast.AST))


def _walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of a function's own scope."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _walk(ast.iter_child_nodes(node))


def _statements_with_return(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if any(isinstance(n, ast.Return) for n in _walk([node])):
            yield node
            for block in ("body", "orelse"):
                if not isinstance(node, _SCOPES):
                    yield from _statements_with_return(getattr(node, block, ()))


def read_source(function: Callable[..., Any]) -> KernelSource:
    """The source of ``function``, which must be in a file; CompilationError when it cannot be read."""
    found = _definition(function)
    if found is not None:
        return found
    name = getattr(function, "__qualname__", repr(function))
    try:
        lines, first_line = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or inspect.getfile(function)
        file = os.path.abspath(file) if os.path.exists(file) else file  # a notebook's cell has no file
    except (OSError, TypeError) as error:
        raise CompilationError(
            f"the source of {name} cannot be read ({error})",
            remedy="define the kernel in a file (or a notebook cell), not through exec or a lambda",
        ) from error
    try:
        tree = _parse(lines, first_line)
    except SyntaxError as error:
        raise CompilationError(
            f"the source of {name} is not a function definition ({error.msg})",
            remedy="decorate a def statement with @tri.jit",
        ) from error
    if not isinstance(tree, ast.FunctionDef):
        raise CompilationError(
            f"{name} is not defined with def", remedy="decorate a def statement with @tri.jit"
        )
    _mangle(tree, function)
    # decorators are no part of a kernel's identity
    return KernelSource(file, first_line, _dedented(lines[tree.lineno - first_line :]), tree)


def _definition(function: Callable[..., Any]) -> KernelSource | None:
    """The source that ``read_source`` gives, in a quarter of its time; None where ``inspect`` has to look.

    A definition ends before a line that is indented no deeper than its first, if what stands before is a statement: ``inspect``
    reads it token by token, to find that line.
    """
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__") or not os.path.exists(code.co_filename):
        return None
    file, first_line = code.co_filename, code.co_firstlineno
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    known = definitions_of(file, lines).get(first_line)
    if known is not None and known.name == code.co_name:
        text = _dedented(lines[known.first - 1 : known.last])
        parse = partial(_parsed, lines[first_line - 1 : known.last], first_line)
        return KernelSource(os.path.abspath(file), first_line, text, parse, _paths=known.paths)
    reached = max((line for _, _, line in code.co_lines() if line), default=first_line)
    end = _end(lines, first_line - 1, reached)
    if end is None:
        return None
    try:
        statements = _statements(lines[first_line - 1 : end], first_line)
    except (
        SyntaxError
    ):  # the line that was found stands in brackets or in a text, or the file is another one now
        return None
    (tree,) = statements if len(statements) == 1 else (None,)
    if not isinstance(tree, ast.FunctionDef) or tree.end_lineno is None:
        return None
    _mangle(tree, function)
    text = _dedented(lines[tree.lineno - 1 : _last(lines, tree, end)])
    return KernelSource(os.path.abspath(file), first_line, text, tree)


def _parsed(lines: Sequence[str], first_line: int) -> ast.FunctionDef:
    """The tree of a definition that is known to be one."""
    found = _parse(lines, first_line)
    assert isinstance(found, ast.FunctionDef)
    return found


def indexed(lines: Sequence[str]) -> dict[int, Definition]:
    """The definitions of the file of ``lines``, by their first lines; those are left out of which :func:`read_source` may think otherwise.

    Left out are functions with private names, which classes change, and all where the file is no Python.
    """
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return {}
    found: dict[int, Definition] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.end_lineno is None:
            continue
        first_line = min((node.lineno, *(each.lineno for each in node.decorator_list)))
        end = _end(lines, first_line - 1, node.end_lineno)
        if end is None or _has_private_names(node):
            continue
        last = _last(lines, node, end)
        paths = KernelSource("", first_line, "", node).paths()
        found[first_line] = Definition(node.name, node.lineno, last, paths)
    return found


def _has_private_names(tree: ast.FunctionDef) -> bool:
    names = (getattr(node, name, None) for node in ast.walk(tree) for name in ("id", "arg", "attr"))
    return any(isinstance(name, str) and name.startswith("__") and not name.endswith("__") for name in names)


def _end(lines: Sequence[str], first: int, reached: int) -> int | None:
    """The index of the line behind the definition at index ``first``, ``reached`` lines of the file or later; None if in doubt."""
    if reached > len(lines) or not lines[first].lstrip().startswith(("@", "def ")):
        return None
    depth = _indentation(lines[first])
    for at in range(first, len(lines)):
        rest = lines[at].lstrip()
        if rest and lines[at][: len(lines[at]) - len(rest)].strip(" "):
            return None  # tabs: how deep they are is the tokenizer's to say
        if at >= reached and rest and not rest.startswith("#") and _indentation(lines[at]) <= depth:
            return at
    return len(lines)


def _last(lines: Sequence[str], tree: ast.FunctionDef, end: int) -> int:
    """The last line (from 1) of ``tree`` with the comments behind it that are indented as its body, as ``inspect`` has it."""
    last = tree.end_lineno or end
    depth = tree.body[0].col_offset
    if lines[tree.body[0].lineno - 1][:depth].strip():
        return last  # in the line of its ``def``
    for at in range(last, end):
        if lines[at].lstrip().startswith("#") and _indentation(lines[at]) >= depth:
            last = at + 1
    return last


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def source_of_text(function: Callable[..., Any], text: str) -> KernelSource:
    """``text``, a function definition, as the source of ``function``, at the place where that one stands."""
    code = getattr(function, "__code__", None)
    file, first_line = (code.co_filename, code.co_firstlineno) if code is not None else ("<string>", 1)
    lines = _dedented(text.splitlines(keepends=True)).splitlines(keepends=True)
    try:
        tree = _parse(lines, first_line)
    except SyntaxError as error:
        raise CompilationError(
            f"the text of {getattr(function, '__qualname__', function)} is not a function definition ({error.msg})",
            remedy="give one def statement",
        ) from error
    if not isinstance(tree, ast.FunctionDef):
        raise CompilationError(f"{text!r} is not defined with def", remedy="give one def statement")
    return KernelSource(file, first_line, text, tree)


def _parse(lines: Sequence[str], first_line: int) -> ast.stmt:
    """The first statement of ``lines``, with their places in the file: they are parsed as they stand there."""
    return _statements(lines, first_line)[0]


def _statements(lines: Sequence[str], first_line: int) -> list[ast.stmt]:
    if not lines[0][:1].isspace():
        return ast.parse("\n" * (first_line - 1) + "".join(lines)).body
    # an indented block has to belong to something; the line before it is free for that
    (block,) = ast.parse("\n" * (first_line - 2) + "if True:\n" + "".join(lines)).body
    assert isinstance(block, ast.If)
    return block.body


def _dedented(lines: Sequence[str]) -> str:
    """``lines`` without the indentation of the first, where they have it."""
    indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return "".join(line.removeprefix(indentation) for line in lines)


def _mangle(tree: ast.FunctionDef, function: Callable[..., Any]) -> None:
    """Give private parameters (``__x``) of functions in classes the names that they have at run time."""
    code = getattr(function, "__code__", None)
    written = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    pairs = zip(written, code.co_varnames if code is not None else (), strict=False)
    prefix = next((new.removesuffix(old) for old, new in pairs if new != old and new.endswith(old)), "")
    if not prefix:
        return
    for node in ast.walk(tree):
        for name in ("id", "arg"):
            old = getattr(node, name, None)
            if isinstance(old, str) and old.startswith("__") and not old.endswith("__"):
                setattr(node, name, prefix + old)
