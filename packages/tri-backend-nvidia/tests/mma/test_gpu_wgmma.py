"""Dots by ``wgmma`` on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/mma/test_gpu_wgmma.py``."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from matrix_data import close_to_halves, rounded_by_copies
from matrix_kernels import attention, attention_keys, imprecise, matmul, tiles

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

FP8, FP8_WIDE = torch.float8_e4m3fn, torch.float8_e5m2
TYPES = [
    (torch.float16, tl.float32, torch.float32, 2e-6),
    (torch.bfloat16, tl.float32, torch.float32, 2e-6),
    (torch.float16, tl.float16, torch.float16, 1e-3),
    (torch.float32, tl.float32, torch.float32, 2e-3),
    (torch.int8, tl.int32, torch.int32, 0.0),
    (FP8, tl.float32, torch.float32, 1e-3),
    (FP8_WIDE, tl.float32, torch.float32, 1e-3),
]
MAJORS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.fixture(autouse=True)
def _hopper() -> None:
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("wgmma is an instruction of compute capability 9.0")


def values(*shape, dtype, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed + sum(shape))
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, generator=generator, device="cuda").to(dtype)
    return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float64).to(dtype)


def poisoned(*shape, dtype=torch.float32):
    return torch.full(shape, float("nan") if dtype.is_floating_point else 113, device="cuda", dtype=dtype)


def close(got, expected, bound):
    error = float((got.double() - expected).abs().max())
    assert error <= bound * float(expected.abs().max()), error


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("columns", MAJORS)
@pytest.mark.parametrize(("dtype", "out", "result", "bound"), TYPES, ids=str)
def test_types_and_majors(dtype, out, result, bound, columns, warps) -> None:
    for m, n, k in ((64, 64, 64), (128, 128, 128)):
        a, b, c = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1), poisoned(m, n, dtype=result)
        given = [
            x.t().contiguous() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
        ]
        kernel = matmul[(1,)](*given, c, m, n, k, *columns, out, "tf32", num_warps=warps)
        # one operand may come from registers: the right one in a dot that is transposed
        assert ("wgmma" in kernel.asm["ptx"]) == (dtype.itemsize == 2 or columns[1] or not columns[0])
        close(c, a.double() @ b.double(), bound)


@pytest.mark.parametrize("columns", [(False, False), (True, True)])
@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("m", [64, 128, 256])
@pytest.mark.parametrize("n", [8, 16, 32, 64, 128, 256])
def test_sizes(m, n, warps, columns) -> None:
    k = 32
    a, b, c = values(m, k, dtype=torch.bfloat16), values(k, n, dtype=torch.bfloat16, seed=1), poisoned(m, n)
    given = [x.t().contiguous() if transposed else x for x, transposed in zip((a, b), columns, strict=True)]
    kernel = matmul[(1,)](*given, c, m, n, k, *columns, tl.float32, "tf32", num_warps=warps)
    assert "wgmma" in kernel.asm["ptx"]
    close(c, a.double() @ b.double(), 2e-6)


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("columns", MAJORS)
@pytest.mark.parametrize("block", [(64, 64, 32, 4), (128, 128, 64, 4), (128, 256, 64, 8), (64, 256, 64, 8)])
@pytest.mark.parametrize("size", [(304, 208, 496), (256, 256, 256), (128, 528, 48), (512, 512, 2048)])
def test_stages(size, block, stages, columns) -> None:
    m, n, k = size
    *block, warps = block
    a, b = values(m, k, dtype=torch.float16), values(k, n, dtype=torch.float16, seed=1)
    given = [
        x.t().contiguous().t() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
    ]
    grid = (-(-m // block[0]), -(-n // block[1]))
    strides = (*given[0].stride(), *given[1].stride())
    for _ in range(3):
        c = poisoned(m, n)
        tiles[grid](*given, c, m, n, k, *strides, *block, tl.float32, stages, num_warps=warps)
        close(c, a.double() @ b.double(), 5e-6)


@pytest.mark.parametrize("stages", [1, 3, 4])
@pytest.mark.parametrize("columns", [(False, True), (False, False)])
@pytest.mark.parametrize(("dtype", "out", "result", "bound"), TYPES, ids=str)
def test_types_in_loops(dtype, out, result, bound, columns, stages) -> None:
    m, n, k, block = 256, 256, 512, (128, 128, 64)
    a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
    given = [
        x.t().contiguous().t() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
    ]
    c = poisoned(m, n, dtype=result)
    strides = (*given[0].stride(), *given[1].stride())
    tiles[(2, 2)](*given, c, m, n, k, *strides, *block, out, stages, num_warps=4)
    close(c, a.double() @ b.double(), bound if dtype is not torch.float16 else 2 * bound)


def test_no_iteration_gives_zeros() -> None:
    a, b, c = values(64, 32, dtype=torch.float16), values(32, 64, dtype=torch.float16), poisoned(64, 64)
    tiles[(1, 1)](a, b, c, 64, 64, 0, 32, 1, 64, 1, 64, 64, 32, tl.float32, 3, num_warps=4)
    assert torch.equal(c, torch.zeros_like(c))


SCHEDULES = (
    {"warp_specialize": False},
    {"warp_specialize": True},
    {"warp_specialize": True, "persistent": True},
)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize(
    "block", [(64, 64, 64, 4), (128, 256, 128, 8), (256, 128, 128, 8), (128, 256, 64, 16)]
)
@pytest.mark.parametrize(("dtype", "out", "result", "bound"), TYPES[3:], ids=str)
def test_transposed_dots(dtype, out, result, bound, block, stages, schedule) -> None:
    """Rows of B along n, in all schedules, with masks and many rounds of the ring."""
    *block, warps = block
    if dtype == torch.float32:
        block[2] = 32
    # accumulators in the tensor core of 8-bit floats are short, so errors grow with k
    for m, n, k, growth in ((304, 272, 496, 1), (128, 512, 4096, 10)):
        a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
        grid = (-(-m // block[0]), -(-n // block[1]))
        for _ in range(3):
            c = poisoned(m, n, dtype=result)
            try:
                kernel = tiles[grid](
                    a, b, c, m, n, k, k, 1, n, 1, *block, out, stages, num_warps=warps, **schedule
                )
            except tri.OutOfResources:
                pytest.skip("more shared memory than there is")
            assert "columnBits" in kernel.asm["ttgir"]
            close(c, a.double() @ b.double(), growth * bound)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("most", [32, 64, 128])
def test_promotion_makes_sums_of_small_floats_precise(most, rows) -> None:
    m, n, k = 64, 64, 512
    # torch takes no absolute value of such floats
    a, b = (values(*s, dtype=torch.float32, seed=i).abs().to(FP8) for i, s in enumerate([(m, k), (k, n)]))
    expected = a.double() @ b.double()
    errors = []
    for limit in (most, k):
        c = poisoned(m, n)
        imprecise[(1,)](a, b if rows else b.t().contiguous(), c, m, n, k, limit, rows, num_warps=4)
        errors.append(float((c.double() - expected).abs().max() / expected.abs().max()))
    assert errors[0] < errors[1] < 1e-2
    assert errors[0] < 1e-3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize(
    ("d", "block", "warps"),
    [(64, (64, 64), 4), (64, (128, 128), 8), (128, (128, 128), 8), (128, (64, 128), 4)],
)
def test_attention(d, block, warps, stages, causal, dtype) -> None:
    n = 1024
    q, k, v = (values(n, d, dtype=dtype, seed=i) for i in range(3))
    o = poisoned(n, d)
    try:
        kernel = attention[(n // block[0],)](
            q, k, v, o, n, d**-0.5, *block, d, causal, stages, num_warps=warps
        )
    except tri.OutOfResources:
        pytest.skip("more shared memory than there is")
    assert "wgmma" in kernel.asm["ptx"]
    s = q.double() @ k.double().t() * d**-0.5
    if causal:
        s = s.masked_fill(torch.ones(n, n, device="cuda").triu(1).bool(), -float("inf"))
    close(o, torch.softmax(s, 1) @ v.double(), 1e-2 if dtype is torch.bfloat16 else 2e-3)


@pytest.mark.parametrize("warps", [4, 8])
def test_attention_backward(warps) -> None:
    n, d, block, scale = 512, 64, 64, 0.125
    q, k, v, g = (values(n, d, dtype=torch.float16, seed=i) for i in range(4))
    p = torch.softmax(q.double() @ k.double().t() * scale, 1)
    lse = torch.logsumexp(q.double() @ k.double().t() * scale, 1).float()
    delta = (g.double() * (p @ v.double())).sum(1).float()
    dk, dv = poisoned(n, d), poisoned(n, d)
    attention_keys[(n // block,)](q, k, v, g, dk, dv, lse, delta, n, scale, block, block, d, num_warps=warps)
    ds = p * (g.double() @ v.double().t() - delta.double()[:, None]) * scale
    close(dv, p.t() @ g.double(), 3e-3)
    close(dk, ds.t() @ q.double(), 3e-3)


def test_copies_round_to_nearest() -> None:
    """Halves to even."""
    bits = close_to_halves()
    got, recipes = rounded_by_copies(bits, device="cuda")
    assert [d["element"] for d in recipes] == ["tf32", "tf32", "f32"]
    np.testing.assert_array_equal(got, (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000)


def test_copies_of_special_numbers_are_those_of_the_simulator() -> None:
    bits = np.zeros((64, 64), np.uint32)
    special = [
        *(0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0xFF7FEFFF, 0x7F7FF000),
        *(1, 0x80001000, 0x00000FFF, 0x00001001, 0x007FFFFF, 0x80000000),
    ]
    bits[7, : len(special)] = special
    got, _ = rounded_by_copies(bits, device="cuda")
    with tri.target("sim:nvidia:sm_90a"):
        expected, _ = rounded_by_copies(bits)
    # zeros times infinity are NaN: one row counts, where NaN may have any sign and payload
    one, other = (x[7].view(np.float32) for x in (got, expected))
    np.testing.assert_array_equal(one, other)
