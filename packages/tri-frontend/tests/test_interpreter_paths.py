"""What the compiler refuses because a type depends on the path, the interpreter refuses with the same words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tri
from tri.compiler.source import ASTSource
from tri_core.errors import CompilationError
from tri_core.mlir import session
from tri_core.target_selection import resolve

#: values of all kinds; n is int32 and 0
VALUES = (
    "n", "n + 1", "3", "2.5", "n.to(tl.int64)", "n.to(tl.float16)", "tl.zeros([8], tl.int32)", "tl.arange(0, 8) + n",
    "tl.zeros([16], tl.int32)", "(n, 1)", "(n, 1.5)", "None", "tl.full([8], 1, tl.float32)", "twice(n)", "n > 2",
)  # fmt: skip

#: control flow that gives x one of two values
FORMS = {
    "if": "x = {a}\nif n > 0:\n    x = {b}",
    "else": "if n > 0:\n    x = {a}\nelse:\n    x = {b}",
    "nested": "x = {a}\nif n < 9:\n    if n > 0:\n        x = {b}",
    "for": "x = {a}\nfor i in range(n):\n    x = {b}",
    "while": "x = {a}\nwhile n > 0:\n    x = {b}\n    n = n - 1",
    "if in for": "x = {a}\nfor i in range(n):\n    if i > n:\n        x = {b}",
    "expression": "x = ({a}) if n > 0 else ({b})",
    "one side": "if n > 0:\n    y = {a}\nelse:\n    x = {b}\nx = {b}",
    "constexpr": "x = {a}\nif KNOWN:\n    x = {b}",
    "static": "x = {a}\nfor i in tl.static_range(2):\n    x = {b}",
    "call": "x = choose(n, {a}, {b})",
    "callee": "x = {a}\nx = later(n, x, {b})",
}

HEADER = """
import tri
import tri.language as tl

@tri.jit
def twice(x):
    return x * 2

@tri.jit
def choose(n, a, b):
    if n > 0:
        return a
    return b

@tri.jit
def later(n, a, b):
    while n > 0:
        a = b
        n -= 1
    return a

@tri.jit
def k(o, n, KNOWN: tl.constexpr):
"""


def text_of(body: str, read: str = "") -> str:
    """A module with a kernel of ``body``."""
    lines = [*body.split("\n"), *read.split("\n"), "tl.store(o, n)"]
    return HEADER + "".join(f"    {line}\n" for line in lines if line)


def compiled(kernel: tri.JITFunction) -> str:
    """What the compiler says; empty when it takes the kernel."""
    target = resolve("fake:one")
    try:
        with session():
            source = ASTSource(kernel, {"o": "*i32", "n": "i32"}, {"KNOWN": True})
            source.build(target, target.options_type())
    except CompilationError as error:
        return str(error)
    return ""


def interpreted(kernel: tri.JITFunction) -> str:
    """What the interpreter says of a launch that takes the other path."""
    with tri.interpret():
        try:
            kernel[(1,)](np.zeros(1, np.int32), 0, True)
        except CompilationError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pair=st.sampled_from([*itertools.product(VALUES, VALUES)]))
def test_both_say_the_same(kernel_file, form, pair):
    kernel = kernel_file(text_of(FORMS[form].format(a=pair[0], b=pair[1]))).k
    assert interpreted(kernel) == compiled(kernel)


@pytest.mark.parametrize("form", [f for f in FORMS if f not in ("one side", "constexpr", "static")])
def test_two_types_are_refused(kernel_file, form):
    kernel = kernel_file(text_of(FORMS[form].format(a="n", b="2.5"))).k
    assert "int32" in interpreted(kernel)


@pytest.mark.parametrize(
    ("body", "read", "words"),
    [
        ("if n > 0:\n    y = n", "tl.store(o, y)", "'y' has no value here"),
        ("if n > -1:\n    y = n", "tl.store(o, y)", "'y' has no value here"),
        ("for i in range(1 + n):\n    pass", "tl.store(o, i)", "'i' has no value here"),
        (
            "x = n\nfor i in range(n):\n    tl.store(o, x)\n    if n > i:\n        x = None",
            "",
            "'x' has no value in the next iteration",
        ),
    ],
)
def test_a_name_without_a_value_on_some_paths(kernel_file, body, read, words):
    kernel = kernel_file(text_of(body, read)).k
    assert words in compiled(kernel)
    assert interpreted(kernel) == compiled(kernel)


def test_it_is_found_beside_what_only_the_interpreter_takes(kernel_file):
    """The first error of the compiler is another, of what is there for debugging."""
    kernel = kernel_file(text_of("vars()\nx = n\nif n > 0:\n    x = 2.5")).k
    assert "Python's vars" in compiled(kernel)
    assert interpreted(kernel).startswith("Mismatched type for x between then block (fp32)")


def test_what_is_there_for_debugging_runs(kernel_file):
    kernel = kernel_file(text_of("if n == 0:\n    vars()")).k
    assert "Python's vars" in compiled(kernel)
    assert interpreted(kernel) == ""
