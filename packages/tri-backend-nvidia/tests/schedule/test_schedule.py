"""Schedules chosen by cost: against everything that was measured, and what they must not touch."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tri
from schedule_kernels import by_pointers, counted, dequantized, grouped, shown
from special_kernels import attention, gemm
from tri.aot import build
from tri_backend_nvidia.schedule import Dot, Machine, Resources, Work, choose, producer
from tri_backend_nvidia.schedule.costs import clocks
from tri_core import knobs
from tri_core.errors import Unsupported


def matmul(n: int, bits: int = 16, out: int = 16, m: int = 128, k: int = 64) -> Work:
    """One dot an iteration, of blocks that two copies bring."""
    copied = (m + n) * k * bits // 8
    return Work(dots=(Dot(m, n, k, bits),), copied=copied, accumulators=m * n, tile=m * n * out // 8)


def attending(width: int, block: int = 128) -> Work:
    """An iteration of forward attention, not masked."""
    square, tile = block * block, block * width
    return Work(
        dots=(Dot(block, block, width, 16), Dot(block, width, block, 16)),
        copied=4 * tile, special=square + block, simple=5 * square + tile + 5 * block, held=2 * tile, next=2 * tile, chained=True, forwarded=square,
        accumulators=tile + 2 * block, between=square, tile=2 * tile,
    )  # fmt: skip


def gradients(of_keys: bool, width: int = 128, keys: int = 128, queries: int = 64) -> Work:
    """An iteration of attention's backward pass, causal: each program keeps 128 keys (queries), and goes over blocks of 64 queries (keys)."""
    square, tile = keys * queries, keys * width
    transposed, straight = Dot(keys, queries, width, 16), Dot(keys, width, queries, 16)
    return Work(
        dots=(transposed, straight, transposed, straight) if of_keys else (transposed, transposed, straight),
        copied=4 * queries * width + (8 * queries if of_keys else 0), special=square, simple=(8 if of_keys else 7) * square,
        held=4 * tile, next=2 * tile, chained=True, forwarded=square, accumulators=(1 + of_keys) * tile, between=2 * square, tile=2 * tile,
    )  # fmt: skip


def eight(stages: int) -> Resources:
    return Resources(warps=8, stages=stages, registers=232)


#: docs/measurements/2026-11-22.md, "What persistence, a second dot in flight ... brought": speed relative to the
#: library (plain, with warps that copy, persistent, too; None: not measured)
MEASURED = {
    "matmul 8192 f16, 4 stages": (matmul(256), eight(4), (1.060, 1.047, 1.043)),
    "matmul 8192 f16, 3 stages": (matmul(256), eight(3), (1.048, 1.031, 1.064)),
    "matmul 8192 f16, descriptors, 4 stages": (matmul(256), eight(4), (0.972, 1.000, 0.999)),
    "matmul 8192 f16, descriptors, 3 stages": (matmul(256), eight(3), (0.958, 0.991, 1.015)),
    "matmul 4096 bf16, 4 stages": (matmul(256), eight(4), (0.958, 0.964, 0.988)),
    "matmul 4096 bf16, 3 stages": (matmul(256), eight(3), (0.956, 0.965, 0.989)),
    "attention D128": (attending(128), eight(2), (None, 0.949, 0.971)),
    "attention D128 causal": (attending(128), eight(2), (None, 0.822, 0.853)),
    "matmul 8192 e4m3, 4 stages": (matmul(256, 8, k=128), eight(4), (None, 1.015, 1.043)),
    "matmul 8192 int8, 4 stages": (matmul(256, 8, 32, k=128), eight(4), (None, 1.622, 1.719)),
    "matmul 4096 tf32, 4 stages": (matmul(256, 32, 32, k=32), eight(4), (0.661, 0.913, 0.933)),
    "matmul 4096 tf32, 3 stages": (matmul(256, 32, 32, k=32), eight(3), (None, 0.912, 0.914)),
    "matmul 4096 tf32, 256x128, 4 stages": (
        matmul(128, 32, 32, m=256, k=32),
        eight(4),
        (0.675, 0.974, 0.989),
    ),
    "matmul 4096 tf32, 256x128, 3 stages": (
        matmul(128, 32, 32, m=256, k=32),
        eight(3),
        (None, 0.966, 0.976),
    ),
    "matmul 4096 tf32, 128x128, 4 stages": (matmul(128, 32, 32, k=32), eight(4), (0.564, 0.823, 0.833)),
    "grouped, 4 stages": (
        replace(matmul(256), tiles_inside=True, describes=True),
        eight(4),
        (0.929, 0.977, None),
    ),
    # 1 / us, of all three kernels of the backward pass, D128 causal
    "attention backward, keys, 3 stages": (gradients(True), eight(3), (1 / 2093, 1 / 1770, 1 / 1682)),
    "attention backward, keys, 4 stages": (gradients(True), eight(4), (1 / 2093, 1 / 1703, 1 / 1768)),
    "attention backward, queries, 3 stages": (gradients(False), eight(3), (1 / 2093, 1 / 1770, 1 / 1682)),
    "attention backward, queries, 4 stages": (gradients(False), eight(4), (1 / 2093, 1 / 1703, 1 / 1768)),
    # clocks in a profiler, now that programs of different lengths are drawn (0.716 and 0.693 of the library before)
    "attention D64 causal": (attending(64), eight(2), (None, 1 / 706496, 1 / 608270)),
}


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_chosen_was_measured_to_be_good(name: str) -> None:
    work, has, speeds = MEASURED[name]
    chosen = choose(work, has, Machine())
    got = speeds[chosen.specialize + chosen.persistent]
    assert got is not None, f"{chosen} was not measured"
    best = max(s for s in speeds if s is not None)
    assert got >= 0.98 * best, (got, best, chosen.reason)


@pytest.mark.parametrize(("work", "has", "words"), [
    (matmul(256), Resources(warps=16, stages=3, registers=112), "16 warps"),
    (matmul(64), eight(3), "128x64"),
    (matmul(256, m=64), eight(3), "64x256"),
    (replace(matmul(256), between=4 * 128 * 256), eight(3), "registers"),
    (replace(matmul(256), describes=True), eight(3), "makes descriptors"),
    (replace(matmul(256), describes=True, tiles_inside=True), replace(eight(3), warps=4), "makes descriptors"),
])  # fmt: skip
def test_what_nobody_has_measured_stays_as_it_is(work: Work, has: Resources, words: str) -> None:
    chosen = choose(work, has, Machine())
    assert (chosen.specialize, chosen.persistent) == (False, False)
    assert words in chosen.reason


@pytest.mark.parametrize("work", [
    matmul(256, 64, 64, k=16),
    replace(matmul(256), tiles_inside=True),
    replace(matmul(256), dots=5 * matmul(256).dots),
])  # fmt: skip
def test_persistence_that_nobody_has_measured(work: Work) -> None:
    chosen = choose(work, eight(3), Machine())
    assert (chosen.specialize, chosen.persistent) == (True, False)
    assert "no estimate of a persistent kernel" in chosen.reason


def test_a_loop_that_ends_at_once_needs_no_warps_that_copy() -> None:
    assert not choose(replace(matmul(256), iterations=4), eight(3), Machine(), persistent=False).specialize
    assert choose(replace(matmul(256), iterations=400), eight(3), Machine(), persistent=False).specialize


def test_blocks_without_room_for_two_slots() -> None:
    chosen = choose(replace(matmul(256), held=190 << 10), eight(2), Machine())
    assert (chosen.specialize, chosen.persistent) == (False, False)


def test_each_piece_of_a_tile_costs() -> None:
    whole, pieces = (clocks(matmul(256), eight(stages), Machine()).persistent for stages in (3, 4))
    assert whole is not None
    assert pieces == whole + Machine().between


@given(
    n=st.sampled_from([128, 256]), k=st.sampled_from([32, 64, 128]), bits=st.sampled_from([8, 16, 32]),
    out=st.sampled_from([16, 32]), iterations=st.none() | st.integers(0, 200), held=st.integers(0, 1 << 18),
    special=st.integers(0, 1 << 17), simple=st.integers(0, 1 << 19), stages=st.integers(1, 8),
    warps=st.sampled_from([4, 8]), allowed=st.booleans(),
)  # fmt: skip
def test_the_least_is_chosen(
    n, k, bits, out, iterations, held, special, simple, stages, warps, allowed
) -> None:
    work = replace(
        matmul(n, bits, out, k=k), iterations=iterations, held=held, special=special, simple=simple
    )
    has = Resources(warps=warps, stages=stages, registers=232)
    chosen, found = choose(work, has, Machine(), persistent=allowed), clocks(work, has, Machine())
    rows = (found.plain, found.specialized, found.persistent if allowed else None)
    assert chosen.specialize >= chosen.persistent
    assert (
        rows[chosen.specialize + chosen.persistent] == min(r for r in rows if r is not None)
        or "registers" in chosen.reason
    )


# --- kernels ------------------------------------------------------------------------------------------------


def compiled(kernel, constants, types, *, target="nvidia:sm_90a", **options):
    signature = {n: "constexpr" if n in constants else types.get(n, "i32") for n in kernel.arg_names}
    aligned = {
        (i,): [["tt.divisibility", 16]] for i, n in enumerate(signature) if signature[n] != "constexpr"
    }
    return tri.compile(tri.ASTSource(kernel, signature, constants, aligned), target=target, options=options)


def gemm_of(block=(128, 128, 64), kernel=gemm, element="fp16", **options):
    constants = dict(zip(("BM", "BN", "BK"), block, strict=True)) | {"COLUMNS": False}
    constants = {n: v for n, v in constants.items() if n in kernel.arg_names}
    types = {"a": f"*{element}", "b": "*fp16", "c": "*fp16", "count": "*i32"}
    return compiled(kernel, constants, types, **{"num_warps": 8, "num_stages": 3, **options})


def schedule(kernel) -> tuple[bool, bool]:
    text = kernel.asm["ttgir"]
    return "ttg.warp_specialize(" in text, "ttg.persistent" in text


def test_options_decide_where_they_are_given() -> None:
    assert schedule(gemm_of()) == (True, True)
    assert schedule(gemm_of(persistent=False)) == (True, False)
    assert schedule(gemm_of(warp_specialize=True)) == (True, False)
    plain = gemm_of(warp_specialize=False)
    assert schedule(plain) == (False, False)
    with knobs.scope(NVIDIA_SCHEDULE="written"):
        written = gemm_of()
    assert written.asm["ptx"] == plain.asm["ptx"]
    assert "schedule" not in written.metadata.attrs


def test_launches_that_overlap_are_as_they_are_written() -> None:
    assert schedule(gemm_of(launch_pdl=True)) == (False, False)


def test_what_was_chosen_is_said() -> None:
    said = gemm_of().metadata.attrs["schedule"]
    assert said.startswith("warp-specialized, persistent: estimated cycles per tile of 64 iterations: ")
    assert said.endswith(" persistent")


def test_kernels_by_pointers_are_read_as_well() -> None:
    assert schedule(gemm_of(kernel=by_pointers)) == (True, True)


def test_attention_is_read_as_it_was_measured() -> None:
    types = dict.fromkeys("qkvo", "*fp16")
    for width in (64, 128):
        constants = {"D": width, "BM": 128, "BN": 128, "CAUSAL": False}
        assert schedule(compiled(attention, constants, types, num_warps=8, num_stages=2)) == (True, True)


@pytest.mark.parametrize(("kernel", "words"), [
    (counted, "tt.atomic_rmw may order memory"),
    (grouped, "the kernel makes descriptors"),
    (dequantized, "not a block that a copy brings"),
])  # fmt: skip
def test_kernels_that_cannot_be_cut_stay_whole(kernel, words: str) -> None:
    made = gemm_of(kernel=kernel, element="i8" if kernel is dequantized else "fp16")
    assert schedule(made) == (False, False)
    assert words in made.metadata.attrs["schedule"]
    assert (
        made.asm["ptx"]
        == gemm_of(
            kernel=kernel, element="i8" if kernel is dequantized else "fp16", warp_specialize=False
        ).asm["ptx"]
    )


def test_a_kernel_that_prints_is_not_persistent_and_nobody_is_warned(caplog) -> None:
    with knobs.scope(ALWAYS_COMPILE=True), caplog.at_level(logging.INFO):
        assert schedule(gemm_of(kernel=shown)) == (True, False)
    assert (
        "not persistent: the kernel cannot be persistent: tt.print says which program it is by its CTA"
        in caplog.text
    )
    with pytest.raises(Unsupported, match=r"tt\.print"):
        gemm_of(kernel=shown, persistent=True)


def test_c_programs_get_what_they_can_launch(tmp_path) -> None:
    signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, 128, 128, 64"
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        made = build(
            by_pointers, signature, target="nvidia:sm_90a", grid="(M + 127) / 128, (N + 127) / 128",
            folder=tmp_path, options={"num_warps": 8},
        )  # fmt: skip
    assert (made.options["warp_specialize"], made.options["persistent"]) == (False, False)


def test_results_are_right() -> None:
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randn(shape, generator=generator).half() for shape in ((200, 128), (128, 128)))
    c = torch.full((200, 128), float("nan"), dtype=torch.float16)
    with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False, ctas=1):
        kernel = gemm[(2, 1)](a, b, c, 200, 128, 128, 128, 128, 64, False, 128, num_warps=8)
    assert schedule(kernel) == (True, True)
    expected = a.double() @ b.double()
    np.testing.assert_allclose(c.double(), expected, atol=1e-3 * float(expected.abs().max()))


@pytest.mark.parametrize(
    ("warps", "expected"),
    # fewer for the producer where the consumers' share grows by that: three and four groups of them
    [(8, (232, 40)), (12, (160, 32)), (16, (112, 32)), (20, (88, 40)), (4, None), (6, None)],
)
def test_registers_are_divided_between_consumers_and_producer(
    warps: int, expected: tuple[int, int] | None
) -> None:
    """``setmaxnreg`` takes multiples of 8, of what all threads start with: a multiple of 8, too."""
    found = producer(warps)
    assert found is not None
    assert found.registers == expected
    if expected is not None:
        start = 65536 // (32 * (warps + 4)) // 8 * 8
        assert expected[0] * warps + expected[1] * 4 <= start * (warps + 4)
        assert {count % 8 for count in expected} == {0}
