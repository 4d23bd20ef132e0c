"""Every shape of block that operands are loaded in, results stored in, and prefetched in: the driver's own compiler takes it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import pytest
from integration.bench_intel_static import igc

from intel_support import llvm_of, target_of, to_spirv
from tri_backend_intel.dialect.blocks import BlockLoadOp, BlockPrefetchOp, BlockStoreOp, Form
from tri_backend_intel.dpas import dots
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.lowering.block_shapes import ROWS, BlockShape, block_shape
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.transforms.fold_tiles import is_loadable
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.lowering import Builder

BITS = {"f16": 16, "bf16": 16, "i8": 8, "f32": 32, "f8E5M2": 8, "f8E4M3FN": 8}


def shapes() -> Iterator[BlockShape]:
    """Of all operands of a warp, of sizes that are powers of two."""
    for row in dots(target_of("pvc"), IntelOptions()).instructions:
        rows, lanes, depth = row.shape
        for operand, transposed, spread, steps in itertools.product(
            (0, 1), (False, True), (1, 2, 4), (1, 2, 4)
        ):
            if not is_loadable(BITS[row.a], operand, lanes, transposed=transposed):
                continue
            encoding = DotOperand(op_idx=operand, parent=row.encoding, k_width=row.k_width[operand])
            extent = (rows * spread, depth * steps) if operand == 0 else (depth * steps, lanes * spread)
            yield block_shape(encoding, BITS[row.a], extent, transposed=transposed)


SHAPES = sorted(set(shapes()), key=str)


def numbers(b: Builder, **values: int) -> dict[str, ir.Attribute]:
    return {name: ir.IntegerAttr.get(b.i32, value) for name, value in values.items()}


def surface(b: Builder, pointer: ir.Value) -> list[ir.Value]:
    return [pointer, *(b.int_(n) for n in (4096, 64, 4096, 0, 0))]


def all_of_them(b: Builder, words: IntelPrimitives, args: Sequence[ir.Value]) -> None:
    total = b.int_(0)
    for s in SHAPES:
        attributes = numbers(b, bits=s.bits, width=s.width, rows=s.rows, count=s.count, form=s.form)
        element = b.int_type(s.bits // s.per)
        for value in BlockLoadOp.build(surface(b, args[0]), [element] * s.results, attributes):
            total = b.xor(total, b.int_cast(value, b.i32))
        prefetch = numbers(b, bits=s.bits, width=s.width, rows=s.rows, count=s.count)
        if s.form is not Form.TRANSPOSED:
            BlockPrefetchOp.build(surface(b, args[0]), [], prefetch)
    for bits, rows in itertools.product((16, 32), (1, 2, 4, 8)):
        attributes = numbers(b, bits=bits, width=16, rows=rows, count=1)
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1] * 6 + [rows])
        values = [b.int_cast(total, b.int_type(bits))] * rows
        BlockStoreOp.build([*surface(b, args[1]), *values], [], attributes)


def test_the_table_has_every_form() -> None:
    assert {s.form for s in SHAPES} == set(Form)
    assert max(s.rows for s in SHAPES) == ROWS
    assert {s.bits for s in SHAPES if s.form is Form.PLAIN} == {16, 32}
    assert {s.rows for s in SHAPES if s.form is Form.TRANSPOSED} == {8, 16}
    assert all(s.width * s.bits * s.count <= 512 for s in SHAPES)


@pytest.mark.skipif(
    igc.ocloc() is None, reason="there is no ocloc: python -m integration.bench_intel_static.fetch_ocloc"
)
@pytest.mark.parametrize("device", ["pvc", "bmg", "lnl", "ptl"])
def test_the_compiler_of_the_driver_takes_every_shape(device: str) -> None:
    options = IntelOptions(num_warps=1)
    module = to_spirv(llvm_of(all_of_them, 2, options, arch=device), device, options).artifact
    assert isinstance(module, bytes)
    built = igc.build(module, device, igc.LARGE)
    # ptl's listing has messages, with the name in a comment
    loads = [
        x
        for x in built.listing
        if re.search(r"^\s+(load_block2d|send)\S*\s+\(1\|M0\)\s+r\d.*", x) and "load_block2d" in x
    ]
    assert len(loads) == len(SHAPES)


@pytest.mark.skipif(igc.ocloc() is None, reason="there is no ocloc")
def test_a_shape_that_does_not_exist_is_refused() -> None:
    def wrong(b: Builder, words: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        attributes = numbers(b, bits=32, width=16, rows=8, count=1, form=Form.VNNI)
        values = BlockLoadOp.build(surface(b, args[0]), [b.i32] * 8, attributes)
        b.store(values[0], args[1], 4)

    options = IntelOptions(num_warps=1)
    with pytest.raises(igc.Refused, match="Subgroup2DBlockLoad"):
        igc.build(to_spirv(llvm_of(wrong, 2, options, arch="pvc"), "pvc", options).artifact, "pvc")
