"""Where a kernel's syntax tree says that it stands: lines and columns of the file, however it is written."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tri
from tri.kernel_source import read_source
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
