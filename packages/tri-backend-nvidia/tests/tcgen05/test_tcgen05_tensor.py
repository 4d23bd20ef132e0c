"""A from tensor memory: machine ops, layouts, the pass that puts operands there, and kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from machine_runs import ptx_text, simulated
from matrix_data import close, poisoned, values
from nvidia_support import assembled
from tcgen05_cases import ARCH, THREADS, unpacked
from tcgen05_tensor_cases import TENSOR, TENSOR_MATMULS, WIDTH
from tensor_memory_text import DOT, HEAD, SHORT, placed
from tri_backend_nvidia.machine import TensorMemoryStoreOp
from tri_backend_nvidia.tcgen05.encoding import TensorMemory, TensorMemoryRows
from tri_backend_nvidia.tcgen05.tmem_operands import TensorMemoryOperand
from tri_core.errors import SimulationError
from tri_gpu_dialect.layouts import layout_for

torch = pytest.importorskip("torch")

SIMULATED = "sim:nvidia:sm_100a"

# --- machine ops ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TENSOR)
def test_matmuls_are_exact(name: str) -> None:
    matmul = TENSOR_MATMULS[name]
    case = matmul.case(name)
    (rows, words, before), _ = case.arguments()
    (got,) = simulated(case)
    for program in (0, 1):
        own = slice(program * THREADS, (program + 1) * THREADS)
        a = unpacked(matmul.kind, rows[own])
        lines = words[own].reshape(-1).view("u1").reshape(matmul.n, WIDTH // 16, 16)
        straight = np.stack([line[np.arange(8) ^ i % 8] for i, line in enumerate(lines)])
        b = unpacked(matmul.kind, straight.reshape(matmul.n, -1).view("i4"))
        expected = a @ b.T + (before[own].astype("f8") if program == 0 else 0)
        if matmul.held == "i4":
            assert (got[own] == expected).all()
        else:
            assert np.abs(got[own] - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", TENSOR)
def test_every_kind_assembles(name: str) -> None:
    assert assembled(ptx_text(TENSOR_MATMULS[name].case(name)), ARCH).usage.spill_stores == 0


MATMUL = TENSOR_MATMULS[TENSOR[0]]


def refused(body, check: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message) as caught:
        simulated(replace(MATMUL.case("other"), body=body))
    assert caught.value.check == check


def no(t):
    return t.k.b.const(t.k.b.i1, 0)


def test_columns_that_nobody_wrote() -> None:
    def body(k) -> None:
        t = MATMUL.kernel(k)
        t.synchronize()
        MATMUL.start(t, no(t), first=MATMUL.n + 8)

    refused(body, "uninitialised", "multiplies tensor memory that nobody has written")


def test_rows_that_are_stored_over_before_the_matmul_is_done() -> None:
    def body(k) -> None:
        t = MATMUL.kernel(k)
        t.synchronize()
        MATMUL.start(t, no(t))
        TensorMemoryStoreOp.build([k.b.add(t.own(), k.b.int_(MATMUL.n)), k.thread])

    refused(body, "asynchronous", "a dot is under way")


def test_rows_of_other_warps_that_nobody_met() -> None:
    def body(k) -> None:
        t = MATMUL.kernel(k)
        t.fence("before_thread_sync")
        t.fence("after_thread_sync")
        MATMUL.start(t, no(t))

    refused(body, "race", "unordered")


def test_rows_in_the_columns_of_the_sum() -> None:
    """The sum is written while A is read."""

    def body(k) -> None:
        t = MATMUL.kernel(k)
        t.synchronize()
        MATMUL.start(t, no(t))
        MATMUL.start(t, no(t), first=0)

    refused(body, "asynchronous", "a dot is under way")


# --- layouts ----------------------------------------------------------------------------------------------


@given(
    m=st.sampled_from([128, 256]),
    k=st.sampled_from([64, 128, 256]),
    bits=st.sampled_from([8, 16, 32]),
    parts=st.sampled_from([1, 2]),
    spread=st.booleans(),
    data=st.data(),
)
@settings(deadline=None, max_examples=60)
def test_factors_are_packed_rows(m, k, bits, parts, spread, data) -> None:
    """Row i in lane i; 32 bytes along k in 8 columns that follow each other; a spread part where a sum's part is."""
    row, column = data.draw(st.integers(0, m - 1)), data.draw(st.integers(0, k - 1))
    encoding = TensorMemoryOperand(bits, parts, spread)
    place = layout_for(encoding, (m, k)).pseudo_invert().apply({"dim0": row, "dim1": column})
    per, part = 32 // bits, k // parts
    assert place["row"] == row % 128
    word, inner = divmod(place["column"], per)
    assert inner == column % per
    if spread:
        sums = layout_for(TensorMemory.of((m, k)), (m, k)).pseudo_invert()
        start = sums.apply({"dim0": row, "dim1": column // part * part})["column"]
        assert word == start + column % part // per
    else:
        assert word == row // 128 * (k // per) + column // per
    assert word < encoding.columns((m, k))


@given(
    m=st.sampled_from([128, 256]),
    k=st.sampled_from([64, 128, 256]),
    warps=st.sampled_from([(4, 1), (4, 2), (8, 1)]),
)
@settings(deadline=None)
def test_threads_write_where_they_have_read(m, k, warps) -> None:
    """Each thread's columns of a factor are among its own columns of the accumulator: nobody has to wait for anybody."""
    if warps[0] > m // 32:
        return
    rows = layout_for(TensorMemoryRows().spread((m, k), warps), (m, k))
    sums = layout_for(TensorMemory.of((m, k)), (m, k)).pseudo_invert()
    factor = layout_for(TensorMemoryOperand(16, warps[1], True), (m, k)).pseudo_invert()
    for warp in range(warps[0] * warps[1]):
        held = [
            rows.apply({"register": r, "lane": 3, "warp": warp, "block": 0})
            for r in range(rows.in_size("register"))
        ]
        own = {sums.apply(place)["column"] for place in held}
        assert {factor.apply(place)["column"] // 2 for place in held} <= own


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TensorMemoryOperand(4), "4 bits"),
        (lambda: TensorMemoryOperand(16, 3), "3 parts"),
        (lambda: TensorMemoryOperand(16, 4).linear_layout((128, 32)), "less than an instruction reads"),
        (lambda: TensorMemoryOperand(16).linear_layout((64, 64)), "less than an instruction reads"),
    ],
)
def test_factors_that_no_instruction_reads(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# --- the pass ---------------------------------------------------------------------------------------------

NARROW = HEAD.replace(
    "#smem = ", "#narrow = #ttng.tensor_memory_rows<{warpsPerCTA = [4, 1], columns = 32}>\n#smem = "
).replace(
    "%c0 =",
    "%other = arith.constant dense<0.000000e+00> : tensor<128x32xf32, #narrow>\n"
    "    %v = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>\n    %c0 =",
)
CHAIN = """
    %d = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
    %w = ttng.warp_group_dot_wait %d WAIT
    %p = arith.truncf %w : SUM to tensor<128x64xf16, #rows>
    %m = ttg.local_alloc %p : (tensor<128x64xf16, #rows>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %d2 = ttng.warp_group_dot %m, %v, %other {inputPrecision = 0 : i32} : SECOND
"""
SECOND = "!ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x32xf16, #shared, #smem, mutable> -> tensor<128x32xf32, #narrow>"
END = """
    %w2 = ttng.warp_group_dot_wait %d2 {pendings = 0 : i32} : (tensor<128x32xf32, #narrow>) -> tensor<128x32xf32, #narrow>
    ttg.local_dealloc %m : !ttg.memdesc<128x64xf16, #shared, #smem>
    %e = math.exp2 %w2 : tensor<128x32xf32, #narrow>
"""


def chain(body: str) -> tuple[str, list[str]]:
    """What the pass makes: short names of its ops, and columns of its views."""
    found = placed(body.replace("SECOND", SECOND), NARROW)
    return " ".join(SHORT.get(x, x) for x in found if not x.startswith("column")), [
        x.removeprefix("column = ") for x in found if x.startswith("column")
    ]


def test_a_factor_goes_where_its_sum_was() -> None:
    found, columns = chain(CHAIN + END)
    assert found == (
        "128 alloc view view view synchronize dot commit phase wait load store synchronize dot commit phase wait load math.exp2 dealloc"
    )
    assert columns == ["0", "64", "0"]


def test_a_factor_beside_a_sum_that_has_taken_the_columns_has_its_own() -> None:
    """Sums of one type share columns: while the factor is read, the second one is in them."""
    body = CHAIN.replace("%v, %other", "%b, %zeros").replace("SECOND", DOT) + END.replace("#narrow", "#rows")
    found, columns = chain(body.replace("128x32", "128x64"))
    assert " store synchronize dot" in found
    assert columns == ["0", "0", "64"]


def test_a_factor_that_another_dot_reads_too_stays_in_shared_memory() -> None:
    second = CHAIN.splitlines()[-1].replace("%d2", "%d3")
    found, _ = chain(CHAIN + second + END)
    assert "store" not in found


def test_a_factor_whose_dot_is_not_done_here_stays_in_shared_memory() -> None:
    found, _ = chain(CHAIN)
    assert "store" not in found


# --- kernels ----------------------------------------------------------------------------------------------


@tri.jit
def chained(
    a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, L: tl.constexpr, TOTAL: tl.constexpr
):
    """``out`` = cast(a b) c, with rows of b and c along the dimension that is summed over."""
    m, n, k, x = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, L)
    left = tl.load(a + m[:, None] * K + k[None, :])
    first = tl.dot(left, tl.load(b + n[:, None] * K + k[None, :]).T, out_dtype=TOTAL)
    right = tl.load(c + x[:, None] * N + n[None, :]).T
    made = tl.dot(first.to(right.dtype), right, out_dtype=TOTAL)
    tl.store(out + m[:, None] * L + x[None, :], made)


@pytest.mark.parametrize(
    ("dtype", "shape", "warps", "columns"),
    [
        (torch.float16, (128, 64, 32, 64), 4, 128),
        (torch.bfloat16, (128, 128, 32, 64), 8, 256),
        (torch.float16, (256, 64, 32, 64), 8, 256),
        (torch.float16, (256, 128, 32, 32), 16, 512),
        (torch.float32, (128, 64, 32, 64), 4, 128),
        (torch.int8, (128, 128, 64, 64), 4, 256),
        (torch.float8_e5m2, (128, 64, 64, 64), 4, 128),
    ],
    ids=str,
)
def test_what_is_made_of_a_sum_is_the_next_ones_left_operand(dtype, shape, warps, columns) -> None:
    m, n, k, x = shape
    small = 0.25 if dtype.is_floating_point else 1
    a, b, c = (
        (values(r, s, dtype=dtype, seed=i).double() * small).to(dtype)
        for i, (r, s) in enumerate(((m, k), (n, k), (x, n)))
    )
    if dtype is torch.int8:
        a, b = a % 3, b % 3
    total = tl.int32 if dtype is torch.int8 else tl.float32
    out = poisoned(m, x, dtype=torch.int32 if dtype is torch.int8 else torch.float32)
    with tri.target(SIMULATED):
        kernel = chained[(1,)](a, b, c, out, m, n, k, x, total, num_warps=warps)
    assert "nvm.tcgen05_mma_ts" in kernel.asm["llir"]
    assert kernel.resources.tensor_memory == columns
    first = a.double() @ b.double().T
    middle = first.to(torch.int64).to(torch.int8) if dtype is torch.int8 else first.float().to(dtype)
    close(out, middle.double() @ c.double().T, 0.0 if dtype is torch.int8 else 4e-3)
