"""Warp specialisation in the simulator: rings, phases and stages of real kernels, against float64."""

from __future__ import annotations

import re

import pytest

import tri
from special_kernels import attention, gemm, locked, persistent

torch = pytest.importorskip("torch")


def halves(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).half()


def poisoned(*shape):
    return torch.full(shape, float("nan"), dtype=torch.float16)


def close(got, expected, bound=1e-3):
    error = float((got.double() - expected).abs().max())
    assert error <= bound * float(expected.abs().max()) + 1e-6, error


def is_specialized(kernel) -> bool:
    return "ttg.warp_specialize(" in kernel.asm["ttgir"]


def multiplied(shape, block, *, kernel=gemm, grid=None, columns=False, **options):
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n, seed=1), poisoned(m, n)
    given = b.t().contiguous() if columns else b
    last = (columns, k) if kernel is gemm else ()
    options = {"num_warps": 4, "warp_specialize": True, **options}
    with tri.target("sim:nvidia:sm_90a"):
        grid = grid or (tri.cdiv(m, block[0]), tri.cdiv(n, block[1]))
        made = kernel[grid](a, given, c, m, n, k, *block, *last, **options)
    close(c, a.double() @ b.double())
    return made


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize(("shape", "block"), [
    ((64, 64, 256), (64, 64, 32)),
    ((100, 72, 200), (64, 64, 64)),
    ((64, 128, 24), (64, 128, 32)),
])  # fmt: skip
def test_matmuls(shape, block, stages) -> None:
    kernel = multiplied(shape, block, num_stages=stages)
    assert is_specialized(kernel)
    assert f"memdesc<{stages}x{block[0]}x{block[2]}xf16" in kernel.asm["ttgir"]
    assert kernel.metadata.total_num_warps == 8


def test_eight_warps_and_columns() -> None:
    kernel = multiplied((128, 64, 128), (128, 64, 64), num_warps=8, columns=True)
    assert kernel.metadata.threads == 12 * 32
    assert "ttg.memdesc_trans" in kernel.asm["ttgir"]
    assert "ttg.local_load" not in kernel.asm["ttgir"]


def test_a_loop_that_does_not_run() -> None:
    a, b, c = halves(64, 64), halves(64, 64), poisoned(64, 64)
    with tri.target("sim:nvidia:sm_90a"):
        gemm[(1, 1)](a, b, c, 64, 64, 64, 64, 64, 32, False, 0, num_warps=4, warp_specialize=True)
    assert not c.any()


@pytest.mark.parametrize("programs", [1, 3])
def test_slots_go_on_over_tiles(programs) -> None:
    shape, block = (128, 192, 96), (64, 64, 32)
    kernel = multiplied(shape, block, kernel=persistent, grid=(programs,), warp_specialize=None)
    assert is_specialized(kernel)


@pytest.mark.parametrize(("length", "causal"), [(192, True), (160, False)])
def test_attention(length, causal) -> None:
    q, k, v = (halves(length, 64, seed=i) for i in range(3))
    q, o = (q.double() / 8).half(), poisoned(length, 64)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = attention[(tri.cdiv(length, 64),)](
            q, k, v, o, length, 64, 64, 64, causal, num_warps=4, num_stages=2, warp_specialize=True
        )
    scores = q.double() @ k.double().t()
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
    close(o, torch.softmax(scores, 1) @ v.double(), 2e-3)
    assert is_specialized(kernel)
    # a ring for Q, and those of K and V, which both loops use
    assert kernel.asm["ttgir"].count("ttng.init_barrier") == 2 * (1 + 2 * 2)


@pytest.mark.parametrize(("option", "expected"), [(False, False), (None, False), (True, True)])
def test_the_option_decides(option, expected) -> None:
    kernel = multiplied((64, 64, 64), (64, 64, 32), warp_specialize=option)
    assert is_specialized(kernel) == expected


def test_what_cannot_be_cut_says_why() -> None:
    a, b, c = halves(64, 64), halves(64, 64, seed=1), poisoned(64, 64)
    lock = torch.zeros(1, dtype=torch.int32)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = locked[(1,)](a, b, c, lock, 64, 64, 64, 64, 64, 32, num_warps=4, warp_specialize=True)
    close(c, a.double() @ b.double())
    assert not is_specialized(kernel)
    assert "tt.atomic_rmw may order memory" in kernel.asm["ttgir"]


# --- what the simulator sees ----------------------------------------------------------------------------------


def planted(old: str, new: str, tmp_path, *, count: int = 0, dtype: torch.dtype = torch.float16):
    """The kernel with another text at the stage ttgir."""
    options = {"num_warps": 4, "num_stages": 2, "warp_specialize": True}
    a, b, c = halves(64, 256).to(dtype), halves(256, 64, seed=1).to(dtype), poisoned(64, 64).to(dtype)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = gemm[(1, 1)](a, b, c, 64, 64, 256, 64, 64, 32, False, 256, **options)
        text = kernel.asm["ttgir"]
        changed = re.sub(old, new, text, count=count)
        assert changed != text
        path = tmp_path / "gemm.ttgir"
        path.write_text(changed)
        gemm[(1, 1)](a, b, c, 64, 64, 256, 64, 64, 32, False, 256, **options, ir_override=str(path))
    return c, a.double() @ b.double()


ARRIVE = r" *ttng\.arrive_barrier [^\n]*\n"
MISTAKES = {
    "the producer does not wait": (r"(?s)(partition0.*?)\n *ttng\.wait_barrier [^\n]*", r"\1", "race|asynchronous|uninitialised"),
    "the consumer does not wait": (r"(?s)(default.*?)\n *ttng\.wait_barrier [^\n]*", r"\1", "race|asynchronous|uninitialised"),
    "no stage is released": (ARRIVE, "", "deadlock"),
    "a parity is wrong": (r"(?s)(partition0.*?arith\.xori (%arg\d+).*?ttng\.wait_barrier %\w+), %\w+", r"\1, \2", "deadlock"),
    "a barrier of fewer warps": (r"ttng\.init_barrier (%\w+), 4", r"ttng.init_barrier \1, 1", "race|asynchronous"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake, tmp_path) -> None:
    old, new, check = MISTAKES[mistake]
    with pytest.raises(tri.errors.SimulationError) as found:
        planted(old, new, tmp_path)
    assert re.fullmatch(check, found.value.check)


def test_loads_of_a_slot_are_over_when_it_is_freed(tmp_path) -> None:
    """Operands in registers are loaded from stages: copies overtook such loads on a card, and wrong sums came out."""
    fence = r"(default (?s:.*?)) *ttng\.fence_async_shared[^\n]*\n"
    with pytest.raises(tri.errors.SimulationError, match="may overtake loads of warp"):
        planted(fence, r"\1", tmp_path, dtype=torch.float32)


# --- what ptxas makes of it -----------------------------------------------------------------------------------


def test_a_large_tile_is_assembled_without_spills() -> None:
    order = ["a", "b", "c", "M", "N", "K", "BM", "BN", "BK", "COLUMNS", "end"]
    constants = {"BM": 128, "BN": 256, "BK": 64, "COLUMNS": False}
    types = {n: "constexpr" if n in constants else "*fp16" if n in "abc" else "i32" for n in order}
    hints = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(order) if n not in constants}
    source = tri.ASTSource(gemm, types, constants, hints)
    options = {"num_warps": 8, "num_stages": 4, "warp_specialize": True}
    kernel = tri.compile(source, target="nvidia:sm_90a", options=options)
    assert kernel.metadata.threads == 384
    assert kernel.metadata.resources["spills"] == 0
    # what 384 threads start with; less, and ptxas would drop what the partitions ask for
    assert kernel.metadata.resources["registers"] == 168
    for change in ("inc.sync.aligned.u32 232", "dec.sync.aligned.u32 40"):
        assert kernel.asm["ptx"].count(f"setmaxnreg.{change}") == 1
