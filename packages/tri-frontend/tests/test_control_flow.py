"""Control flow means what Python means: functions of integers, run as Python and as TTIR."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri.compiler.source import ASTSource
from tri_core.mlir import session
from tri_core.target_selection import resolve

_SPEC = importlib.util.spec_from_file_location(
    "tri_scalar_interpreter", Path(__file__).parent / "scalar_interpreter.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
interpreter = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = interpreter
_SPEC.loader.exec_module(interpreter)


ARGUMENTS = tuple(itertools.product((-3, 0, 1, 4, 9), (-1, 0, 2, 7)))


def as_python(function):
    """The jit function as the Python function that it looks like."""
    used = {k: v for k, v in function.fn.__globals__.items() if k in function.fn.__code__.co_names}
    names = {k: as_python(v) if isinstance(v, tri.JITFunction) else v for k, v in used.items()}
    names["tl"] = SimpleNamespace(static_range=range, constexpr=int)
    return FunctionType(function.fn.__code__, names)


def agrees(function, kernel, arguments=ARGUMENTS) -> None:
    """The kernel that stores ``function(n, m)`` stores what Python computes."""
    expected = as_python(function)
    target = resolve("fake:one")
    with session():
        source = ASTSource(kernel, {"q": "*i32", "n": "i32", "m": "i32"})
        module = source.build(target, target.options_type())
        module.operation.verify()
        for n, m in arguments:
            memory = [12345]
            interpreter.run(module, [0, n, m], memory)
            assert memory == [int(expected(n, m))], f"n={n}, m={m}"


@tri.jit
def early(n, m):
    if n > 3:
        return n
    return m


@tri.jit
def guard_chain(n, m):
    if n < 0:
        return 0
    if m < 0:
        return 1
    x = n + m
    if x > 8:
        return x
    x = x * 2
    return x  # noqa: RET504


@tri.jit
def nested_partial(n, m):
    x = m
    if n > 0:
        x = x + 1
        if m > 1:
            return x * 10
        x = x + 2
    else:
        x = x - 1
        if m < 0:
            return -x
    y = x * 3
    if y > 20:
        return y
    return x + y


@tri.jit
def both_sides(n, m):
    if n > m:
        return n - m
    if n == m:
        return 0
    return m - n


@tri.jit
def with_annotations(a: tl.constexpr, b: tl.constexpr):
    c: tl.constexpr = a * 2
    d: tl.constexpr = 3
    return c - b * d


@tri.jit
def run_time_values_of_constexpr_parameters(n, m):
    return with_annotations(n, m + 1)


@tri.jit
def return_before_a_loop(n, m):
    if n < 0:
        return -1
    total = 0
    for i in range(n):
        if i > m:
            total += i
        else:
            total -= 1
    while total > 5:
        total -= 2
    return total


@tri.jit
def names_of_one_side(n, m):
    x = 1
    if n > 0:
        y = n * 2
        x = y + m
    else:
        y = m
    return x + y


@tri.jit
def loops(n, m):
    a, b = 0, 1
    for i in range(2, 9, 3):
        a, b = b, a + b
        for j in range(i, 0, -2):
            a = a ^ j
    i = 100
    for k in range(m):
        b += k
    return a + b + i


@tri.jit
def booleans(n, m):
    x = 0
    if n > 0 and m > 0:
        x += 1
    if n > 0 or m > 0:
        x += 2
    if not n > 0:
        x += 4
    return x + (8 if n > m else 16) + (32 if n else 64)


@tri.jit
def inner(n, m):
    if n > 5:
        return n
    if m > 5:
        return m
    return n + m


@tri.jit
def calls_in_loops(n, m):
    total = 0
    for i in range(4):
        total += inner(i + n, m)
    return total


@tri.jit
def constants_decide(n, m):
    FLAG: tl.constexpr = 3
    if FLAG == 3:
        if n > 2:
            return n
    elif n > 0:
        return undefined_name  # noqa: F821  never generated
    for i in tl.static_range(3):
        if i == 1:
            m += i
        else:
            m = m * 2
    return m


@tri.jit
def loop_variables_shadow(n, m):
    j = 5
    total = 0
    for i in range(3):
        for j in range(i):
            total += j * n
    for j in range(2):
        total += j + m
    for k in tl.static_range(2):
        total += k
    for i in range(2):
        for k in tl.static_range(3):
            total += k * i
    return total


@tri.jit
def walrus(n, m):
    if (k := n + m) > 3:
        return k
    while (m := m + 1) < 4:
        n += m
    return n


@tri.jit
def tuples(n, m):
    pair = (n, (m, 3))
    if n > 1:
        pair = (m, (n, 4))
    for i in range(2):
        pair = (pair[1][0] + i, (pair[0], pair[1][1]))
    a, (b, c) = pair
    return a * 100 + b * 10 + c


FUNCTIONS = [
    early, guard_chain, nested_partial, both_sides, return_before_a_loop, names_of_one_side, loops, booleans,
    run_time_values_of_constexpr_parameters,
    calls_in_loops, constants_decide, walrus, tuples,
    loop_variables_shadow,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_function_agrees_with_python(function):
    @tri.jit
    def kernel(q, n, m):
        tl.store(q, function(n, m))

    agrees(function, kernel)


def test_kernel_with_an_early_return_stores_on_one_path_only():
    @tri.jit
    def kernel(q, n, m):
        if n > 3:
            return
        if m > 1:
            tl.store(q, 1)
            return
        tl.store(q, 2)

    target = resolve("fake:one")
    with session():
        module = ASTSource(kernel, {"q": "*i32", "n": "i32", "m": "i32"}).build(target, target.options_type())
        for n, m, expected in ((4, 0, 0), (3, 2, 1), (3, 1, 2)):
            memory = [0]
            interpreter.run(module, [0, n, m], memory)
            assert memory == [expected]


# --- random functions -----------------------------------------------------------------------------------

NAMES = ("n", "m", "a", "b", "c")
expressions = st.one_of(
    st.sampled_from(NAMES),
    st.integers(-5, 9).map(str),
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from(["+", "-", "*", "&", "^"]), st.sampled_from((*NAMES, "3"))
    ).map(lambda t: f"(({t[0]} {t[1]} {t[2]}) & 1023)"),
)
conditions = st.tuples(expressions, st.sampled_from(["<", ">=", "==", "!="]), expressions).map(" ".join)


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _statement(inner: st.SearchStrategy[list[str]], *, in_loop: bool) -> st.SearchStrategy[list[str]]:
    assign = st.tuples(st.sampled_from(("a", "b", "c", "n")), expressions).map(lambda t: [f"{t[0]} = {t[1]}"])
    branch = st.tuples(conditions, inner, inner).map(
        lambda t: [f"if {t[0]}:", *_indent(t[1]), "else:", *_indent(t[2])]
    )
    choices = [assign, branch, st.tuples(conditions, inner).map(lambda t: [f"if {t[0]}:", *_indent(t[1])])]
    if not in_loop:
        choices.append(expressions.map(lambda e: [f"return {e}"]))
    return st.one_of(choices)


def _body(depth: int, *, in_loop: bool) -> st.SearchStrategy[list[str]]:
    if depth == 0:
        return _statement(st.just(["pass"]), in_loop=in_loop)
    statement = _statement(_body(depth - 1, in_loop=in_loop), in_loop=in_loop)
    # one counter per depth: an inner loop does not touch an outer one's
    body = _body(depth - 1, in_loop=True)
    loop = st.tuples(st.integers(0, 3), body).map(
        lambda t: [f"for i{depth} in range({t[0]}):", *_indent(t[1])]
    )
    spin = st.tuples(st.integers(1, 3), body).map(
        lambda t: [f"t{depth} = 0", f"while t{depth} < {t[0]}:", f"    t{depth} += 1", *_indent(t[1])]
    )
    return st.lists(st.one_of(statement, loop, spin), min_size=1, max_size=3).map(
        lambda parts: [line for part in parts for line in part]
    )


@given(body=_body(3, in_loop=False))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_functions_agree_with_python(kernel_file, body):
    lines = ["a = 0", "b = 1", "c = n", *body, "return (a + 2 * b + 3 * c) & 4095"]
    module = kernel_file(
        "@tri.jit\ndef f(n, m):\n"
        + "\n".join(_indent(lines))
        + "\n\n\n@tri.jit\ndef kernel(q, n, m):\n    tl.store(q, f(n, m))\n"
    )
    agrees(module.f, module.kernel, ((0, 0), (5, -2), (-3, 7), (2, 2)))
