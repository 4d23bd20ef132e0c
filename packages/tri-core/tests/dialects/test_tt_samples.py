"""Every op of ``tt`` in its text: read, printed, read again, and written as the original writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tri_core import mlir
from tri_core.dialects import tt
from tri_core.dialects.tt.text import to_original_syntax
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


@pytest.mark.parametrize(
    ("ours", "original"),
    [
        ('"tt.reduce_return"(%0) : (f32) -> ()', '"tt.reduce.return"(%0) : (f32) -> ()'),
        ('"tt.map_elementwise_return"()', '"tt.map_elementwise.return"()'),
        ('tensor<8x!tt.ptr<f32, "global">>', "tensor<8x!tt.ptr<f32>>"),
        ('!tt.ptr<i8, "constant">', '!tt.ptr<i8, "constant">'),
        ("!tt.tensordesc<tensor<8x16xf16>>", "!tt.tensordesc<8x16xf16>"),
        (
            '"tt.load"(%0) {cache = 3 : i32, operandSegmentSizes = array<i32: 1, 0, 0>} : (f) -> f',
            (
                '"tt.load"(%0) {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>, '
                "operandSegmentSizes = array<i32: 1, 0, 0>} : (f) -> f"
            ),
        ),
        (
            '"tt.store"(%0, %1) {evict = 3 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (p, f) -> ()',
            (
                '"tt.store"(%0, %1) {cachePolicy = #tt.cache_policy<cache_modifier = none, '
                "eviction_policy = evict_last>} : (p, f) -> ()"
            ),
        ),
        (
            '"tt.store"(%0, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (p, f) -> ()',
            '"tt.store"(%0, %1) : (p, f) -> ()',
        ),
        (
            '"tt.histogram"(%0) {operandSegmentSizes = array<i32: 1, 0>} : (t) -> t',
            '"tt.histogram"(%0) : (t) -> t',
        ),
    ],
)
def test_original_syntax(ours: str, original: str) -> None:
    assert to_original_syntax(ours) == original
