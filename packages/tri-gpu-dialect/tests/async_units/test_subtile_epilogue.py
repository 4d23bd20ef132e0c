"""Which tiles are cut although there is room for them; what a cut tile becomes is in ``filecheck/subtile_epilogue.mlir``."""

from __future__ import annotations

import dataclasses

import pytest

from tri_core.api import StageContext, TargetSpec
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import MemDescType
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import Blocked, SwizzledShared
from tri_gpu_dialect.passes import LowerDescriptorsToTma, SubtileEpilogue
from tri_gpu_dialect.testing.block_copies import BLOCK_COPY_POLICY

ROWS = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
TILE = f"tensor<64x256xf16, {ROWS}>"
DESC = "!tt.tensordesc<tensor<64x256xf16>>"
KIB = 1 << 10


def stored(stages: int, *, in_loop: bool = False) -> ir.Module:
    """A tile of 32 KiB that is stored, behind a read of ``stages`` KiB of shared memory; in a loop both are needed all the time."""
    memory = MemDescType.of(
        (stages, 256), ir.F32Type.get(), SwizzledShared(1, 1, 1, (1, 0)).to_attr(), mutable=True
    )
    read = f'%r = "ttg.local_load"(%s) : ({memory}) -> tensor<{stages}x256xf32, {ROWS}>'
    store = f'"tt.descriptor_store"(%d, %x, %i, %i) : ({DESC}, {TILE}, i32, i32) -> ()'
    body = f"{read}\n{store}"
    if in_loop:
        body = f"scf.for %k = %i to %n step %n : i32 {{\n{body}\n}}"
    attributes = '"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32'
    pointer = '!tt.ptr<f16, "global">'
    maker = f"({pointer}, i32, i32, i64, i64) -> {DESC}"
    return ir.Module.parse(
        f'module attributes {{{attributes}}} {{ "tt.func"() ({{'
        f"^bb0(%p: {pointer}, %n: i32, %i: i32, %one: i64, %x: {TILE}):\n"
        '%d = "tt.make_tensor_descriptor"(%p, %n, %n, %one, %one)'
        f" {{operandSegmentSizes = array<i32: 1, 2, 2>}} : {maker}\n"
        f'%s = "ttg.local_alloc"() : () -> {memory}\n{body}\n"tt.return"() : () -> ()\n'
        f'}}) {{sym_name = "f", function_type = ({pointer}, i32, i32, i64, {TILE}) -> ()}} : () -> () }}'
    )


@pytest.mark.parametrize(
    ("stages", "in_loop", "limit", "large", "pieces"),
    [
        (48, False, 64, 32, 2),  # in the stages' memory either way
        (48, False, 64, 33, 1),
        (48, True, 96, 32, 2),  # one CTA with 80 KiB and with 64
        (48, True, 128, 32, 1),  # two with 64: halves in one place leave room for another CTA
        (16, False, 64, 32, 1),
        (16, False, 24, 64, 2),  # no room for the whole
    ],
)
def test_large_tiles_go_in_two_pieces_where_one_place_for_both_saves_nothing(
    context: StageContext, stages: int, in_loop: bool, limit: int, large: int, pieces: int
) -> None:
    spec = TargetSpec(threads_per_warp=(32,), limits={"shared": limit * KIB})
    given = dataclasses.replace(context, target=dataclasses.replace(context.target, spec=spec))
    module = stored(stages, in_loop=in_loop)
    LowerDescriptorsToTma(policy=BLOCK_COPY_POLICY).apply(module, given)
    SubtileEpilogue(policy=BLOCK_COPY_POLICY, large_bytes=large * KIB).apply(module, given)
    assert module.operation.verify()
    copies = [
        op for op in all_ops(next(functions(module))) if op.name == "ttg.async_copy_local_to_descriptor"
    ]
    assert len(copies) == pieces
