"""Every op of ``tt`` in its text: read, printed, read again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tri_core import mlir
from tri_core.dialects import tt
from tri_core.mlir import ir

#: ops that the original has in another dialect
OURS_ALONE = {"tt.barrier"}
SAMPLES = (Path(__file__).parent / "tt_samples.mlir").read_text().split("// -----\n")


def printed(module: ir.Module) -> str:
    return str(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))


@pytest.mark.parametrize("text", SAMPLES)
def test_round_trip(text: str) -> None:
    with mlir.session():
        module = mlir.parse(text)
        mlir.verify(module)
        once = printed(module)
        assert printed(mlir.parse(once)) == once


def test_every_op_has_a_sample() -> None:
    names = set(re.findall(r'"(tt\.\w+)"\(', "".join(SAMPLES)))
    assert names == {op.OPERATION_NAME for op in tt.TT.operations} - OURS_ALONE


def test_mixed_variadics_survive_a_verification() -> None:
    """References held by the caller stay good."""
    (text,) = (t for t in SAMPLES if "tt.scan" in t)
    with mlir.session():
        module = mlir.parse(text)
        before = printed(module)
        body = module.body.operations[0].regions[0].blocks[0]
        reduce = body.operations[2]
        mlir.verify(module)
        assert len(reduce.operation.operands) == 2
        assert printed(module) == before


def test_mixed_variadics_are_still_checked() -> None:
    (text,) = (t for t in SAMPLES if "tt.scan" in t)
    with mlir.session(), pytest.raises(ir.MLIRError, match="axis"):
        mlir.parse(
            text.replace(
                "axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>)",
                "} : (tensor<4x8xf32>, tensor<4x8xi32>)",
            )
        )
