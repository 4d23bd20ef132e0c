"""Python's constructs in kernels: what Triton 3.9 accepts compiles; what it refuses is refused, or listed here."""

from __future__ import annotations

import collections
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from tri.compiler.source import ASTSource
from tri_core import mlir
from tri_core.errors import InternalError, TriError
from tri_core.mlir import session
from tri_core.target_selection import resolve

_DATA = Path(__file__).parent / "data"
_SPEC = importlib.util.spec_from_file_location("tri_constructs", _DATA / "constructs.py")
assert _SPEC is not None
assert _SPEC.loader is not None
constructs = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = constructs
_SPEC.loader.exec_module(constructs)

#: made by ``data/make_constructs.py`` with Triton
VERDICTS: dict[str, bool] = json.loads((_DATA / "constructs.json").read_text())
View = collections.namedtuple("View", "ptr n")  # noqa: PYI024  as in the kernels
SIGNATURE = {
    "p": "*fp32",
    "q": "*i32",
    "n": "i32",
    "f": "fp32",
    "B": "constexpr",
    "S": "constexpr",
    "T": ("i32", "fp32", "constexpr"),
    "V": View("*fp32", "i32"),
    "F": "constexpr",
}

#: accepted by Triton, refused here, and why
STRICTER: dict[str, str] = {
    "x = [v for v in (n, f) if n > 1]": "Triton takes every run-time condition as true",
    "for i in range(n):\n    pass\ntl.store(p, i)": "the loop's variable has no defined value after it",
    "if n > 0:\n    return 3": "nobody gets what a kernel returns",
    "for i in range(0, n, 0):\n    pass": "it never ends",
    "x = tl.constexpr(n)": "a run-time value is no constexpr",
    "return n": "nobody gets what a kernel returns",
    "return (n, f)": "nobody gets what a kernel returns",
    "x = Counter(n, 3)\nfor i in range(n):\n    x = Counter(x.count, 4)\ntl.store(q, x.count)": (
        "Triton drops the change of the constexpr field"
    ),
}

#: refused by Triton, accepted here with Python's meaning
MORE: frozenset[str] = frozenset(
    {
        "x, *y = T",
        "x, *y = add_all, n",
        "[x, y] = [n, f]",
        "x = y = n",
        "x = S",
        "x = F",
        "x = twice",
        "tl.static_assert((1, 2) < (1, 3))",
        "tl.static_assert(1 in (1, 2))",
        "x = V._replace(n=3)",
        "x = [v + w for v in (n, f) for w in (n, f)]",
        "x = [i for i in range(3)]",
        "x = tuple(v for v in (n, f))",
        "for v in (n, f):\n    tl.store(p, v)",
        "x: tl.constexpr = 3\nfor i in range(n):\n    x = 4",
        "while True:\n    n -= 1",
        "if S:\n    tl.store(p, f)",
        "if (1, 2):\n    tl.store(p, f)",
        "if 1.5:\n    tl.store(p, f)",
        "x = (n, n) if n > 3 else (n + 1, n)",
        "x = not n",
        "x = not tl.arange(0, 16)",
        "x = -n + +n",
        "x = 3\nx: tl.constexpr = 4",
        "x: tl.constexpr = 3\nx: tl.constexpr = 4",
        "x = apart(tl.arange(0, 16))",
        "x = bool(3)",
        "x = abs(n)",
        "x = abs(B)",
        "x = sum((1, 2))",
        "x = type(n)",
        "x = str(B)",
        "x = repr(B)",
        "x = round(2.5)",
        "x = list((1, 2))",
        "x = tuple((1, 2))",
        "x = zip((1, 2), (3, 4))",
        'x = S + "x"',
        "x = tl.slice(0, 1, None)",
    }
)


def build(kernel_file, body: str) -> None:
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    module = kernel_file(
        f"{constructs.HEADER}\n\n@tri.jit\n"
        f"def k(p, q, n, f, B: tl.constexpr, S: tl.constexpr, T, V, F: tl.constexpr):\n{indented}"
    )
    target = resolve("fake:one")
    constants = {(4,): 16, (5,): "add", (6, 2): None, (8,): module.twice}
    with session():
        built = ASTSource(module.k, SIGNATURE, constants).build(target, target.options_type(debug=True))
        mlir.verify(built)


def test_every_body_has_a_verdict():
    assert list(VERDICTS) == constructs.BODIES
    assert set(STRICTER) | MORE <= set(VERDICTS)


@pytest.mark.parametrize(
    "body", [b for b, good in VERDICTS.items() if (good or b in MORE) and b not in STRICTER]
)
def test_accepted(kernel_file, body):
    build(kernel_file, body)


@pytest.mark.parametrize(
    "body", [b for b, good in VERDICTS.items() if (not good or b in STRICTER) and b not in MORE]
)
def test_refused(kernel_file, body):
    with pytest.raises(TriError) as caught:
        build(kernel_file, body)
    assert not isinstance(caught.value, InternalError)
    location = caught.value.location
    assert location is not None
    assert location.line > 0
