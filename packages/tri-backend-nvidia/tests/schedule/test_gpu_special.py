"""Warp specialisation on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/schedule/test_gpu_special.py``."""

from __future__ import annotations

import re

import pytest

import tri
from gpu_data import halves, needs_hopper, poisoned
from matrix_data import close
from special_kernels import attention, gemm, persistent

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

#: a wait that does not end is a trap, not a hang
POLLS = 50_000_000


@pytest.fixture(autouse=True)
def _hopper() -> None:
    needs_hopper()


def is_specialized(kernel) -> bool:
    return "ttg.warp_specialize(" in kernel.asm["ttgir"] and kernel.metadata.resources["spills"] == 0


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(("block", "warps", "stages"), [
    ((128, 256, 64), 8, 4),
    ((128, 128, 64), 8, 4),
    ((128, 128, 64), 4, 3),
    ((64, 128, 64), 4, 5),
    ((64, 64, 32), 4, 2),
    ((192, 128, 64), 12, 3),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(512, 512, 2048), (1000, 776, 1000), (128, 256, 64)])
def test_matmuls(shape, block, warps, stages, columns) -> None:
    if block[0] == 192:
        pytest.skip("blocks have sizes of powers of two")
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n, seed=1), poisoned(m, n)
    given = b.t().contiguous() if columns else b
    grid = (tri.cdiv(m, block[0]), tri.cdiv(n, block[1]))
    options = {"num_warps": warps, "num_stages": stages, "warp_specialize": True, "barrier_polls": POLLS}
    for _ in range(3):  # what one launch leaves behind must not matter
        kernel = gemm[grid](a, given, c, m, n, k, *block, columns, k, **options)
        close(c, a.double() @ b.double())
        c.fill_(float("nan"))
    assert is_specialized(kernel)


def test_a_loop_that_does_not_run() -> None:
    a, b, c = halves(128, 128), halves(128, 128), poisoned(128, 128)
    gemm[(1, 1)](a, b, c, 128, 128, 128, 128, 128, 64, False, 0, num_warps=8, warp_specialize=True)
    assert not c.any()


@pytest.mark.parametrize("programs", [1, 7, 132])
def test_slots_go_on_over_tiles(programs) -> None:
    m, n, k = 1024, 896, 320
    a, b, c = halves(m, k), halves(k, n, seed=1), poisoned(m, n)
    kernel = persistent[(programs,)](a, b, c, m, n, k, 128, 128, 64, num_warps=8, barrier_polls=POLLS)
    close(c, a.double() @ b.double())
    assert is_specialized(kernel)


@pytest.mark.parametrize("delay", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("length", "depth"), [(1024, 64), (1024, 128), (1000, 128), (64, 64)])
def test_attention(length, depth, causal, delay) -> None:
    if causal and length % 128:
        pytest.skip("the blocks of keys on the diagonal are whole")
    q, k, v = (halves(length, depth, seed=i) for i in range(3))
    q, o = (q / depth**0.5).half(), poisoned(length, depth)
    options = {
        "num_warps": 8,
        "num_stages": 2,
        "warp_specialize": True,
        "barrier_polls": POLLS,
        "pipeline_chained_dots": delay,
    }
    kernel = attention[(tri.cdiv(length, 128),)](q, k, v, o, length, depth, 128, 64, causal, **options)
    scores = q.double() @ k.double().t()
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    close(o, torch.softmax(scores, 1) @ v.double(), 5e-3)
    assert "ttg.warp_specialize(" in kernel.asm["ttgir"]
    # a wait that leaves a dot under way, in each of the two loops, and where the second begins beside the end of the first
    assert (len(re.findall(r"warp_group_dot_wait [^\n]*pendings = 1", kernel.asm["ttgir"])) == 3) == delay
