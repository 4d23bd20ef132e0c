"""Kernels whose names are no symbols: they run and compile everywhere, and are called what their authors call them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tri
import tri.language as tl

NASTY = ["llvm.memcpy", "a/b c", "memcpy", "main", "größe", 'a"b', "..", "exp", "x" * 3000, "@k", "add<128>"]
EXECUTED = ["cpu", "sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc"]
COMPILED = ["nvidia:sm_90a", "amd:gfx942", "intel:pvc"]


def exponential(name: str):
    """A kernel called ``name``, which calls the C library's names where a target does."""

    @tri.jit(repr=lambda _: name)
    def kernel(x, o, n, B: tl.constexpr):
        at = tl.program_id(0) * B + tl.arange(0, B)
        mask = at < n
        tl.store(o + at, tl.exp(tl.load(x + at, mask=mask)) + 1, mask=mask)

    return kernel


@pytest.mark.parametrize("target", EXECUTED)
@pytest.mark.parametrize("name", NASTY, ids=lambda n: ascii(n)[:20])
def test_it_runs(name: str, target: str) -> None:
    x = np.linspace(-2, 2, 100, dtype=np.float32)
    o = np.empty_like(x)
    with tri.target(target):
        made = exponential(name)[(2,)](x, o, x.size, B=64)
    np.testing.assert_allclose(o, np.exp(x) + 1, rtol=1e-5)
    assert made.name == name


@pytest.mark.parametrize("target", COMPILED)
@pytest.mark.parametrize("name", NASTY, ids=lambda n: ascii(n)[:20])
def test_it_compiles(name: str, target: str) -> None:
    types = {"x": "*fp32", "o": "*fp32", "n": "i32", "B": "constexpr"}
    made = tri.compile(tri.ASTSource(exponential(name), types, {"B": 64}), target=target)
    assert made.name == name
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$]*", made.metadata.entry)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\0", None, 3, b"k"], ids=ascii)
def test_names_that_are_none(name: object) -> None:
    with pytest.raises(tri.CompilationError, match="a name in one line is expected"):
        exponential(name)[(1,)](np.zeros(4, np.float32), np.zeros(4, np.float32), 4, B=4)  # type: ignore[arg-type]
