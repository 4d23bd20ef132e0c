"""Where a kernel's syntax tree says that it stands: lines and columns of the file, however it is written."""

from __future__ import annotations

import ast
import importlib
import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import tri
from tri import kernel_source
from tri.kernel_source import indexed, read_source
from tri_core.errors import CompilationError

PLAIN = """
@tri.jit
def kernel(x, y):

    # a comment
    a = tl.load(x)

    tl.store(y, a)
"""
NESTED = """
def outer():
    def middle():

        # before

        @tri.jit

        # between
        def kernel(x, y):

            a = tl.load(x)

# a comment at the margin
            b = (a +

                a)
            c = a + \\
    b

            '''a text
        of lines

            '''
            tl.store(
        y,
                  c)

        return kernel

    return middle()


kernel = outer()
"""
DECORATED = """
def keep(*args, **kwargs):
    return lambda f: f


def outer():

    @tri.jit(

        do_not_specialize=[

            "n",
        ],
    )

    @keep(1,

          2)
    def kernel(x, y, n=(
        1,

        2,
    )):

        tl.store(y, tl.load(x))

    return kernel


kernel = outer()
"""
IN_A_CLASS = """
class Outer:

    class Inner:

        FIELD = 1

        @tri.jit
        def kernel(x, y):

            def_ = tl.load(x)

            tl.store(y, def_)

        OTHER = 2


kernel = Outer.Inner.kernel
"""
TABS = PLAIN.replace("    ", "\t")
NESTED_TABS = NESTED.replace("    ", "\t")
ONE_LINE = """
def outer():

    @tri.jit
    def kernel(x, y): a = tl.load(x); tl.store(y, a)

    return kernel


kernel = outer()
"""
UNICODE = """
def outer():

    @tri.jit
    def kernel(x, y):
        größe = tl.load(x); tl.store(y, größe)  # ж

    return kernel


kernel = outer()
"""
LAYOUTS = {
    "at the margin": PLAIN, "in functions": NESTED, "decorators of many lines": DECORATED, "in classes": IN_A_CLASS,
    "tabs": TABS, "in functions, tabs": NESTED_TABS, "one line": ONE_LINE, "other letters": UNICODE,
    "line ends of Windows": NESTED.replace("\n", "\r\n"),
}  # fmt: skip


def written(file: str) -> ast.FunctionDef:
    """The kernel's node in the tree of the whole file."""
    with open(file, encoding="utf-8") as lines:
        tree = ast.parse(lines.read())
    (found,) = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "kernel")
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_tree_is_that_of_the_file(layout: str, kernel_file: Callable[[str], ModuleType]) -> None:
    kernel = kernel_file(LAYOUTS[layout]).kernel
    source = read_source(kernel.fn)
    assert ast.dump(source.tree, include_attributes=True) == ast.dump(
        written(source.file), include_attributes=True
    )
    assert source.text.startswith("def kernel(")
    assert isinstance(ast.parse(source.text).body[0], ast.FunctionDef)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "decorators of many lines"])
def test_line_tables_and_errors(layout: str, kernel_file: Callable[[str], ModuleType]) -> None:
    module = kernel_file(LAYOUTS[layout])
    kernel: Any = module.kernel
    store = next(
        n for n in ast.walk(written(kernel.source.file))
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "tl.store"
    )  # fmt: skip
    x = np.zeros(16, np.float32)
    text = kernel[(1,)](x, x).asm["ttir"]
    assert f":{store.lineno}:{store.col_offset + 1})" in text
    module.tl = ModuleType("tl")
    module.tl.load = tri.language.load  # type: ignore[attr-defined]
    with pytest.raises(CompilationError) as caught:
        kernel[(1,)](x, x)
    where = caught.value.location
    line = linecache.getline(kernel.source.file, store.lineno).rstrip("\n")
    assert (where.line, where.source_line) == (store.lineno, line)
    assert line[where.column :].startswith("tl.store")


def test_lines_of_the_interpreter(kernel_file: Callable[[str], ModuleType]) -> None:
    kernel: Any = kernel_file(NESTED.replace("tl.store(\n        y,", "tl.store(\n        y + 100,")).kernel
    x = np.zeros(1, np.float32)
    with tri.interpret(), pytest.raises(tri.errors.TriError) as caught:
        kernel[(1,)](x, x)
    store = next(n for n in ast.walk(written(kernel.source.file)) if ast.unparse(n).startswith("tl.store("))
    assert caught.value.location is not None
    assert caught.value.location.line == store.lineno  # type: ignore[attr-defined]


ODD = """
def kernel(x):
    return (
x
)
# not of the body
def brackets(x): return [
1]
def text(x):
    return '''
def other(x):
    pass
'''
    # of the body

    # as well
  # not of the body

def tabs(x):
\tif x:
\t\treturn 1
\treturn 2
class Outer:
    def method(self, __x):
        def inner():
            return __x
        return inner

        # of the body
    @staticmethod
    def last(x):
        \"\"\"Only a text.\"\"\"
#"""


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for owner in (module, *(value for value in vars(module).values() if isinstance(value, type))):
        found = (getattr(value, "__func__", value) for value in vars(owner).values())
        yield from (
            f for f in found if isinstance(f, FunctionType) and f.__code__.co_filename == module.__file__
        )


@pytest.mark.parametrize("name", ["odd", "argparse", "inspect", "tri.language.standard", "tri_core.knobs"])
def test_sources_end_where_inspect_says(
    name: str, kernel_file: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = kernel_file(ODD) if name == "odd" else importlib.import_module(name)
    functions = [getattr(f, "fn", f) for f in _functions(module)]
    found = [read_source(f) for f in functions]
    monkeypatch.setattr(kernel_source, "_definition", lambda function: None)
    for mine, theirs in zip(found, map(read_source, functions), strict=True):
        assert (mine.file, mine.first_line, mine.text) == (theirs.file, theirs.first_line, theirs.text)
        assert ast.dump(mine.tree, include_attributes=True) == ast.dump(theirs.tree, include_attributes=True)


@pytest.mark.parametrize("name", ["odd", "argparse", "inspect", "tri.language.standard", "tri_core.knobs"])
def test_an_index_of_a_file_knows_what_reading_finds(
    name: str, kernel_file: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = kernel_file(ODD) if name == "odd" else importlib.import_module(name)
    functions = [getattr(f, "fn", f) for f in _functions(module)]
    found = [read_source(f) for f in functions]
    index = indexed(linecache.getlines(str(module.__file__)))
    monkeypatch.setattr(kernel_source, "definitions_of", lambda file, lines: index)
    known = [f for f in functions if f.__code__.co_firstlineno in index]
    assert len(known) > len(functions) // 2
    for function, mine in zip(functions, found, strict=True):
        theirs = read_source(function)
        assert (mine.file, mine.first_line, mine.text) == (theirs.file, theirs.first_line, theirs.text)
        assert set(mine.paths()) == set(theirs.paths())
        assert ast.dump(mine.tree, include_attributes=True) == ast.dump(theirs.tree, include_attributes=True)


def test_private_names_and_what_is_no_python_are_in_no_index() -> None:
    lines = ["class C:\n", "    def f(self, __x):\n", "        return __x\n", "def g(x):\n", "    return x\n"]
    assert list(indexed(lines)) == [4]
    assert indexed(["def f(:\n"]) == {}


def test_a_file_that_is_another_one_now_is_read_by_inspect(kernel_file: Callable[[str], ModuleType]) -> None:
    module = kernel_file("def kernel(x):\n    return (x +\n        1)\n")
    Path(str(module.__file__)).write_text("\n\ndef kernel(x):\n    return x\ndef other(x):\n    return x\n")
    assert read_source(module.kernel).text == "def kernel(x):\n    return x\n"
