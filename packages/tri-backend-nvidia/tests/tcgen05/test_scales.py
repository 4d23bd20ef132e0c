"""Layouts of scales and of padded e2m1, and the pass that gives scaled dots to ``tcgen05``."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvidia_support import after_pass, target
from tri_backend_nvidia.mma.memory import FourBitShared, NvmmaShared
from tri_backend_nvidia.scaled_dots import AccelerateDotScaled
from tri_backend_nvidia.tcgen05.scaled import operand_memory
from tri_backend_nvidia.tcgen05.scaled_table import ROWS, ScaledDots
from tri_backend_nvidia.tcgen05.scales import ScalesShared, TensorMemoryScales, are_copied_as
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.testing import filecheck
from tri_gpu_dialect.encodings import SwizzledShared
from tri_gpu_dialect.layouts import LinearLayout, layout_for
from tri_gpu_dialect.layouts.shared import pad_offset, padded_size

SETTINGS = settings(deadline=None, max_examples=40)
ROW_COUNTS, GROUPS = st.sampled_from([32, 64, 128, 256, 512]), st.sampled_from([4, 8, 16, 32])
FORMATS = {f.name.lower(): f for f in ScaleDotElemType}


@given(rows=ROW_COUNTS, groups=GROUPS, data=st.data())
@SETTINGS
def test_scales_lie_in_memory_as_copies_take_them(rows: int, groups: int, data: st.DataObject) -> None:
    """512 bytes for 128 rows and four scales: 16 bytes a lane, 4 for each 32 rows (the manual's figures of scale factors)."""
    row, group = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, groups - 1))
    shape, encoding = (rows, groups), ScalesShared.of((rows, groups))
    offset = layout_for(encoding, shape).pseudo_invert().apply({"dim0": row, "dim1": group})["offset"]
    block = group // 4 * max(rows // 128, 1) + row // 128
    expected = 512 * block + 16 * (row % 32) + 4 * (row % 128 // 32) + group % 4
    assert pad_offset(offset, encoding.padding) == expected
    assert padded_size(rows * groups, encoding.padding) <= 512 * max(rows // 128, 1) * groups // 4


@given(rows=ROW_COUNTS, groups=GROUPS, data=st.data())
@SETTINGS
def test_scales_lie_in_tensor_memory_as_matmuls_read_them(
    rows: int, groups: int, data: st.DataObject
) -> None:
    """Row i in lane i % 32, the next 32 rows in the next column, four scales in a word."""
    row, group = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, groups - 1))
    encoding = TensorMemoryScales()
    place = layout_for(encoding, (rows, groups)).pseudo_invert().apply({"dim0": row, "dim1": group})
    assert place["row"] == row % 32
    column, byte = divmod(place["column"], 4)
    assert byte == group % 4
    assert column == group // 4 * max(rows // 32, 4) + row // 32
    assert column < encoding.columns((rows, groups))


@given(rows=ROW_COUNTS, groups=GROUPS, warps=st.sampled_from([4, 8, 16]), data=st.data())
@SETTINGS
def test_scales_in_registers_are_those_of_the_lane(
    rows: int, groups: int, warps: int, data: st.DataObject
) -> None:
    """Each of four warps has every scale, row i in lane i % 32, and what shares a column in one thread; more warps part them."""
    encoding = TensorMemoryScales()
    layout = encoding.registers((rows, groups), warps)
    row, group = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, groups - 1))
    first = layout.pseudo_invert().apply({"dim0": row, "dim1": group})
    assert first["lane"] == row % 32
    word = layout.pseudo_invert().apply({"dim0": row, "dim1": group // 4 * 4})
    assert (word["warp"], word["register"]) == (first["warp"], first["register"] // 4 * 4)
    for quarter in range(4):
        assert layout.apply({**first, "warp": first["warp"] ^ quarter}) == {"dim0": row, "dim1": group}
    blocks = rows // 32 * groups // 4
    assert layout.in_sizes["register"] == 4 * max(blocks // (warps // 4), 1)


def test_what_copies_take() -> None:
    shape = (256, 8)
    taken = layout_for(ScalesShared(), shape)
    assert are_copied_as(taken, shape)
    assert are_copied_as(taken, (128, 4))  # a part
    assert not are_copied_as(taken, (64, 8))  # less than a copy
    assert not are_copied_as(layout_for(SwizzledShared(1, 1, 1, (1, 0)), shape), shape)
    swapped = [*taken.bases["offset"]]
    swapped[8], swapped[9] = swapped[9], swapped[8]  # rows of two blocks alternate
    assert not are_copied_as(LinearLayout.from_bases({"offset": swapped}, {"dim0": 256, "dim1": 8}), shape)


@given(
    width=st.sampled_from([32, 64, 128]),
    rows=st.sampled_from([8, 32, 128]),
    depth=st.sampled_from([64, 128, 256]),
    transposed=st.booleans(),
    data=st.data(),
)
@SETTINGS
def test_padded_e2m1_has_8_bytes_of_each_16(width, rows, depth, transposed, data: st.DataObject) -> None:
    """Where 8-bit elements would be: those of a piece's first half, in the same swizzle."""
    row, byte = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, depth - 1))

    def place(encoding, shape, row, column):
        shape, at = (shape[::-1], (column, row)) if transposed else (shape, (row, column))
        layout = layout_for(encoding, shape)
        offset = layout.pseudo_invert().apply({"dim0": at[0], "dim1": at[1]})["offset"]
        return pad_offset(offset, encoding.padding)

    got = place(FourBitShared(width, transposed), (rows, depth), row, byte)
    wide = place(NvmmaShared(width, transposed, 8), (rows, 2 * depth), row, byte // 8 * 16 + byte % 8)
    assert got == wide


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScalesShared(3), "1, 2 or 4"),
        (lambda: ScalesShared.of((128, 2)).linear_layout((128, 2)), "at least 32 rows of 4"),
        (lambda: TensorMemoryScales().linear_layout((16, 4)), "at least 32 rows of 4"),
        (lambda: FourBitShared(0, False), "32, 64 or 128"),
    ],
)
def test_what_no_instruction_reads(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("kind", "format_", "index", "contiguous", "expected"),
    [
        ("mxf8f6f4", "e4m3", 0, 1, NvmmaShared(128, False, 8)),
        ("mxf8f6f4", "e5m2", 1, 1, NvmmaShared(128, False, 8)),  # across
        ("mxf8f6f4", "e2m1", 1, 1, FourBitShared(128, True)),  # along k all the same
        ("mxf8f6f4", "e2m1", 0, 1, FourBitShared(128, False)),
        ("mxf4", "e2m1", 1, 1, NvmmaShared(128, True, 8)),
        ("mxf4nvf4", "e2m1", 0, 0, NvmmaShared(128, False, 8)),
    ],
)
def test_how_factors_lie(kind, format_, index, contiguous, expected) -> None:
    row = next(row for row in ROWS if row.kind == kind)
    assert operand_memory(row, FORMATS[format_], index, (128, 128), contiguous) == expected


def test_only_targets_with_tensor_memory_have_scaled_matmuls() -> None:
    assert ScaledDots.of(target("sm_90a"), 4, 1, specialize=None) is None
    assert ScaledDots.of(target("sm_120a"), 4, 1, specialize=None) is None  # it has another instruction
    found = ScaledDots.of(target("sm_100a"), 4, 1, specialize=None)
    assert found is not None
    assert (found.columns, found.shared) == (512, 232448)


MODULE = """
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%a: tensor<128x128xi8, #blocked>, %sa: tensor<128x4xi8, #blocked>, %b: tensor<64x64xi8, #blocked>, %sb: tensor<64x4xi8, #blocked>, %p: tensor<128x64x!tt.ptr<f32>, #blocked>) {
    %c = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #blocked>
    %f = tt.bitcast %a : tensor<128x128xi8, #blocked> -> tensor<128x128xf8E4M3FN, #blocked>
    %0 = tt.dot_scaled %f scale %sa, %b scale %sb, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<128x128xf8E4M3FN, #blocked>, tensor<128x4xi8, #blocked> * tensor<64x64xi8, #blocked>, tensor<64x4xi8, #blocked> -> tensor<128x64xf32, #blocked>
    tt.store %p, %0 : tensor<128x64x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
"""


def test_the_pass_makes_buffers_of_factors_and_scales() -> None:
    filecheck(
        after_pass(AccelerateDotScaled(), MODULE, "sm_100a"),
        """CHECK-DAG: #padded = #ttng.fp4_padded_shared<{swizzlingByteWidth = 128, transposed = true}>
           CHECK: %[[A:.*]] = ttg.local_alloc %a :
           CHECK-SAME: memdesc<128x128xi8, #shared
           CHECK: %[[B:.*]] = ttg.local_alloc %b :
           CHECK-SAME: memdesc<64x64xi8, #padded
           CHECK: %[[SA:.*]] = ttg.local_alloc %sa
           CHECK-SAME: memdesc<128x4xi8, #scales
           CHECK: %[[SB:.*]] = ttg.local_alloc %sb
           CHECK-SAME: memdesc<64x4xi8, #scales1
           CHECK: %[[C:.*]] = ttg.convert_layout
           CHECK: %[[NO:.*]] = arith.constant false
           CHECK: %[[D:.*]] = ttng.warp_group_dot %[[A]], %[[B]], %[[C]], %[[NO]] scales %[[SA]], %[[SB]] {a_elem_type = 0 : i32, b_elem_type = 4 : i32
           CHECK: ttng.warp_group_dot_wait %[[D]] {pendings = 0 : i32}
           CHECK-NOT: tt.dot_scaled""",
    )
