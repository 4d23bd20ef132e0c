"""Ops of floats at the level ``exact``: integers of their bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core import ring
from tri_core.errors import Unsupported
from tri_core.mlir import ir, session
from tri_runtime.simulator.exact import EXACT_PURE
from tri_runtime.simulator.program import Program, find_kernel


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with session():
        yield


def _decoded(body: str) -> ir.Module:
    return ir.Module.parse(f"llvm.func @k(%x: f32, %y: f32, %h: bf16) {{\n{body}\n llvm.return\n}}")


def _computed(body: str, *operands: npt.NDArray[Any]) -> npt.NDArray[Any]:
    module = _decoded(body)
    op = next(iter(find_kernel(module, "k").regions[0].blocks[0].operations))
    made: npt.NDArray[Any] = EXACT_PURE[op.name](op)(*operands)
    return made


X = np.array([2**31 - 1, -7, 12345], np.int32)
Y = np.array([5, 2**30, -3], np.int32)


@pytest.mark.parametrize(("name", "of"), [("fadd", "add"), ("fmul", "mul"), ("fdiv", "div"), ("fsub", "sub")])
def test_arithmetic_is_that_of_the_ring(name: str, of: str) -> None:
    found = _computed(f"%z = llvm.{name} %x, %y : f32", X.view(np.float32), Y.view(np.float32))
    assert found.dtype == np.float32
    assert (found.view(np.int32) == ring.function(of)(X, Y)).all()


def test_casts_cut_and_extend() -> None:
    cut = _computed("%z = llvm.fptrunc %x : f32 to bf16", X.view(np.float32))
    assert cut.view(np.int16).tolist() == X.astype(np.int16).tolist()
    wide = _computed("%z = llvm.fpext %h : bf16 to f32", cut)
    assert wide.view(np.int32).tolist() == [-1, -7, 12345]


def test_comparisons_order_integers() -> None:
    found = _computed('%z = llvm.fcmp "olt" %x, %y : f32', X.view(np.float32), Y.view(np.float32))
    assert found.tolist() == [False, True, False]


def test_literals_and_scalars_are_the_same_elements() -> None:
    module = _decoded("%z = llvm.mlir.constant(0.1 : f32) : f32")
    program = Program(find_kernel(module, "k"), exact=True)
    given = program.given([0.1, 2.0, 0.5], 4)
    assert given[0].view(np.int32).tolist() == [ring.literal(float(np.float32(0.1)), 32)] * 4
    assert given[1].view(np.int32)[0] == 2
    assert given[2].view(np.int16)[0] == ring.literal(0.5, 16)


def test_an_unknown_function_of_floats_is_refused() -> None:
    module = ir.Module.parse(
        """llvm.func @gamma(f32) -> f32
        llvm.func @k(%x: f32) { %z = llvm.call @gamma(%x) : (f32) -> f32
        llvm.return }"""
    )
    with pytest.raises(Unsupported, match="no meaning for the function gamma"):
        Program(find_kernel(module, "k"), exact=True)
