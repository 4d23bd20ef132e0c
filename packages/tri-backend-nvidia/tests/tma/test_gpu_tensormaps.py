"""Descriptors that kernels make, on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/tma/test_gpu_tensormaps.py``."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tensormap_kernels import copied_groups, groups_of_descriptors, groups_of_pointers

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

#: a wait that does not end is a trap, not a hang
POLLS = 50_000_000


@pytest.fixture(autouse=True)
def hopper() -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("block copies and dots of warp groups need Hopper")


def numbers(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device="cuda")


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("sizes", [(5, 0, 16, 1, 20), (0, 0), (8,), (0, 9, 0), (300, 0, 0, 7) * 20])
def test_groups_are_copied(sizes, nan) -> None:
    rows, columns, stride = sum(sizes), 40, 48
    x = torch.randn(rows + 3, stride, device="cuda")
    out = torch.full_like(x, -7)
    copied_groups[(1,)](x, numbers(sizes), out, columns, stride, len(sizes), NAN=nan, B=8, C=32, num_warps=4)
    assert torch.equal(out[:rows, :columns], x[:rows, :columns] + 1)
    assert bool((out[rows:] == -7).all())
    assert bool((out[:, columns:] == -7).all())


SMALL = (0, 0, 100, 100, 101, 230)
#: most of them of one step, so that descriptors follow each other as fast as they can
MANY = tuple(i * 40 - (i % 3) * 20 for i in range(200))


def matmul(kernel, starts, n, k, block, *, programs=132, stream=None, **options) -> torch.Tensor:
    """What has to be compared: the result and the oracle, in float64."""
    groups, rows = len(starts) - 1, starts[-1]
    a = torch.randn(rows, k, device="cuda").half()
    b = torch.randn(groups, k, n, device="cuda").half()
    c = torch.full((rows + 5, n), float("nan"), device="cuda", dtype=torch.float16)
    made = kernel[(programs,)](
        a,
        b,
        c,
        numbers(starts),
        groups,
        n,
        k,
        k,
        k * n,
        n,
        n,
        programs,
        *block,
        barrier_polls=POLLS,
        **options,
    )
    assert "ttng.tensormap_create" in made.asm["ttgir"]
    expected = torch.cat([a[i:j].double() @ b[g].double() for g, (i, j) in enumerate(pairwise(starts))])
    assert bool(torch.isnan(c[rows:]).all())
    error = (c[:rows].double() - expected).abs().max()
    return error / expected.abs().max()


@pytest.mark.parametrize("kernel", [groups_of_descriptors, groups_of_pointers], ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    ("block", "warps", "stages"), [((128, 256, 64), 8, 4), ((128, 128, 64), 8, 4), ((64, 64, 32), 4, 2)]
)
@pytest.mark.parametrize(
    ("starts", "n", "k"), [(SMALL, 160, 80), (MANY, 256, 64), (MANY, 64, 200), ((0, 1024, 2048), 1024, 1024)]
)
def test_matmuls_of_groups(kernel, starts, n, k, block, warps, stages) -> None:
    options = {"num_warps": warps, "num_stages": stages, "warp_specialize": True}
    for _ in range(3):
        assert matmul(kernel, starts, n, k, block, **options) < 2e-3


def test_launches_on_several_streams_do_not_share_memory() -> None:
    streams = [torch.cuda.Stream() for _ in range(4)]
    options = {"num_warps": 8, "num_stages": 4, "warp_specialize": True}
    errors = []
    torch.cuda.synchronize()
    for _ in range(20):
        for stream in streams:
            with torch.cuda.stream(stream):
                errors.append(
                    matmul(groups_of_pointers, MANY, 256, 64, (128, 128, 64), programs=30, **options)
                )
    torch.cuda.synchronize()
    assert max(float(e) for e in errors) < 2e-3


def test_a_captured_launch_has_memory_of_its_own() -> None:
    starts, n, k = SMALL, 256, 128
    a, b = torch.randn(starts[-1], k, device="cuda").half(), torch.randn(5, k, n, device="cuda").half()
    c, given = torch.zeros(starts[-1], n, device="cuda", dtype=torch.float16), numbers(starts)

    def run() -> None:
        groups_of_pointers[(132,)](
            a,
            b,
            c,
            given,
            5,
            n,
            k,
            k,
            k * n,
            n,
            n,
            132,
            128,
            128,
            64,
            num_warps=8,
            num_stages=4,
            warp_specialize=True,
        )

    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    for _ in range(5):
        c.zero_()
        graph.replay()
        expected = torch.cat([a[i:j].double() @ b[g].double() for g, (i, j) in enumerate(pairwise(starts))])
        assert float((c.double() - expected).abs().max()) < 2e-3 * float(expected.abs().max())
