"""Dots of f32 and of bytes whose right operand lies along n: computed transposed, that operand from registers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from matrix_data import RESULTS, close, close_to_halves, poisoned, rounded_by_copies, values
from matrix_kernels import imprecise, tiles
from nvidia_support import target
from tri_backend_nvidia.mma import NvidiaMma, NvmmaShared, matrix_instructions
from tri_backend_nvidia.mma.loads import plan_rows
from tri_core.compiler.optimize import optimize
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, Banks, bank_conflicts, layout_for
from tri_gpu_dialect.plans.operand_memory import is_read_in_rows, operand_memory
from tri_gpu_dialect.policies.async_dots import AsyncInstruction

torch = pytest.importorskip("torch")

SIMULATED = "sim:nvidia:sm_90a"
BOUND = 2e-3
MATMUL = Path(__file__).resolve().parents[4] / "docs" / "passes" / "examples" / "dot-words.mlir"
FP8, FP8_WIDE = torch.float8_e4m3fn, torch.float8_e5m2
TRANSPOSED = {
    (row.a, row.b): row
    for row in matrix_instructions(target("sm_90a"))
    if isinstance(row, AsyncInstruction) and row.transposed
}
WORDS, BYTES = TRANSPOSED["f32", "f32"], TRANSPOSED["i8", "i8"]

rows = st.sampled_from((WORDS, BYTES))
sizes = st.sampled_from((64, 128, 256))
warps = st.sampled_from((4, 8))


# --- layouts ----------------------------------------------------------------------------------------------


def test_small_floats_of_both_kinds_and_integers_are_turned() -> None:
    floats = ("f8E4M3FN", "f8E5M2")
    assert set(TRANSPOSED) == {("f32", "f32"), ("i8", "i8"), *((a, b) for a in floats for b in floats)}


@given(row=rows, m=st.sampled_from((8, 16, 64, 128, 256)), n=sizes, warps=warps)
def test_a_result_is_everywhere_once_and_groups_of_warps_lie_along_columns(row, m, n, warps) -> None:
    encoding = row.result((m, n), row.split((m, n), warps, whole_rows=False))
    layout = encoding.linear_layout((m, n))
    assert layout.is_surjective
    copies = m * n < 64 * 8 * warps // 4
    assert layout.is_injective or copies
    assert encoding.warps_per_cta[1] % 4 == 0
    # four warps in a row share the rows of their instruction
    assert all(row == 0 for row, _ in layout.bases[WARP][:2])


@given(n=sizes, k=st.sampled_from((8, 16, 32, 64)), warps=warps)
def test_operands_are_read_in_pairs_without_conflicts(n, k, warps) -> None:
    memory = NvmmaShared.widest((k, n), 32, transposed=False).linear_layout((k, n))
    encoding = WORDS.result((64, n), WORDS.split((64, n), warps, whole_rows=False))
    operand = WORDS.operand(1, encoding).linear_layout((k, n))
    # the columns of a fragment's two rows are neighbours
    first, second = (operand.bases[REGISTER][i] for i in (0, 1))
    assert first == (0, 1)
    assert second == (4, 0)
    assert bank_conflicts(operand, memory, 32) == 1
    # as the instruction has them, they are not
    plain = WORDS.operand(1, encoding.in_order).linear_layout((k, n))
    assert bank_conflicts(plain, memory, 32) > 1


def bytes_of(n, warps, k):
    """Operand 1 of a transposed dot of bytes: its encoding, and its layout."""
    found = BYTES.operand(1, BYTES.result((64, n), BYTES.split((64, n), warps, whole_rows=False)))
    return found, found.linear_layout((k, n))


@given(n=sizes, k=st.sampled_from((32, 64, 128)), warps=warps)
def test_bytes_are_read_as_rows_of_pairs_without_conflicts(n, k, warps) -> None:
    _, operand = bytes_of(n, warps, k)
    memory = NvmmaShared.widest((k, n), 8, transposed=False).linear_layout((k, n))
    plan = plan_rows(operand, memory, 8)
    assert plan is not None
    assert (plan.transposed, plan.in_pairs) == (True, True)
    # a lane's word: four rows of a column; its words: two columns, then 16 rows further
    assert [operand.bases[REGISTER][i] for i in plan.elements] == [(1, 0), (2, 0)]
    assert [operand.bases[REGISTER][i] for i in plan.matrices] == [(0, 1), (16, 0)]
    places = [plan.address.images(LANE)[lane] for lane in range(32)]
    for matrix in range(4):
        assert len({place // 16 % 8 for place in places[8 * matrix : 8 * matrix + 8]}) == 8


@given(n=sizes, k=st.sampled_from((32, 64, 128)), warps=warps)
def test_every_byte_of_a_lane_is_in_a_row_that_its_warp_reads_for_it(n, k, warps) -> None:
    """By the manual: lane i gets, of matrix j, column ``i // 4`` of rows ``2 * (i % 4)`` and the next, 16 bits each."""
    _, operand = bytes_of(n, warps, k)
    memory = NvmmaShared.widest((k, n), 8, transposed=False).linear_layout((k, n))
    plan = plan_rows(operand, memory, 8)
    places, wanted = plan.address.images(LANE), operand.invert_and_compose(memory)
    for lane in range(32):
        got = {
            places[8 * matrix + 2 * (lane % 4) + i] + 2 * (lane // 4) + byte
            for matrix in range(4) for i in range(2) for byte in range(2)
        }  # fmt: skip
        registers = [
            sum(1 << bit for i, bit in enumerate((*plan.elements, *plan.matrices)) if number >> i & 1)
            for number in range(16)
        ]
        own = wanted.images(LANE)[lane]
        assert got == {wanted.images(REGISTER)[register] ^ own for register in registers}


@pytest.mark.parametrize("k", [32, 64, 128])
@pytest.mark.parametrize("n", [64, 128, 256])
def test_buffers_of_bytes_have_whole_pieces_in_a_row(n, k) -> None:
    """Where a copy does not say how they lie: what single bytes would conflict in does not count."""
    encoding, operand = bytes_of(n, 4, k)
    assert is_read_in_rows(encoding)
    assert not is_read_in_rows(BYTES.operand(0, encoding.parent))
    assert not is_read_in_rows(WORDS.operand(1, WORDS.result((64, n), (1, 4))))
    assert not is_read_in_rows(encoding.parent)
    writer = layout_for(Blocked.make((k, n), (1, 16), (1, 0), 4, 32), (k, n))
    assert (
        plan_rows(operand, layout_for(operand_memory((k, n), 8, writer, (), Banks()), (k, n)), 8) is not None
    )


@given(row=rows, m=sizes, n=sizes, warps=warps)
def test_the_order_of_columns_moves_columns_alone(row, m, n, warps) -> None:
    encoding = row.result((m, n), row.split((m, n), warps, whole_rows=False))
    layout, plain = (e.linear_layout((m, n)) for e in (encoding, encoding.in_order))
    moved = {1 << i: 1 << bit for i, bit in enumerate(encoding.column_bits)}
    for dim in (REGISTER, LANE, WARP):
        expected = [(row, moved.get(column, column)) for row, column in plain.bases[dim]]
        assert list(layout.bases[dim]) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"version_major": 2, "column_bits": (0, 1, 2, 3, 4, 5)},
        {"version_major": 3, "warps_per_cta": (1, 4), "instr_shape": (16, 64, 8), "column_bits": (0, 1, 2, 3, 4)},
        {"version_major": 3, "warps_per_cta": (1, 4), "instr_shape": (16, 64, 8), "column_bits": (0, 1, 2, 3, 4, 4)},
        {"version_major": 3, "warps_per_cta": (4, 1), "instr_shape": (16, 64, 8), "column_bits": (0, 1, 2, 3, 4, 5)},
    ],
)  # fmt: skip
def test_orders_of_columns_are_checked(fields) -> None:
    with pytest.raises(ValueError, match=r"columnBits|4 columns"):
        NvidiaMma(**fields)


# --- copies that round ---


def test_copies_round_to_nearest() -> None:
    """Halves to even."""
    bits = close_to_halves()
    with tri.target(SIMULATED):
        got, recipes = rounded_by_copies(bits)
    assert [d["element"] for d in recipes] == ["tf32", "tf32", "f32"]
    np.testing.assert_array_equal(got, (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000)


def test_special_numbers_stay() -> None:
    """Infinities and NaN do, and what rounds to infinity is that; one in a column, for 0 times them is NaN."""
    bits = np.zeros((64, 64), np.uint32)
    bits[7, :5] = 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0xFF7FEFFF
    with tri.target(SIMULATED):
        got, _ = rounded_by_copies(bits)
    assert list(got[7, [0, 1, 3, 4]]) == [0x7F800000, 0xFF800000, 0x7F800000, 0xFF7FE000]
    assert np.isnan(got[7].view(np.float32))[2]


@pytest.mark.parametrize(
    ("changes", "rounded"),
    [
        ({}, 2),
        ({"inputPrecision = tf32": "inputPrecision = ieee"}, 0),
        ({"scf.yield %d": "%kept = arith.addf %d, %x : tensor<64x64xf32>\n scf.yield %kept"}, 1),
    ],
    ids=["dots of tf32", "dots of f32", "a block that is added as well"],
)
def test_copies_round_where_matmuls_of_tf32_alone_read_them(changes, rounded) -> None:
    text = MATMUL.read_text()
    for before, after in changes.items():
        text = text.replace(before, after)
    passes = "convert-triton-to-tritongpu,coalesce,accelerate-matmul,stage-dot-operands,remove-layout-conversions,tma-round-tf32"
    made = optimize(text, passes, target="nvidia:sm_90a")
    assert made.count("ttng.rounded") == rounded


# --- kernels ----------------------------------------------------------------------------------------------


#: (type, type of the result, relative error of a sum)
TYPES = (
    (torch.float32, tl.float32, BOUND),
    (torch.int8, tl.int32, 0.0),
    # of each step of 32 along k, 13 of them at most here, what is below the largest by 13 bits is cut off
    (FP8, tl.float32, 13 * 2.0**-13),
    (FP8_WIDE, tl.float32, 13 * 2.0**-13),
)
SMALL = TYPES[1:]


def checked(shape, block, *, of=TYPES[0], warps=4, stages=3, columns=(False, False), **options) -> str:
    """The TTGIR of a tiled dot that is right."""
    (m, n, k), (dtype, out, bound) = shape, of
    a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
    given = [
        x.t().contiguous().t() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
    ]
    c = poisoned(m, n, dtype=RESULTS[out])
    grid = (-(-m // block[0]), -(-n // block[1]))
    strides = (*given[0].stride(), *given[1].stride())
    with tri.target(SIMULATED):
        kernel = tiles[grid](*given, c, m, n, k, *strides, *block, out, stages, num_warps=warps, **options)
    close(c, a.double() @ b.double(), bound)
    text: str = kernel.asm["ttgir"]
    return text


SCHEDULES = (
    {"warp_specialize": False},
    {"warp_specialize": True},
    {"warp_specialize": True, "persistent": True},
)


@settings(max_examples=12, deadline=None)
@given(
    m=st.integers(1, 130), n=st.sampled_from((64, 100, 128, 144)), k=st.sampled_from((0, 16, 72, 80)),
    block=st.tuples(st.sampled_from((16, 64, 128)), st.sampled_from((64, 128)), st.sampled_from((16, 32))),
    warps=warps, stages=st.integers(1, 3), schedule=st.sampled_from(SCHEDULES),
)  # fmt: skip
@example(m=100, n=144, k=80, block=(64, 64, 32), warps=4, stages=3, schedule=SCHEDULES[1])
@example(m=130, n=128, k=80, block=(64, 128, 32), warps=8, stages=2, schedule=SCHEDULES[2])
@example(m=128, n=128, k=72, block=(64, 64, 32), warps=4, stages=2, schedule=SCHEDULES[1])
@example(m=130, n=100, k=80, block=(64, 128, 32), warps=4, stages=2, schedule=SCHEDULES[1])
@example(m=70, n=100, k=80, block=(16, 64, 16), warps=8, stages=1, schedule=SCHEDULES[0])
def test_sizes_schedules_and_masks(m, n, k, block, warps, stages, schedule) -> None:
    text = checked((m, n, k), block, warps=warps, stages=stages, **schedule)
    # rows of 100 elements are not known to be read in vectors along n, nor are those of an array without any
    assert "columnBits" in text or n == 100 or k == 0


@settings(max_examples=16, deadline=None)
@given(
    m=st.integers(1, 130), n=st.sampled_from((64, 100, 144, 256)), k=st.sampled_from((0, 32, 144, 400)),
    block=st.tuples(st.sampled_from((16, 64, 128)), st.sampled_from((64, 128, 256)), st.sampled_from((32, 64, 128))),
    of=st.sampled_from(SMALL), warps=st.sampled_from((4, 8, 16)), stages=st.integers(1, 4), schedule=st.sampled_from(SCHEDULES),
)  # fmt: skip
@example(m=100, n=144, k=400, block=(64, 64, 64), of=SMALL[0], warps=4, stages=3, schedule=SCHEDULES[1])
@example(m=130, n=256, k=400, block=(64, 128, 64), of=SMALL[1], warps=8, stages=2, schedule=SCHEDULES[2])
@example(m=128, n=256, k=400, block=(64, 256, 128), of=SMALL[2], warps=16, stages=4, schedule=SCHEDULES[1])
@example(m=70, n=144, k=144, block=(16, 64, 32), of=SMALL[2], warps=16, stages=1, schedule=SCHEDULES[0])
@example(m=70, n=144, k=144, block=(64, 64, 32), of=SMALL[0], warps=4, stages=4, schedule=SCHEDULES[0])
def test_bytes_in_all_sizes_schedules_and_with_masks(m, n, k, block, of, warps, stages, schedule) -> None:
    text = checked((m, n, k), block, of=of, warps=warps, stages=stages, **schedule)
    # rows of 100 elements are not known to be read in vectors along n, nor are those of an array without any
    assert "columnBits" in text or n == 100 or k == 0


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_bytes_are_transposed_in_pairs(schedule, stages) -> None:
    """No byte is read by itself."""
    types = {"a": "*i8", "b": "*i8", "c": "*i32"} | dict.fromkeys(("M", "N", "K", "sam", "sbk"), "i32")
    constants = {"sak": 1, "sbn": 1, "BM": 64, "BN": 128, "BK": 64, "OUT": tl.int32, "STAGES": stages}
    names = tiles.arg_names
    aligned = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if name in types}
    signature = {name: types.get(name, "constexpr") for name in names}
    source = tri.ASTSource(tiles, signature, constants, aligned)
    llir = tri.compile(source, target=SIMULATED, options={"num_warps": 4, **schedule}).asm["llir"]
    loads = [line for line in llir.splitlines() if re.search(r"llvm\.load.*ptr<3>", line)]
    assert "nvm.permute_bytes" in llir
    assert not [line for line in loads if line.endswith("i8")]


@pytest.mark.parametrize(("left", "right"), [(FP8, FP8_WIDE), (FP8_WIDE, FP8)])
def test_small_floats_of_two_kinds(left, right) -> None:
    """The instruction has them the other way round."""
    a, b, c = values(64, 96, dtype=left), values(96, 128, dtype=right, seed=1), poisoned(64, 128)
    with tri.target(SIMULATED):
        kernel = tiles[(1, 1)](a, b, c, 64, 128, 96, 96, 1, 128, 1, 64, 128, 32, tl.float32, 2, num_warps=4)
    assert "columnBits" in kernel.asm["ttgir"]
    close(c, a.double() @ b.double(), 1e-3)


def test_sums_of_small_floats_are_cut_into_parts() -> None:
    a, b, c = values(64, 128, dtype=FP8), values(128, 64, dtype=FP8, seed=1), poisoned(64, 64)
    with tri.target(SIMULATED):
        kernel = imprecise[(1,)](a, b, c, 64, 64, 128, 32, True, num_warps=4)
    assert "columnBits" in kernel.asm["ttgir"]
    assert len(re.findall(r'"?nvm\.wgmma"?\(', kernel.asm["llir"])) == 4
    close(c, a.double() @ b.double(), 1e-3)


@pytest.mark.parametrize("of", TYPES[:2], ids=str)
def test_consumers_read_fragments_from_slots_and_free_these_once(of) -> None:
    text = checked((128, 128, 96), (64, 128, 32), of=of, warps=8, warp_specialize=True)
    loop = text.partition("scf.for")[2].partition("scf.yield")[0]
    (load,) = re.findall(r"ttg\.local_load .*opIdx = 1", loop)
    assert load
    assert loop.count("ttng.arrive_barrier") == 1
    assert loop.index("ttng.warp_group_dot_wait") < loop.index("ttng.arrive_barrier")
    assert "ttg.convert_layout" not in loop


@pytest.mark.parametrize("of", TYPES[:2], ids=str)
@pytest.mark.parametrize(
    ("columns", "block"),
    [((True, False), (64, 64, 32)), ((False, True), (64, 64, 32)), ((False, False), (64, 32, 32))],
    ids=["A along m", "B along k", "few columns"],
)
def test_others_are_not_turned(columns, block, of) -> None:
    assert "columnBits" not in checked((64, 64, 64), block, columns=columns, of=of)


def test_a_result_that_goes_into_another_matmul_is_not_turned() -> None:
    assert "columnBits" not in _chain()


def _chain() -> str:
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "SIZE": "constexpr"}
    kernel = tri.compile(
        tri.ASTSource(chained, types, {"SIZE": 64}), target=SIMULATED, options={"num_warps": 4}
    )
    text: str = kernel.asm["ttgir"]
    return text


@tri.jit
def chained(x_ptr, y_ptr, z_ptr, SIZE: tl.constexpr):
    """z = relu(x @ y) @ y."""
    places = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    y = tl.load(y_ptr + places)
    first = tl.maximum(tl.dot(tl.load(x_ptr + places), y, input_precision="tf32"), 0.0)
    tl.store(z_ptr + places, tl.dot(first, y, input_precision="tf32"))
