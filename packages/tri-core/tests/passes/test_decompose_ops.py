"""Ops as what they stand for."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Callable
from typing import Any

import pytest

from tri_core import mlir
from tri_core.errors import VerificationError
from tri_core.ir.traits import Decomposable, Elementwise, Pure
from tri_core.mlir import ext, ir
from tri_core.passes import DecomposeOps
from tri_core.testing import filecheck


class Made(ext.Dialect, name="made_up_decompositions"):
    """A dialect as somebody else may have it."""


def _compute(name: str, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[operands[0].type], operands=list(operands)).result


class SquareOp(Made.Operation, name="square", traits=[Pure, Elementwise, Decomposable]):
    x: ext.Operand[Any]
    result: ext.Result[Any]

    def decompose(self) -> ir.Value:
        return _compute("arith.mulf", self.x, self.x)


class FourthPowerOp(Made.Operation, name="fourth_power", traits=[Pure, Elementwise, Decomposable]):
    x: ext.Operand[Any]
    result: ext.Result[Any]

    def decompose(self) -> ir.Value:
        return _compute("made_up_decompositions.square", _compute("made_up_decompositions.square", self.x))


class WrongOp(Made.Operation, name="wrong", traits=[Pure, Elementwise, Decomposable]):
    x: ext.Operand[Any]
    result: ext.Result[Any]

    def decompose(self) -> list[ir.Value]:
        return [self.x, self.x]


@pytest.fixture(autouse=True)
def dialect() -> None:
    if Made.DIALECT_NAMESPACE not in mlir.registry.dialects:
        mlir.registry.add_dialect(Made)


def body(name: str) -> str:
    kind = "tensor<8xf32>"
    return (
        f'%r = "made_up_decompositions.{name}"(%x) : ({kind}) -> {kind}\n'
        f'"tt.print"(%r) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : ({kind}) -> ()'
    )


def test_in_turn(function: Callable[..., str], after: Callable[..., str]) -> None:
    filecheck(
        after(DecomposeOps(), function("%x: tensor<8xf32>", body("fourth_power"))),
        """CHECK: %[[S:.*]] = "arith.mulf"(%arg0, %arg0)
           CHECK: %[[F:.*]] = "arith.mulf"(%[[S]], %[[S]])
           CHECK-NOT: made_up_decompositions
           CHECK: "tt.print"(%[[F]])
        """,
    )


def test_other_ops_stay(function: Callable[..., str], after: Callable[..., str]) -> None:
    text = function("%x: tensor<8xf32>", '%r = "math.absf"(%x) : (tensor<8xf32>) -> tensor<8xf32>')
    assert '"math.absf"(%arg0)' in after(DecomposeOps(), text)


def test_wrong_results_are_refused(function: Callable[..., str], after: Callable[..., str]) -> None:
    with pytest.raises(
        VerificationError, match=r"made_up_decompositions\.wrong decomposes to .* for tensor<8xf32>"
    ) as error:
        after(DecomposeOps(), function("%x: tensor<8xf32>", body("wrong")))
    assert "WrongOp.decompose" in str(error.value)
