"""Persistent grids on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/schedule/test_gpu_persistent.py``."""

from __future__ import annotations

import pytest

import tri
from gpu_data import halves, needs_hopper, poisoned
from matrix_data import close
from persistent_kernels import counted, places, single, sums
from schedule_kernels import by_pointers, everything
from special_kernels import attention, gemm
from tri_core.errors import Unsupported

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

#: a wait that does not end is a trap, not a hang
POLLS = 50_000_000


@pytest.fixture
def hopper() -> None:
    needs_hopper()


@pytest.mark.parametrize("grid", [(1,), (5,), (300, 7), (70, 11, 13), (1, 1, 4000)])
def test_programs_are_where_they_were(grid) -> None:
    x, y, z = (*grid, 1, 1)[:3]
    out = torch.full((z, y, x, 32), -1, dtype=torch.int32, device="cuda")
    kernel = places[grid](out, x, y, 32, num_warps=1, persistent=True)
    k, j, i = torch.meshgrid(*(torch.arange(n, device="cuda") for n in (z, y, x)), indexing="ij")
    own = (i + 100 * j + 10000 * k)[..., None].expand(z, y, x, 32).clone()
    own[..., 1] += 1000000 * (x + 100 * y + 10000 * z)
    assert torch.equal(out, own.int())
    assert kernel.metadata.attrs["grid"] is True


def test_scratch_memory_is_used_again() -> None:
    x = torch.rand(20000, 500, device="cuda") + 0.1
    out = torch.full_like(x, float("nan"))
    sums[(20000,)](x, out, 500, 512, num_warps=4, persistent=True)
    expected = (x.double() / x.double().sum(1, keepdim=True)).cumsum(1)
    assert float((out.double() - expected).abs().max()) < 1e-5


@pytest.mark.parametrize("roles", [True, False])
@pytest.mark.parametrize(("block", "warps", "stages"), [
    ((128, 256, 64), 8, 4),
    ((128, 128, 64), 8, 4),
    ((128, 128, 64), 4, 3),
    ((64, 64, 32), 4, 2),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(1024, 1024, 1024), (2048, 2048, 2048), (1000, 1544, 520), (128, 256, 64)])
@pytest.mark.usefixtures("hopper")
def test_matmuls(shape, block, warps, stages, roles) -> None:
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n, seed=1), poisoned(m, n)
    grid = (tri.cdiv(m, block[0]), tri.cdiv(n, block[1]))
    options = {"num_warps": warps, "num_stages": stages, "warp_specialize": roles, "barrier_polls": POLLS}
    for _ in range(3):  # what one launch leaves behind must not matter
        kernel = gemm[grid](a, b, c, m, n, k, *block, False, k, persistent=True, **options)
        close(c, a.double() @ b.double())
        c.fill_(float("nan"))
    assert ("ttg.warp_specialize(" in kernel.asm["ttgir"]) == roles
    assert "ttg.persistent" in kernel.asm["ttgir"]
    if roles:  # alone, the same threads hold the addresses of copies and of stores, too
        assert kernel.metadata.resources["spills"] == 0


@pytest.mark.parametrize("shape", [(1024, 1024, 0), (144, 272, 0)])
@pytest.mark.usefixtures("hopper")
def test_sums_of_nothing(shape) -> None:
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n, seed=1), poisoned(m, n)
    kernel = by_pointers[(tri.cdiv(m, 128), tri.cdiv(n, 256))](a, b, c, m, n, k, 128, 256, 64, num_warps=8)
    assert "ttg.warp_specialize(" in kernel.asm["ttgir"]
    assert torch.equal(c, torch.zeros_like(c))


@pytest.mark.parametrize("size", [(64, 0), (0, 0), (0, 64)])
@pytest.mark.usefixtures("hopper")
def test_copies_of_empty_arrays(size) -> None:
    """One iteration copies; nothing else of the memory that stands in for an array is seen, also after stores to it."""
    m, k = size
    a, b, c = halves(m, k), halves(k, 64, seed=1), poisoned(64, 64).float()
    for _ in range(2):
        kernel = everything[(2,)](a, b, c, m, 64, k, 64, 64, 64, num_warps=4, warp_specialize=True)
        assert "ttng.async_copy_local_to_descriptor" in kernel.asm["ttgir"]
        assert torch.equal(c[:m], torch.zeros_like(c[:m]))
        assert bool(c[m:].isnan().all())


@pytest.mark.parametrize("kernel", [gemm, by_pointers])
@pytest.mark.parametrize("shape", [(1024, 1024, 1024), (1000, 1552, 528), (128, 256, 64)])
@pytest.mark.usefixtures("hopper")
def test_schedules_that_are_chosen(kernel, shape) -> None:
    """With no option; also as a graph that is played again with other numbers in the same places."""
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n, seed=1), poisoned(m, n)
    grid = (tri.cdiv(m, 128), tri.cdiv(n, 256))
    more = (False, k) if kernel is gemm else ()

    def launch():
        return kernel[grid](
            a, b, c, m, n, k, 128, 256, 64, *more, num_warps=8, num_stages=4, barrier_polls=POLLS
        )

    made = launch()
    assert "ttg.warp_specialize(" in made.asm["ttgir"]
    assert "ttg.persistent" in made.asm["ttgir"]
    close(c, a.double() @ b.double())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    for seed in (2, 3):
        a.copy_(halves(m, k, seed=seed))
        c.fill_(float("nan"))
        graph.replay()
        close(c, a.double() @ b.double())


@pytest.mark.usefixtures("hopper")
def test_loops_that_do_not_run() -> None:
    a, b, c = halves(2048, 64), halves(64, 4096), poisoned(2048, 4096)
    options = {"num_warps": 8, "warp_specialize": True, "persistent": True, "barrier_polls": POLLS}
    gemm[(16, 32)](a, b, c, 2048, 4096, 64, 128, 128, 64, False, 0, **options)
    assert not c.any()


def test_a_matmul_in_one_step() -> None:
    a, b, c = halves(4096, 64), halves(64, 2048, seed=1), poisoned(4096, 2048)
    single[(64, 32)](a, b, c, 2048, 64, num_warps=4, persistent=True)
    close(c, a.double() @ b.double())


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("length", "depth"), [(1024, 64), (20480, 64), (1024, 128)])
@pytest.mark.usefixtures("hopper")
def test_attention(length, depth, causal) -> None:
    """20480 rows are 160 programs: more than there are multiprocessors."""
    q, k, v = (halves(length, depth, seed=i) for i in range(3))
    q, o = (q / depth**0.5).half(), poisoned(length, depth)
    options = {"num_warps": 8, "num_stages": 2, "warp_specialize": True, "barrier_polls": POLLS}
    grid = (tri.cdiv(length, 128),)
    attention[grid](q, k, v, o, length, depth, 128, 64, causal, persistent=True, **options)
    for start in range(0, length, 1024):  # float64 scores of all rows would take gigabytes
        scores = q[start : start + 1024].double() @ k.double().t()
        if causal:
            later = (
                torch.arange(length, device="cuda")
                > torch.arange(start, start + 1024, device="cuda")[:, None]
            )
            scores = scores.masked_fill(later, float("-inf"))
        close(o[start : start + 1024], torch.softmax(scores, 1) @ v.double(), 5e-3)


def attended(q, k, v, o, length, depth=64):
    """Causal: programs of different lengths, which are drawn from a counter."""
    options = {"num_warps": 8, "num_stages": 2, "warp_specialize": True, "barrier_polls": POLLS}
    grid = (tri.cdiv(length, 128),)
    return attention[grid](q, k, v, o, length, depth, 128, 128, True, persistent=True, **options)


def inputs(length, depth=64):
    q, k, v = (halves(length, depth, seed=i) for i in range(3))
    return (q / depth**0.5).half(), k, v, poisoned(length, depth)


def causal(q, k, v):
    later = torch.ones(len(q), len(q), device="cuda").triu(1).bool()
    return torch.softmax((q.double() @ k.double().t()).masked_fill(later, float("-inf")), 1) @ v.double()


@pytest.mark.usefixtures("hopper")
def test_a_counter_is_zero_for_the_next_launch() -> None:
    """Grids of fewer programs than multiprocessors, of a few more, and again: every launch leaves 0."""
    for length in (512, 4096, 20480, 512, 4096):
        q, k, v, o = inputs(length)
        for _ in range(20):
            o.fill_(float("nan"))
            kernel = attended(q, k, v, o, length)
            assert not o.isnan().any()
        if length <= 4096:
            close(o, causal(q, k, v), 5e-3)
    assert kernel.metadata.attrs["counter"] is True


@pytest.mark.usefixtures("hopper")
def test_streams_at_the_same_time_have_counters_of_their_own() -> None:
    length = 4096
    streams = [torch.cuda.Stream() for _ in range(4)]
    given = [inputs(length) for _ in streams]
    attended(*given[0], length)
    torch.cuda.synchronize()
    for _ in range(50):
        for stream, tensors in zip(streams, given, strict=True):
            with torch.cuda.stream(stream):
                tensors[3].fill_(float("nan"))
                attended(*tensors, length)
    torch.cuda.synchronize()
    for q, k, v, o in given:
        close(o, causal(q, k, v), 5e-3)


@pytest.mark.usefixtures("hopper")
def test_a_graph_runs_beside_the_stream_that_it_was_recorded_from() -> None:
    length = 4096
    recorded, twice, beside = inputs(length), inputs(length), inputs(length)
    stream, other = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        attended(*beside, length)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        attended(*recorded, length)
        attended(*twice, length)
    for tensors in (recorded, twice, beside):
        tensors[3].fill_(float("nan"))
    torch.cuda.synchronize()
    for _ in range(50):
        with torch.cuda.stream(other):
            graph.replay()
        with torch.cuda.stream(stream):
            attended(*beside, length)
    torch.cuda.synchronize()
    for q, k, v, o in (recorded, twice, beside):
        close(o, causal(q, k, v), 5e-3)


def test_recorded_launches_have_their_grid() -> None:
    x, out = torch.rand(3000, 100, device="cuda") + 0.1, torch.empty(3000, 100, device="cuda")

    def launch() -> None:
        sums[(3000,)](x, out, 100, 128, num_warps=4, persistent=True)

    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    x.copy_(torch.rand_like(x) + 0.1)
    out.fill_(float("nan"))
    graph.replay()
    expected = (x.double() / x.double().sum(1, keepdim=True)).cumsum(1)
    assert float((out.double() - expected).abs().max()) < 1e-5


def test_what_cannot_be_persistent() -> None:
    with pytest.raises(Unsupported, match="cannot be persistent"):
        counted[(8,)](torch.zeros(8, dtype=torch.int32, device="cuda"), persistent=True)
