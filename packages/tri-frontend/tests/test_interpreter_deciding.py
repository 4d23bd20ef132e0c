"""Which variables of a loop are not compared when its turns are."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tri.interpreter.deciding import ignored, know

WAIT = """
n = 0
while load(flag) == 0:
    n += 1
store(out, n)
"""
BOUNDED = """
n = 0
while (load(flag) == 0) & (n < 10):
    n += 1
"""
THROUGH = """
n, m = 0, 0
while load(flag) == 0:
    n += 1
    m = n * 2
    if m > 10:
        pass
"""
ADDRESS = """
n = 0
while load(flag + n) == 0:
    n += 1
"""
INNER = """
n = 0
for t in range(3):
    while load(flag) == 0:
        n += 1
    store(out + t, n)
"""
OUTER = """
while n < 10:
    k = 0
    while k < 1:
        k += load(flag)
        n += 1
"""
RANGE = """
for t in range(9):
    total = total + load(x)
"""


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        (WAIT, 4, {"n"}),
        (WAIT, 6, set()),
        (BOUNDED, 4, set()),
        (THROUGH, 4, set()),
        (ADDRESS, 4, set()),
        (INNER, 5, {"n"}),
        (OUTER, 6, set()),
        (RANGE, 4, {"total"}),
    ],
)
def test_ignored(text: str, line: int, expected: set[str]) -> None:
    source = "def kernel(flag, out, n, total, x):\n" + textwrap.indent(text, "    ")
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.FunctionDef)
    code = next(c for c in compile(source, "kernel.py", "exec").co_consts if hasattr(c, "co_code"))
    know(code, tree)
    assert ignored(code, line) == expected
