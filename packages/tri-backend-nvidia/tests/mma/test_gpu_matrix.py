"""Dots on the tensor cores of a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/mma/test_gpu_matrix.py``."""

from __future__ import annotations

import pytest

import tri.language as tl
from matrix_kernels import attention, attention_keys, batches, carried, gathered, matmul, overwritten, tiles

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

TYPES = [
    (torch.float16, tl.float32, torch.float32, 2e-6),
    (torch.bfloat16, tl.float32, torch.float32, 2e-6),
    (torch.float16, tl.float16, torch.float16, 1e-3),
    (torch.float32, tl.float32, torch.float32, 1e-3),
    (torch.float64, tl.float64, torch.float64, 1e-14),
    (torch.int8, tl.int32, torch.int32, 0.0),
    (torch.float8_e4m3fn, tl.float32, torch.float32, 1e-3),
    (torch.float8_e5m2, tl.float32, torch.float32, 1e-3),
]


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


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("columns", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("dtype", "out", "result", "bound"), TYPES, ids=str)
def test_types_and_orders(dtype, out, result, bound, columns, warps) -> None:
    m, n, k = 64, 128, 64
    a, b, c = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1), poisoned(m, n, dtype=result)
    given = [x.t().contiguous() if transposed else x for x, transposed in zip((a, b), columns, strict=True)]
    matmul[(1,)](*given, c, m, n, k, *columns, out, "tf32", num_warps=warps)
    close(c, a.double() @ b.double(), bound)


def test_three_matmuls_of_tf32() -> None:
    a, b, c = (
        values(64, 64, dtype=torch.float32),
        values(64, 64, dtype=torch.float32, seed=1),
        poisoned(64, 64),
    )
    matmul[(1,)](a, b, c, 64, 64, 64, False, False, tl.float32, "tf32x3", num_warps=4)
    close(c, a.double() @ b.double(), 2e-6)


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("block", [(64, 64, 32), (128, 128, 32), (32, 128, 64)])
@pytest.mark.parametrize("size", [(300, 200, 500), (256, 256, 256), (128, 520, 40)])
@pytest.mark.parametrize("columns", [(False, False), (False, True), (True, False)])
def test_stages(size, block, stages, columns) -> None:
    m, n, k = size
    a, b = values(m, k, dtype=torch.float16), values(k, n, dtype=torch.float16, seed=1)
    given = [
        x.t().contiguous().t() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
    ]
    c = poisoned(m, n)
    grid = (-(-m // block[0]), -(-n // block[1]))
    tiles[grid](
        *given, c, m, n, k, *given[0].stride(), *given[1].stride(), *block, tl.float32, stages, num_warps=4
    )
    close(c, a.double() @ b.double(), 2e-6)


@pytest.mark.parametrize(
    ("dtype", "out", "result", "bound"), [t for t in TYPES if t[1] is not tl.float16], ids=str
)
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_loops_over_types(dtype, out, result, bound, warps) -> None:
    m, n, k = 192, 128, 416
    a, b, c = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1), poisoned(m, n, dtype=result)
    tiles[(3, 2)](a, b, c, m, n, k, *a.stride(), *b.stride(), 64, 64, 32, out, 3, num_warps=warps)
    close(c, a.double() @ b.double(), bound)


@pytest.mark.parametrize(("stages", "warps"), [(1, 4), (2, 4), (3, 4), (3, 8)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_attention(dtype, d, causal, stages, warps) -> None:
    n = 1000
    q, k, v = (values(n, d, dtype=dtype, seed=i) for i in range(3))
    o = poisoned(n, d)
    attention[(-(-n // 128),)](q, k, v, o, n, d**-0.5, 128, 64, d, causal, stages, num_warps=warps)
    s = q.double() @ k.double().t() * d**-0.5
    if causal:
        s = s.masked_fill(torch.ones(n, n, device="cuda").triu(1).bool(), -float("inf"))
    close(o, torch.softmax(s, 1) @ v.double(), 8e-3 if dtype is torch.bfloat16 else 2e-3)


@pytest.mark.parametrize("warps", [4, 8])
def test_attention_backward(warps) -> None:
    n, d, scale = 512, 64, 0.125
    q, k, v, g = (values(n, d, dtype=torch.float16, seed=i) for i in range(4))
    s = q.double() @ k.double().t() * scale
    p = torch.softmax(s, 1)
    lse, delta = torch.logsumexp(s, 1).float(), (g.double() * (p @ v.double())).sum(1).float()
    dk, dv = poisoned(n, d), poisoned(n, d)
    attention_keys[(n // 64,)](q, k, v, g, dk, dv, lse, delta, n, scale, 64, 64, d, num_warps=warps)
    ds = p * (g.double() @ v.double().t() - delta.double()[:, None]) * scale
    close(dv, p.t() @ g.double(), 2e-3)
    close(dk, ds.t() @ q.double(), 2e-3)


def test_loads_that_feed_loads() -> None:
    m, n, k, bk = 64, 64, 192, 32
    rows = torch.tensor([4, 0, 5, 1, 3, 2], dtype=torch.int32, device="cuda")
    table, w, c = values(m, k, dtype=torch.float16), values(k, n, dtype=torch.float16), poisoned(m, n)
    gathered[(1,)](rows, table, w, c, k, n, m, bk, num_warps=4)
    close(c, table.double().reshape(m, -1, bk)[:, rows.long()].reshape(m, k) @ w.double(), 2e-6)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("twice", [False, True])
def test_operands_that_come_round(twice, warps) -> None:
    m, n, k, bk = 32, 32, 96, 16
    a, b, c = values(m, k, dtype=torch.float16), values(k, n, dtype=torch.float16, seed=1), poisoned(m, n)
    carried[(1,)](a, b, c, k, m, n, bk, twice, num_warps=warps)
    before = torch.cat([torch.zeros_like(a[:, :bk]), a[:, :-bk]], 1).double()
    if twice:
        before.reshape(m, -1, 2, bk)[:, :, 0] = 0
    close(c, (a.double() + before) @ b.double(), 2e-6)


def test_what_the_loop_writes_is_not_loaded_ahead() -> None:
    s, steps = 32, 6
    first = values(s, s, dtype=torch.float16) * 0.5
    a = torch.cat([first, torch.zeros(steps * s, s, dtype=torch.float16, device="cuda")])
    b, c = torch.eye(s, dtype=torch.float16, device="cuda").roll(1, 0), poisoned(s, s, dtype=torch.float16)
    overwritten[(1,)](a, b, c, steps, s, num_warps=1)
    close(c, first.double() @ torch.linalg.matrix_power(b.double(), steps), 1e-3)


def test_three_dimensions() -> None:
    a, b, c = (
        values(4, 32, 32, dtype=torch.float16),
        values(4, 32, 32, dtype=torch.float16),
        poisoned(4, 32, 32),
    )
    batches[(1,)](a, b, c, 4, 32, 32, 32, num_warps=4)
    close(c, a.double() @ b.double(), 2e-6)
