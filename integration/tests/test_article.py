"""The dot that the Korean article on Triton's move to MLIR walks through gives what the article shows, stage by stage.

Its facts, in today's names of ops and layouts: 16 x 8 results, k = 64 in steps of 16, f16 to f32, one warp, sm_80.
The pointers and the rows of ``a`` are multiples of 16, the rows of ``b`` and ``c`` are of unknown alignment.

One fact cannot be had: with rows of unknown alignment the article still copies ``b`` asynchronously, an element at a time.
The hardware's copies have 4 bytes at least, so here ``b`` stays a load; with aligned rows it is copied, into the article's memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from integration import walk
from tri_core.testing import filecheck

#: its blocked0 and blocked1
A_ROWS = "#[[A:blocked\\d*]] = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [16, 2], warpsPerCTA = [1, 1], order = [1, 0]}>"
B_ELEMENTS = "#[[B:blocked\\d*]] = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>"
#: its mma of version 2, of one warp; the instruction's shape is m16n8k16
MMA = "#[[MMA:mma]] = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
#: its shared0 (vec 8, perPhase 4, maxPhase 2) and shared1 (8, 8, 1)
A_MEMORY = "#[[SA:shared\\d*]] = #ttg.swizzled_shared<{vec = 8, perPhase = 4, maxPhase = 2, order = [1, 0]}>"
B_MEMORY = "#[[SB:shared\\d*]] = #ttg.swizzled_shared<{vec = 8, perPhase = 8, maxPhase = 1, order = [1, 0]}>"


@pytest.fixture(scope="module")
def given() -> Mapping[str, str]:
    """The stages with the article's hints."""
    return walk.stages(walk.matmul("stride_am"))


@pytest.fixture(scope="module")
def aligned() -> Mapping[str, str]:
    """The stages where all rows are aligned."""
    return walk.stages(walk.matmul("stride_am", "stride_bk", "stride_cm"))


def checked(text: str, *lines: str) -> None:
    filecheck(text, "\n".join(lines))


def test_invariant_steps_leave_the_loop(given: Mapping[str, str]) -> None:
    """The product of the row stride and 16, and its splat, come before the loop."""
    checked(
        given["ttir"],
        "CHECK: %[[W:.*]] = arith.muli %stride_bk, %c16_i32",
        "CHECK: %[[STEP:.*]] = tt.splat %[[W]] : i32 -> tensor<16x8xi32>",
        "CHECK: scf.for {{.*}} = %c0_i32 to %c64_i32 step %c16_i32",
        "CHECK: %[[X:.*]] = tt.load %{{.*}} : tensor<16x16x!tt.ptr<f16>>",
        "CHECK: %[[Y:.*]] = tt.load %{{.*}} : tensor<16x8x!tt.ptr<f16>>",
        "CHECK-NOT: arith.addf",
        "CHECK: tt.dot %[[X]], %[[Y]], %{{.*}} : tensor<16x16xf16> * tensor<16x8xf16> -> tensor<16x8xf32>",
        "CHECK: tt.addptr %{{.*}}, %[[STEP]]",
    )


def test_first_layouts(given: Mapping[str, str]) -> None:
    """Every tensor has a blocked layout, the dot's operands ``dot_op`` of the result's."""
    checked(
        given["convert-triton-to-tritongpu"],
        "CHECK: #[[R:blocked\\d*]] = #ttg.blocked<{sizePerThread = [{{\\d, \\d}}]",
        'CHECK: "ttg.num-warps" = 1 : i32',
        "CHECK: scf.for",
        "CHECK: tt.load",
        "CHECK: tt.load",
        "CHECK: ttg.convert_layout {{.*}} -> tensor<16x16xf16, #ttg.dot_op<{opIdx = 0, parent = #[[P:blocked\\d*]]}>>",
        "CHECK: ttg.convert_layout {{.*}} -> tensor<16x8xf16, #ttg.dot_op<{opIdx = 1, parent = #[[P]]}>>",
        "CHECK: tt.dot {{.*}} -> tensor<16x8xf32, #[[P]]>",
    )


def test_coalesced(given: Mapping[str, str]) -> None:
    """A thread reads 8 halves of a row of ``a``, and single ones of ``b``: 4 rows of 8 threads."""
    checked(
        given["coalesce"],
        f"CHECK-DAG: {A_ROWS}",
        f"CHECK-DAG: {B_ELEMENTS}",
        "CHECK: scf.for",
        "CHECK: tt.load {{.*}} : tensor<16x16x!tt.ptr<f16>, #[[A]]>",
        "CHECK: tt.load {{.*}} : tensor<16x8x!tt.ptr<f16>, #[[B]]>",
    )


def test_accelerated(given: Mapping[str, str]) -> None:
    """Two loads, one conversion each, one dot with the result of the matrix instruction; nothing else converts in the loop."""
    checked(
        given["remove-layout-conversions"],
        f"CHECK-DAG: {A_ROWS}",
        f"CHECK-DAG: {B_ELEMENTS}",
        f"CHECK-DAG: {MMA}",
        "CHECK: arith.constant dense<0.000000e+00> : tensor<16x8xf32, #[[MMA]]>",
        "CHECK: scf.for",
        "CHECK: %[[X:.*]] = tt.load {{.*}}#[[A]]>",
        "CHECK: %[[XO:.*]] = ttg.convert_layout %[[X]] {{.*}}#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>",
        "CHECK: %[[Y:.*]] = tt.load {{.*}}#[[B]]>",
        "CHECK: %[[YO:.*]] = ttg.convert_layout %[[Y]] {{.*}}#ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>>",
        "CHECK: tt.dot %[[XO]], %[[YO]], {{.*}} -> tensor<16x8xf32, #[[MMA]]>",
        "CHECK-NOT: ttg.convert_layout",
        "CHECK: scf.yield",
    )


def test_pipelined(aligned: Mapping[str, str]) -> None:
    """Three stages of swizzled memory per operand; two iterations of copies before the loop, the third one in it.

    How often the loop runs is known, so the two before it need no mask.
    """
    first, copies = (
        [
            f"CHECK: ttg.async_copy_global_to_local %{{{{[a-z_0-9]+}}}}, %{{{{[a-z_0-9]+}}}}{mask} : {{{{.*}}}} -> <{shape}xf16, #[[{memory}]], #smem, mutable>"
            for shape, memory in (("16x16", "SA"), ("16x8", "SB"))
        ]
        + ["CHECK: ttg.async_commit_group"]
        for mask in ("", " mask %{{[a-z_0-9]+}}")
    )
    checked(
        aligned["pipeline"],
        f"CHECK-DAG: {A_ROWS}",
        f"CHECK-DAG: {MMA}",
        f"CHECK-DAG: {A_MEMORY}",
        f"CHECK-DAG: {B_MEMORY}",
        "CHECK: ttg.local_alloc : () -> !ttg.memdesc<3x16x16xf16, #[[SA]], #smem, mutable>",
        "CHECK: ttg.local_alloc : () -> !ttg.memdesc<3x16x8xf16, #[[SB]], #smem, mutable>",
        *first,
        *first,
        "CHECK-NOT: ttg.async_copy_global_to_local",
        "CHECK: scf.for",
        # two groups of copies are under way (the article counts single copies): one may stay so
        "CHECK: ttg.async_wait {num = 1 : i32}",
        *copies,
        "CHECK: ttg.memdesc_index",
        "CHECK: %[[X:.*]] = ttg.local_load {{.*}}#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>",
        "CHECK: %[[Y:.*]] = ttg.local_load {{.*}}#ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>>",
        "CHECK: tt.dot %[[X]], %[[Y]],",
        # stages are counted modulo three
        "CHECK: arith.cmpi eq, %{{.*}}, %c3_i32",
        "CHECK: scf.yield",
    )


def test_single_elements_are_not_copied(given: Mapping[str, str]) -> None:
    checked(
        given["pipeline"],
        f"CHECK-DAG: {A_MEMORY}",
        "CHECK: ttg.local_alloc : () -> !ttg.memdesc<3x16x16xf16, #[[SA]], #smem, mutable>",
        "CHECK-NOT: ttg.local_alloc",
        "CHECK: scf.for",
        "CHECK: tt.load {{.*}} : tensor<16x8x!tt.ptr<f16>",
        "CHECK: scf.yield",
    )


def test_prefetched(aligned: Mapping[str, str]) -> None:
    """Both operands of the first iteration are read before the loop, those of the next at the end of each; one dot."""
    checked(
        aligned["prefetch"],
        "CHECK: ttg.async_wait {num = 1 : i32}",
        "CHECK: %[[X0:.*]] = ttg.local_load {{.*}} -> tensor<16x16xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>",
        "CHECK: %[[Y0:.*]] = ttg.local_load {{.*}} -> tensor<16x8xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>>",
        "CHECK: scf.for {{.*}}%[[X:arg\\d+]] = %[[X0]], %[[Y:arg\\d+]] = %[[Y0]])",
        "CHECK: ttg.async_wait {num = 1 : i32}",
        "CHECK: %[[X1:.*]] = ttg.local_load {{.*}}opIdx = 0",
        "CHECK: %[[Y1:.*]] = ttg.local_load {{.*}}opIdx = 1",
        "CHECK-NEXT: tt.dot %[[X]], %[[Y]],",
        "CHECK-NOT: tt.dot",
        "CHECK: scf.yield {{.*}}%[[X1]], %[[Y1]] :",
    )


def test_instructions(aligned: Mapping[str, str]) -> None:
    """A wait for groups, matrix loads of four and the m16n8k16 instruction, in PTX; four halves or words per store."""
    ptx = aligned["ptx"]
    checked(
        ptx,
        "CHECK: cp.async.cg.shared.global",
        "CHECK: cp.async.wait_group",
        "CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "CHECK: st.global",
    )


def test_page() -> None:
    assert walk.PAGE.read_text() == walk.page(), "run python -m integration.walk"
