"""Constructs of kernels that were written for Triton, run on the CPU target."""

# ruff: noqa: RET503  (functions that fall off their end are tested)

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.compat.triton as compat
import tri.language as tl
from tri_core import knobs, plugins
from tri_core.plugins import PluginManager, candidate_of


@pytest.fixture(autouse=True)
def _fake_backend(tmp_path: Path) -> Iterator[None]:
    """Not the fake one: the CPU's."""
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu)])), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield


@tri.jit
def unpacking(out_ptr, SIZES: tl.constexpr):
    rows: tl.constexpr
    rest: tl.constexpr
    rows, columns, *rest = SIZES
    tl.static_assert(rows == 4)
    tl.static_assert(rest[1] == 9)
    tl.store(out_ptr + tl.arange(0, rows), columns + rest[0])


def test_a_tuple_is_unpacked_into_annotated_names() -> None:
    out = np.zeros(4, np.int32)
    unpacking[(1,)](out, (4, 2, 7, 9))
    assert out.tolist() == [9] * 4


@tri.jit
def unpacked_without_promise(out_ptr, SIZES: tl.constexpr):
    rows: tl.constexpr
    rows, columns = SIZES
    tl.static_assert(rows == 4)
    tl.static_assert(columns == 2)
    tl.store(out_ptr, columns)


def test_names_that_were_not_annotated_are_run_time_values() -> None:
    with pytest.raises(tri.CompilationError, match="run-time value"):
        unpacked_without_promise[(1,)](np.zeros(4, np.int32), (4, 2))


@tri.jit
def interleaved(out_ptr, a, b):
    tl.store(out_ptr + tl.arange(0, 2), tl.interleave(a, b))


def test_scalars_are_interleaved() -> None:
    out = np.zeros(2, np.int32)
    interleaved[(1,)](out, 5, 6)
    assert out.tolist() == [5, 6]


@tri.jit
def falls_off(out_ptr, value):
    if value > 100:
        return
    tl.store(out_ptr, value)


@tri.jit
def value_or_nothing(give: tl.constexpr):
    if give:
        return 4


@tri.jit
def uses_nothing(out_ptr, value):
    first = falls_off(out_ptr, value)
    tl.static_assert(first is None)
    absent: tl.constexpr = value_or_nothing(False)
    tl.static_assert(absent is None)
    if value_or_nothing(False) is None:
        tl.store(out_ptr + 1, value_or_nothing(True))
    return falls_off(out_ptr, value)


def test_a_function_without_return_gives_none() -> None:
    out = np.zeros(2, np.int32)
    uses_nothing[(1,)](out, 7)
    assert out.tolist() == [7, 4]


@tri.aggregate
class Pair:
    x: tl.tensor
    step: tl.constexpr

    @staticmethod
    @tri.jit
    def create(x):
        return Pair(x, 4)

    @staticmethod
    @tri.jit
    def double(x):
        return x * 2

    @tri.jit
    def sum(self):
        return self.x + self.step


@tri.jit
def of_pairs(out_ptr, x):
    pair = Pair.create(x)
    tl.store(out_ptr, pair.sum() + Pair.double(5))
    tl.store(out_ptr + 1, pair.double(x))


def test_static_methods_of_aggregates() -> None:
    out: Any = np.zeros(2, np.int32)
    of_pairs[(1,)](out, 7)
    assert out.tolist() == [21, 14]


def test_the_former_name_of_the_decorator_of_aggregates() -> None:
    with compat.installed():
        former = importlib.import_module("triton.language.core")._aggregate
    assert former is tri.aggregate


# --- what one version or the other accepts ------------------------------------------------------------------


@tri.jit
def column_of_a_scalar(out_ptr, x_ptr):
    column = tl.load(x_ptr)[:, None]
    tl.static_assert(len(column.shape) == 1)
    tl.store(out_ptr + tl.arange(0, 1), column + 1)


def test_a_scalar_has_no_dimension_to_keep() -> None:
    for context in (contextlib.nullcontext(), tri.interpret()):
        out = np.zeros(1, np.float32)
        with context:
            column_of_a_scalar[(1,)](out, np.full(1, 4, np.float32))
        assert out[0] == 5


@tri.jit
def whether_given(out_ptr, x_ptr, y_ptr):
    total = 0
    if x_ptr:
        total += 1
    if y_ptr:
        total += 2
    tl.store(out_ptr, total)


def test_a_pointer_is_true_unless_it_is_null() -> None:
    for context in (contextlib.nullcontext, tri.interpret):
        for y, want in ((None, 1), (np.ones(1, np.float32), 3)):
            out = np.zeros(1, np.int32)
            with context():
                whether_given[(1,)](out, np.ones(1, np.float32), y)
            assert out[0] == want
