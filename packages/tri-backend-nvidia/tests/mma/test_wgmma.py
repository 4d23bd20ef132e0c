"""Dots by ``wgmma``, in the simulator: descriptors, fragments, waits and all, against float64."""

from __future__ import annotations

import re
from functools import partial

import pytest

import matrix_data
import tri
import tri.language as tl
from matrix_data import RESULTS, ROWS, TYPES, close, poisoned, values
from matrix_kernels import attention, attention_keys, imprecise, tiles
from nvidia_support import primitives, target
from tri_backend_nvidia.machine.simulation.wgmma import MatrixDescriptor, accumulator_places
from tri_backend_nvidia.mma import NvidiaMma
from tri_core import knobs
from tri_core.errors import DeviceError, SimulationError
from tri_core.ir.views import isa
from tri_core.mlir import session
from tri_core.plugins import manager
from tri_core.text import parse_module, print_module
from tri_gpu_dialect.dialect import FenceAsyncSharedOp
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.passes import InsertBarriers
from tri_runtime.simulator.launch import simulate

torch = pytest.importorskip("torch")

SIMULATED = "sim:nvidia:sm_90a"
FP8, FP8_WIDE = torch.float8_e4m3fn, torch.float8_e5m2
K_MAJOR = (False, True)
multiplied = partial(matrix_data.multiplied, where=SIMULATED)


@pytest.mark.parametrize("columns", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("dtype", "out", "bound"), TYPES, ids=str)
def test_types_and_majors(dtype, out, bound, columns) -> None:
    kernel, c, expected = multiplied((64, 64, 64), dtype, out, columns=columns)
    # elements of 8 and 32 bits are read along k only: one of the operands may go through registers
    is_group = dtype.itemsize == 2 or columns[1] or not columns[0]
    assert ("nvm.wgmma" in kernel.asm["llir"]) == is_group
    assert ("nvm.mma" in kernel.asm["llir"]) != is_group
    close(c, expected, bound)


SIZES = [(64, 8, 4), (64, 16, 8), (128, 32, 4), (128, 256, 8)]
ALL_SIZES = [(m, n, w) for m in (64, 128, 256) for n in (8, 16, 32, 64, 128, 256) for w in (4, 8, 16)]


def checked_size(m, n, warps, columns) -> None:
    kernel, c, expected = multiplied((m, n, 32), torch.float16, columns=columns, warps=warps)
    assert "nvm.wgmma" in kernel.asm["llir"]
    close(c, expected, 1e-6)


@pytest.mark.parametrize("columns", [ROWS, K_MAJOR])
@pytest.mark.parametrize(("m", "n", "warps"), SIZES)
def test_sizes_and_warps(m, n, warps, columns) -> None:
    checked_size(m, n, warps, columns)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [ROWS, K_MAJOR])
@pytest.mark.parametrize(("m", "n", "warps"), ALL_SIZES)
def test_all_sizes_and_warps(m, n, warps, columns) -> None:
    checked_size(m, n, warps, columns)


@pytest.mark.parametrize("k", [16, 32, 128])
@pytest.mark.parametrize("columns", [ROWS, (True, True)])
def test_swizzles_and_panels(k, columns) -> None:
    """Rows of 32, 64, 128 bytes, and of two panels."""
    kernel, c, expected = multiplied((64, 128, k), torch.bfloat16, columns=columns)
    assert "nvm.wgmma" in kernel.asm["llir"]
    close(c, expected, 1e-6)


@pytest.mark.parametrize(
    ("shape", "warps", "dtype"),
    [((32, 64, 32), 4, torch.float16), ((64, 64, 32), 2, torch.float16), ((64, 64, 32), 4, torch.float64)],
)
def test_what_wgmma_does_not_suit_is_left_to_mma(shape, warps, dtype) -> None:
    out = tl.float64 if dtype is torch.float64 else tl.float32
    kernel, c, expected = multiplied(shape, dtype, out, warps=warps)
    assert "nvm.wgmma" not in kernel.asm["llir"]
    assert "nvm.mma" in kernel.asm["llir"]
    close(c, expected, 1e-6)


@pytest.mark.parametrize(("d", "is_group"), [(64, True), (256, False)])
def test_operands_that_may_not_fit_into_shared_memory_come_from_registers(d, is_group) -> None:
    """Attention backward, with tiles of 128 x ``d``: four operands from outside of the loop."""
    types = dict.fromkeys(("q", "k", "v", "do"), "*fp16")
    types |= dict.fromkeys(("dk", "dv", "lse", "delta"), "*fp32") | {"N": "i32", "scale": "fp32"}
    signature = {n: types.get(n, "constexpr") for n in attention_keys.arg_names}
    source = tri.ASTSource(attention_keys, signature, {"BM": 128, "BN": 128, "D": d})
    kernel = tri.compile(source, target="sim:nvidia:sm_90a", options={"num_warps": 8})
    assert ("ttng.warp_group_dot" in kernel.asm["ttgir"]) == is_group


# --- loops ------------------------------------------------------------------------------------------------


def tiled(shape, block, dtype, *, stages, warps=4, columns=ROWS, out=tl.float32):
    m, n, k = shape
    a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
    given = [
        x.t().contiguous().t() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
    ]
    c = poisoned(m, n, dtype=RESULTS[out])
    grid = (-(-m // block[0]), -(-n // block[1]))
    strides = (*given[0].stride(), *given[1].stride())
    with tri.target("sim:nvidia:sm_90a"):
        kernel = tiles[grid](*given, c, m, n, k, *strides, *block, out, stages, num_warps=warps)
    return kernel, c, a.double() @ b.double()


def loop_of(kernel) -> str:
    """The body of the kernel's first loop."""
    found: str = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    return found


@pytest.mark.parametrize(
    ("stages", "columns"), [(1, ROWS), (2, K_MAJOR), (3, ROWS), pytest.param(5, ROWS, marks=pytest.mark.slow)]
)
def test_stages(stages, columns) -> None:
    kernel, c, expected = tiled((80, 48, 176), (64, 64, 32), torch.float16, stages=stages, columns=columns)
    loop = loop_of(kernel)
    assert ("ttg.async_copy_global_to_local" in loop) == (stages > 1)
    # a dot stays under way into the next iteration: what is waited for is the one before
    assert ("pendings = 1" in loop) == (stages > 1)
    assert loop.count("ttg.barrier") == (1 if stages > 1 else 2)
    close(c, expected, 1e-6)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_loops_that_run_a_few_times_or_not_at_all(steps) -> None:
    _, c, expected = tiled((64, 64, 32 * steps), (64, 64, 32), torch.float16, stages=3)
    close(c, expected, 1e-6)


@pytest.mark.parametrize(("dtype", "out", "bound"), TYPES, ids=str)
def test_types_in_loops(dtype, out, bound) -> None:
    kernel, c, expected = tiled((64, 64, 256), (64, 64, 64), dtype, stages=3, columns=K_MAJOR, out=out)
    assert "nvm.wgmma" in kernel.asm["llir"]
    close(c, expected, bound)


def test_large_tiles_of_two_groups() -> None:
    kernel, c, expected = tiled((128, 256, 128), (128, 256, 64), torch.bfloat16, stages=3, warps=8)
    assert "instrShape = [16, 256, 16]" in kernel.asm["ttgir"]
    close(c, expected, 1e-6)


# --- chains -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("causal", "warps", "m", "stages"), [(False, 4, 64, 1), (True, 4, 64, 3), (False, 8, 128, 2)]
)
def test_attention(causal, warps, m, stages) -> None:
    n, d = 256, 64
    q, k, v = (values(n, d, dtype=torch.float16, seed=i) for i in range(3))
    o = poisoned(n, d)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = attention[(n // m,)](q, k, v, o, n, d**-0.5, m, 64, d, causal, stages, num_warps=warps)
    loop = loop_of(kernel)
    assert loop.count("ttng.warp_group_dot ") == 2
    # probabilities become an operand by renaming registers
    assert "ttg.local_alloc" not in loop or stages == 1
    assert not [x for x in loop.splitlines() if "convert_layout" in x and "allocation.offset" in x]
    s = q.double() @ k.double().t() * d**-0.5
    if causal:
        s = s.masked_fill(torch.ones(n, n).triu(1).bool(), -float("inf"))
    close(o, torch.softmax(s, 1) @ v.double(), 2e-3)


@pytest.mark.parametrize("warps", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_attention_backward(warps) -> None:
    n, d, block, scale = 128, 64, 64, 0.25
    q, k, v, g = (values(n, d, dtype=torch.float16, seed=i) for i in range(4))
    p = torch.softmax(q.double() @ k.double().t() * scale, 1)
    lse = torch.logsumexp(q.double() @ k.double().t() * scale, 1).float()
    delta = (g.double() * (p @ v.double())).sum(1).float()
    dk, dv = poisoned(n, d), poisoned(n, d)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = attention_keys[(n // block,)](
            q, k, v, g, dk, dv, lse, delta, n, scale, block, block, d, num_warps=warps
        )
    assert kernel.asm["ttgir"].count("ttng.warp_group_dot ") == 4
    ds = p * (g.double() @ v.double().t() - delta.double()[:, None]) * scale
    close(dv, p.t() @ g.double(), 2e-3)
    close(dk, ds.t() @ q.double(), 2e-3)


# --- what the simulator sees ------------------------------------------------------------------------------


def test_promotion_cuts_a_dot_of_small_floats_into_parts() -> None:
    a, b, c = values(64, 128, dtype=FP8), values(128, 64, dtype=FP8, seed=1), poisoned(64, 64)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = imprecise[(1,)](a, b.t().contiguous(), c, 64, 64, 128, 32, num_warps=4)
    assert len(re.findall(r'"?nvm\.wgmma"?\(', kernel.asm["llir"])) == 4
    close(c, a.double() @ b.double(), 1e-3)


def simulated_with(kernel_text: str, changed: str, replacement: str):
    """Run the dot of 64 x 64 x 64 from TTGIR with ``changed`` replaced; gives the result and what it should be."""
    assert changed in kernel_text
    a, b = values(64, 64, dtype=torch.float16), values(64, 64, dtype=torch.float16, seed=1)
    c = poisoned(64, 64)
    target_ = target("sm_90a")
    hw = primitives("sm_90a", num_warps=4)
    with session():
        module = parse_module(kernel_text.replace(changed, replacement))
        table = manager().lowering(generic_table(), target_, hw.options)
        lowered = lower(module, target_, hw.options, hw, table)
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


@pytest.fixture(scope="module")
def ttgir() -> str:
    """The dot of 64 x 64 x 64: buffers filled, a dot, a wait."""
    kernel, _, _ = multiplied((64, 64, 64), torch.float16)
    with session():
        return print_module(parse_module(kernel.asm["ttgir"]), locations=False)


def _line(text: str, part: str) -> str:
    (found,) = [line for line in text.splitlines() if part in line]
    return found


def test_the_text_runs_as_the_kernel_does(ttgir: str) -> None:
    got, expected = simulated_with(ttgir, "ttng.fence_async_shared", "ttng.fence_async_shared")
    close(got, expected, 1e-6)


def test_results_are_undefined_until_they_are_waited_for(ttgir: str) -> None:
    got, expected = simulated_with(ttgir, "{pendings = 0 : i32}", "{pendings = 1 : i32}")
    with pytest.raises(AssertionError):
        close(got, expected, 1.0)


def test_a_buffer_that_is_overwritten_before_the_wait_is_an_error(ttgir: str) -> None:
    wait, alloc = _line(ttgir, "ttng.warp_group_dot_wait"), _line(ttgir, "allocation.offset = 0 : i32")
    again = re.sub(r"%\w+ = (ttg.local_alloc) %\w+", r"%again = \1 %overwritten", alloc)
    other = re.search(r"ttg.local_alloc (%\w+) \{allocation.offset = 8192", ttgir)
    source = re.search(r": \((.*?)\) ->", _line(ttgir, "allocation.offset = 8192 : i32"))
    assert other is not None
    assert source is not None
    again = again.replace("%overwritten", other[1])
    again = re.sub(r": \(.*?\) ->", f": ({source[1]}) ->", again)
    with pytest.raises(SimulationError, match="overwritten before the dot was waited for"):
        simulated_with(ttgir, wait, f"ttg.barrier local\n{again}\nttg.barrier local\n{wait}")


def test_a_missing_barrier_is_a_race(ttgir: str) -> None:
    first, _, rest = ttgir.partition("ttng.fence_async_shared")
    with pytest.raises(SimulationError, match="race"):
        simulated_with(
            f"{first}ttng.fence_async_shared{rest.replace('ttg.barrier local', '', 1)}",
            "ttng.warp_group_dot ",
            "ttng.warp_group_dot ",
        )


def test_a_missing_fence_is_seen_with_both_places(ttgir: str) -> None:
    """What ordinary code wrote, and the matrix unit reads through the asynchronous proxy."""
    with pytest.raises(SimulationError, match="no fence is between them") as caught:
        simulated_with(ttgir, "ttng.fence_async_shared", "")
    assert caught.value.check == "asynchronous"
    assert caught.value.location is not None
    assert caught.value.other is not None


#: kernels that no other test launches: what is planted must not stay in a cache
_PLANTED = {
    "matmul": lambda: multiplied((64, 64, 256), torch.float16),
    "loop": lambda: tiled((64, 32, 160), (64, 32, 32), torch.float16, stages=1),
    "sm_100a": lambda: matrix_data.multiplied((128, 64, 128), torch.float16, where="sim:nvidia:sm_100a"),
}


@pytest.mark.parametrize("name", _PLANTED)
def test_fences_that_a_pass_forgets_are_seen(name: str, monkeypatch, tmp_path) -> None:
    """A planted bug: ``insert-barriers`` as it is, but without its fences."""
    apply = InsertBarriers.apply

    def forgetful(self, module, context) -> None:
        apply(self, module, context)
        for op in [op for op in all_ops(module.operation) if isa(op, FenceAsyncSharedOp)]:
            op.erase()

    monkeypatch.setattr(InsertBarriers, "apply", forgetful)
    with knobs.scope(CACHE_DIR=tmp_path), pytest.raises(SimulationError, match="no fence is between them"):
        _PLANTED[name]()


def test_descriptors_of_another_swizzle_give_other_numbers() -> None:
    right = MatrixDescriptor(1024, 0, 1024, 128).pieces(64, along_k=True)
    for other in (MatrixDescriptor(1024, 0, 512, 64), MatrixDescriptor(1024, 0, 512, 128)):
        assert (other.pieces(64, along_k=True) != right).any()
    assert MatrixDescriptor.of(0x40, 0x40000040) == MatrixDescriptor(1024, 0, 1024, 128)
    with pytest.raises(DeviceError, match="base offset"):
        MatrixDescriptor.of(0, 1 << 17)


@pytest.mark.parametrize("n", [8, 64, 256])
def test_registers_of_sums_are_those_of_the_layout(n: int) -> None:
    """The manual's figure against the compiler's fragment."""
    layout = NvidiaMma(3, 0, (4, 1), (16, n, 16)).linear_layout((64, n))
    rows, columns = accumulator_places(n)
    for thread in (0, 1, 5, 31, 32, 127):
        for register in (0, 1, 2, 3, n // 2 - 1):
            place = layout.apply(
                {"register": register, "lane": thread % 32, "warp": thread // 32, "block": 0}
            )
            assert (place["dim0"], place["dim1"]) == (rows[thread, register], columns[thread, register])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"instr_shape": (16, 8)}, "n of 8 to 256"),
        ({"instr_shape": (16, 24, 16)}, "n of 8 to 256"),
        ({"warps_per_cta": (2, 2)}, "multiple of 4 rows"),
        ({"version_major": 5}, "2 and 3 are supported"),
    ],
)
def test_encodings_that_no_instruction_has(fields, message) -> None:
    given = {"version_major": 3, "warps_per_cta": (4, 1), "instr_shape": (16, 64, 16)} | fields
    with pytest.raises(ValueError, match=message):
        NvidiaMma(**given)
