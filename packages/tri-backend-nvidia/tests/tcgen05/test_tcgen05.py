"""Dots by ``tcgen05`` in the simulator: tensor memory, descriptors, waits and all, against float64."""

from __future__ import annotations

import re
from functools import partial

import pytest

import matrix_data
import special_kernels
import tri
import tri.language as tl
from accumulator_kernels import restarted
from matrix_data import RESULTS, ROWS, TYPES, close, poisoned, values
from matrix_kernels import attention, attention_keys, tiles
from nvidia_support import primitives, target
from tri_core.errors import OutOfResources, SimulationError
from tri_core.mlir import session
from tri_core.plugins import manager
from tri_core.text import parse_module, print_module
from tri_gpu_dialect.lowering import generic_table, lower
from tri_runtime.simulator.launch import simulate

torch = pytest.importorskip("torch")

SIMULATED = "sim:nvidia:sm_100a"
FP8, FP8_WIDE = torch.float8_e4m3fn, torch.float8_e5m2
K_MAJOR, ACROSS = (False, True), (True, False)
multiplied = partial(matrix_data.multiplied, where=SIMULATED)


def is_placed(kernel) -> bool:
    return "nvm.tcgen05_mma" in kernel.asm["llir"]


@pytest.mark.parametrize(
    "columns", [ROWS, (True, True), *(pytest.param(c, marks=pytest.mark.slow) for c in (ACROSS, K_MAJOR))]
)
@pytest.mark.parametrize(("dtype", "out", "bound"), TYPES, ids=str)
def test_types_and_majors(dtype, out, bound, columns) -> None:
    kernel, c, expected = multiplied((128, 32, 64), dtype, out, columns=columns)
    # tf32 is read along k only: others go to another instruction
    assert is_placed(kernel) == (dtype.itemsize < 4 or columns == K_MAJOR)
    assert ("nvm.mma" in kernel.asm["llir"]) != is_placed(kernel)
    close(c, expected, bound)


@pytest.mark.parametrize(
    ("m", "n", "warps", "used"),
    [(128, 16, 8, 32), (128, 128, 8, 128), (256, 64, 4, 128), (256, 64, 16, 128), (128, 512, 8, 512)],
)
def test_sizes_and_warps(m, n, warps, used) -> None:
    kernel, c, expected = multiplied((m, n, 32), torch.float16, warps=warps)
    assert is_placed(kernel)
    assert kernel.resources.tensor_memory == used
    close(c, expected, 1e-6)


@pytest.mark.parametrize(
    ("shape", "warps", "dtype", "where"),
    [
        ((64, 64, 32), 4, torch.float16, SIMULATED),
        ((128, 8, 32), 4, torch.float16, SIMULATED),
        ((128, 64, 32), 2, torch.float16, SIMULATED),
        ((128, 64, 32), 4, torch.int8, "sim:nvidia:sm_100f"),
        ((128, 64, 32), 4, torch.float16, "sim:nvidia:sm_100"),
    ],
)
def test_what_does_not_suit_is_left_to_mma(shape, warps, dtype, where) -> None:
    out = tl.int32 if dtype is torch.int8 else tl.float32
    kernel, c, expected = multiplied(shape, dtype, out, warps=warps, where=where)
    assert not is_placed(kernel)
    assert "nvm.mma" in kernel.asm["llir"]
    assert kernel.resources.tensor_memory is None
    close(c, expected, 1e-6)


def test_sums_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        OutOfResources, match="needs 1024 columns of tensor memory; the target has 512"
    ) as caught:
        multiplied((256, 512, 16), torch.float16, warps=8)
    assert (caught.value.resource, caught.value.need, caught.value.have) == ("tensor_memory", 1024, 512)


# --- loops ------------------------------------------------------------------------------------------------


def tiled(shape, block, dtype=torch.float16, *, stages, warps=4, columns=ROWS, out=tl.float32):
    m, n, k = shape
    a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
    given = [
        x.t().contiguous().t() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
    ]
    c = poisoned(m, n, dtype=RESULTS[out])
    grid = (-(-m // block[0]), -(-n // block[1]))
    strides = (*given[0].stride(), *given[1].stride())
    with tri.target(SIMULATED):
        kernel = tiles[grid](*given, c, m, n, k, *strides, *block, out, stages, num_warps=warps)
    return kernel, c, a.double() @ b.double()


def loop_of(kernel) -> str:
    """The body of the kernel's first loop."""
    found: str = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    return found


@pytest.mark.parametrize(
    ("stages", "warps"),
    [
        (1, 4),
        (3, 4),
        (4, 8),
        *(pytest.param(s, w, marks=pytest.mark.slow) for s, w in ((1, 8), (2, 4), (2, 8), (3, 8), (4, 4))),
    ],
)
def test_sums_stay_in_tensor_memory(stages, warps) -> None:
    """Tails along all dimensions, several tiles."""
    kernel, c, expected = tiled((144, 48, 176), (128, 32, 32), stages=stages, warps=warps)
    loop = loop_of(kernel)
    assert "ttng.tmem_" not in loop
    assert "128x32xf32, #rows" not in loop
    # one dot is under way while the next copies are started
    assert ("pendings = 1" in loop) == (stages > 1)
    assert loop.count("ttg.barrier") == (1 if stages > 1 else 2)
    close(c, expected, 1e-6)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_loops_that_run_a_few_times_or_not_at_all(steps) -> None:
    _, c, expected = tiled((128, 32, 32 * steps), (128, 32, 32), stages=3)
    close(c, expected, 1e-6)


@pytest.mark.parametrize(("dtype", "out", "bound"), TYPES[3:6], ids=str)
def test_types_in_loops(dtype, out, bound) -> None:
    kernel, c, expected = tiled((128, 64, 256), (128, 64, 64), dtype, stages=3, columns=K_MAJOR, out=out)
    assert is_placed(kernel)
    close(c, expected, bound)


def test_more_dots_than_barriers() -> None:
    """Phases are loop-carried: 20 iterations on a ring of 8."""
    _, c, expected = tiled((128, 32, 640), (128, 32, 32), stages=2)
    close(c, expected, 1e-6)


@pytest.mark.parametrize("how", ["where", "if"])
def test_sums_that_start_anew(how: str) -> None:
    a, b, c = values(384, 96), values(96, 32, seed=1), poisoned(384, 32)
    with tri.target(SIMULATED):
        kernel = restarted[(1,)](a, b, c, 3, 96, 128, 32, 32, how, num_warps=4)
    assert is_placed(kernel)
    if how == "where":  # registers are needed where a tile ends, and nowhere else
        branch = loop_of(kernel).partition("scf.if")[2]
        assert "ttng.tmem_load" in branch
        assert loop_of(kernel).count("ttng.tmem_") == 1
    close(c, a.double() @ b.double(), 1e-6)


# --- attention --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("causal", "warps", "m", "stages"), [(False, 4, 128, 1), (True, 4, 128, 3), (True, 8, 256, 2)]
)
def test_attention(causal, warps, m, stages) -> None:
    """Probabilities go where the scores were, as the left operand; the output's sum is rescaled in registers."""
    n, d = 256, 64
    q, k, v = (values(n, d, seed=i) for i in range(3))
    o = poisoned(n, d)
    with tri.target(SIMULATED):
        kernel = attention[(n // m,)](q, k, v, o, n, d**-0.5, m, 64, d, causal, stages, num_warps=warps)
    loop = loop_of(kernel)
    assert (
        loop.count("ttng.warp_group_dot "),
        loop.count("ttng.tmem_load"),
        loop.count("ttng.tmem_store"),
    ) == (2, 2, 2)
    assert "ttg.local_alloc" not in loop or stages == 1
    assert "nvm.tcgen05_mma_ts" in kernel.asm["llir"]
    s = q.double() @ k.double().t() * d**-0.5
    if causal:
        s = s.masked_fill(torch.ones(n, n).triu(1).bool(), -float("inf"))
    close(o, torch.softmax(s, 1) @ v.double(), 2e-3)


def test_attention_backward() -> None:
    """Four accumulators; those that loops do not carry have the same columns after each other."""
    n, d, block, scale = 128, 64, 128, 0.25
    q, k, v, g = (values(n, d, seed=i) for i in range(4))
    p = torch.softmax(q.double() @ k.double().t() * scale, 1)
    lse = torch.logsumexp(q.double() @ k.double().t() * scale, 1).float()
    delta = (g.double() * (p @ v.double())).sum(1).float()
    dk, dv = poisoned(n, d), poisoned(n, d)
    with tri.target(SIMULATED):
        kernel = attention_keys[(n // block,)](
            q, k, v, g, dk, dv, lse, delta, n, scale, block, block, d, num_warps=4
        )
    assert kernel.asm["ttgir"].count("ttng.warp_group_dot ") == 4
    assert kernel.resources.tensor_memory == 256
    ds = p * (g.double() @ v.double().t() - delta.double()[:, None]) * scale
    close(dv, p.t() @ g.double(), 2e-3)
    close(dk, ds.t() @ q.double(), 2e-3)


# --- specialised warps ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("warps", "columns"), [(4, False), (8, True)])
def test_a_producer_of_blocks(warps, columns) -> None:
    a, b, c = values(200, 200), values(200, 72, seed=1), poisoned(200, 72, dtype=torch.float16)
    given = b.t().contiguous() if columns else b
    with tri.target(SIMULATED):
        kernel = special_kernels.gemm[(2, 2)](
            a, given, c, 200, 72, 200, 128, 64, 64, columns, 200, num_warps=warps, warp_specialize=True
        )
    assert "ttg.warp_specialize(" in kernel.asm["ttgir"]
    assert is_placed(kernel)
    close(c, a.double() @ b.double(), 1e-3)


def test_a_producer_that_goes_on_over_tiles() -> None:
    a, b, c = values(256, 96), values(96, 128, seed=1), poisoned(256, 128, dtype=torch.float16)
    with tri.target(SIMULATED):
        kernel = special_kernels.persistent[(1,)](a, b, c, 256, 128, 96, 128, 64, 32, num_warps=4)
    assert "ttg.warp_specialize(" in kernel.asm["ttgir"]
    assert is_placed(kernel)
    close(c, a.double() @ b.double(), 1e-3)


def test_attention_with_a_producer() -> None:
    q, k, v = (values(256, 64, seed=i) for i in range(3))
    q, o = (q.double() / 8).half(), poisoned(256, 64, dtype=torch.float16)
    with tri.target(SIMULATED):
        kernel = special_kernels.attention[(2,)](
            q, k, v, o, 256, 64, 128, 64, True, num_warps=4, num_stages=2, warp_specialize=True
        )
    scores = (q.double() @ k.double().t()).masked_fill(torch.ones(256, 256).triu(1).bool(), float("-inf"))
    close(o, torch.softmax(scores, 1) @ v.double(), 2e-3)
    assert "ttg.warp_specialize(" in kernel.asm["ttgir"]
    assert is_placed(kernel)


# --- what the simulator sees ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ttgir() -> str:
    """The dot of 128 x 32 x 64."""
    kernel, _, _ = multiplied((128, 32, 64), torch.float16)
    with session():
        return print_module(parse_module(kernel.asm["ttgir"]), locations=True)


def simulated_with(text: str):
    """Run the dot from TTGIR; gives the result and what it should be."""
    a, b = values(128, 64), values(64, 32, seed=1)
    c = poisoned(128, 32)
    target_, hw = target("sm_100a"), primitives("sm_100a", num_warps=4)
    with session():
        table = manager().lowering(generic_table(), target_, hw.options)
        lowered = lower(parse_module(text), target_, hw.options, hw, table)
        simulate(
            lowered.module,
            lowered.name,
            (1, 1, 1),
            [x.numpy() for x in (a, b, c)],
            num_threads=128,
            threads_per_warp=32,
            shared_bytes=lowered.shared_bytes,
        )
    return c, a.double() @ b.double()


def without(text: str, part: str) -> str:
    """``text`` without the one line that has ``part``."""
    lines = [line for line in text.splitlines() if part not in line]
    assert len(lines) == len(text.splitlines()) - 1
    return "\n".join(lines)


def test_the_text_runs_as_the_kernel_does(ttgir: str) -> None:
    got, expected = simulated_with(ttgir)
    close(got, expected, 1e-6)


@pytest.mark.parametrize(
    ("part", "check", "message"),
    [
        ("ttng.wait_barrier", "asynchronous", "a dot is under way"),
        ("ttng.tc_gen5_commit", "deadlock", "phase 0"),
        ("ttng.warp_group_dot_wait", "asynchronous", "unordered"),
        ("ttng.tmem_dealloc", "tensor-memory", "never deallocated"),
        ("ttng.fence_async_shared", "asynchronous", "fence"),
    ],
)
def test_what_is_missing_is_seen_with_its_places(ttgir: str, part: str, check: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message) as caught:
        simulated_with(without(ttgir, part))
    assert caught.value.check == check
    assert caught.value.location is not None
    if message in ("a dot is under way", "unordered"):
        assert caught.value.other is not None


def test_a_missing_barrier_is_a_race(ttgir: str) -> None:
    first, _, rest = ttgir.partition("ttng.fence_async_shared")
    barrier = next(line for line in rest.splitlines() if "ttg.barrier" in line)
    with pytest.raises(SimulationError, match=r"race|fence|unordered|nobody"):
        simulated_with(f"{first}ttng.fence_async_shared{rest.replace(barrier, '', 1)}")


def test_columns_beyond_the_allocation(ttgir: str) -> None:
    beyond = re.sub(r"(ttng\.tmem_view .*)column = 0 ", r"\1column = 16 ", ttgir)
    assert beyond != ttgir
    with pytest.raises(SimulationError, match="16 to 47 of tensor memory are not allocated"):
        simulated_with(beyond)
