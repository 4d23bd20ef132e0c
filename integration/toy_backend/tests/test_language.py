"""Additions of toys to the language: a modifier and a scope of accesses, and a type of values."""

from __future__ import annotations

import numpy as np
import pytest
import tri
from tri.testing import assert_close
from tri_core.errors import CompilationError

import kernels_of_toy


def _copied(target: str, cache: str) -> tuple[str, str]:
    """TTIR and LLVM IR of a copy with a modifier, which is right."""
    x = np.random.default_rng(1).random(300, dtype=np.float32)
    out = np.full_like(x, np.nan)
    with tri.target(target):
        done = kernels_of_toy.copies[(3,)](out, x, 300, CACHE=cache, BLOCK=128)
    np.testing.assert_array_equal(out, x)
    return done.asm["ttir"], done.asm.get("llir", "")


def test_a_modifier_reaches_the_device() -> None:
    ttir, llvm = _copied("toy", "stream")
    assert ttir.count('toy.cache = "stream"') == 2
    assert llvm.count("!nontemporal") >= 2
    ttir, llvm = _copied("toy", "keep")
    assert ttir.count('toy.cache = "keep"') == 2
    assert "!nontemporal" not in llvm


def test_a_modifier_in_the_simulator_and_the_interpreter() -> None:
    _copied("sim:toy:t1", "stream")
    x, out = np.ones(300, np.float32), np.zeros(300, np.float32)
    with tri.interpret():
        kernels_of_toy.copies[(3,)](out, x, 300, CACHE="stream", BLOCK=128)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("interpreted", [False, True])
def test_an_illegal_value_is_refused_with_the_legal_ones(interpreted: bool) -> None:
    x = np.ones(300, np.float32)
    where = tri.interpret() if interpreted else tri.target("sim:toy:t1")
    message = r"tl\.extra\.toy\.cache has no value 'sream'"
    with where, pytest.raises(CompilationError, match=message) as refused:
        kernels_of_toy.copies[(3,)](x, x, 300, CACHE="sream", BLOCK=128)
    assert refused.value.remedy == "use one of 'keep', 'stream'"
    assert refused.value.location is not None
    assert refused.value.location.file.endswith("kernels_of_toy.py")


def test_a_scope_marks_the_accesses_inside_and_in_callees() -> None:
    x = np.random.default_rng(2).random(512, dtype=np.float32)
    expected = x * np.float32(0.5)
    expected[:128] = 0
    for target in ("toy", "sim:toy:t1", None):
        out = np.full_like(x, np.nan)
        with tri.interpret() if target is None else tri.target(target):
            done = kernels_of_toy.streams[(1,)](out, x, BLOCK=128)
        np.testing.assert_array_equal(out, expected)
        if target == "toy":
            assert done.asm["ttir"].count("toy.streaming") == 3
            assert "!nontemporal" in done.asm["llir"]


@pytest.mark.parametrize("n", [1, 5, 16, 40])
@pytest.mark.parametrize("target", ["toy", "sim:toy:t1", None])
@pytest.mark.parametrize("backwards", [0, 2])
def test_a_type_of_the_toy_goes_through_loops_branches_and_calls(
    n: int, target: str | None, backwards: int
) -> None:
    out = np.ones(64, np.float32)
    with tri.interpret() if target is None else tri.target(target):
        kernels_of_toy.windows[(1,)](out, n, backwards, BLOCK=16)
    expected = np.ones(64, np.float32)
    expected[:n] = 2
    if backwards:
        expected[: min(n, 16)] = 4
    assert_close(out, expected)
