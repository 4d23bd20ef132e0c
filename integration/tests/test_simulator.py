"""Simulated targets are ordinary targets: launches, compiles, and what the simulator finds in wrong kernels."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from tri_core.errors import LaunchError, OptionError, SimulationError, TargetError, Unsupported
from tri_core.target import TargetKey
from tri_gpu_dialect.passes import InsertBarriers

TARGETS = ("sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:amd:gfx1100", "sim:intel:pvc")
ONE_PER_VENDOR = ("sim:nvidia:sm_90a", "sim:amd:gfx1100", "sim:intel:opencl-cpu")


@tri.jit
def adds(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask) + tl.load(y_ptr + i, mask), mask)


@tri.jit
def multiplies(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))


@tri.jit
def transposes(x_ptr, y_ptr, SIZE: tl.constexpr):
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    tile = tl.load(x_ptr + i * SIZE + j)
    tl.store(y_ptr + j * SIZE + i, tile)


@tri.jit
def reads_too_much(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i)
    tl.store(y_ptr + i, v, i < n)


@tri.jit
def lies_about_alignment(x_ptr, y_ptr):
    i = tl.arange(0, 256)
    tl.store(y_ptr + i, tl.load(tl.multiple_of(x_ptr + 1, 16) + i))


@tri.jit
def reduces_in_a_loop(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in range(n):
        x = tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK))
        tl.store(out_ptr + i, tl.sum(x, 0))


@tri.jit
def adds_one_through_pointers(pointers_ptr, n, BLOCK: tl.constexpr):
    x_ptr = tl.load(pointers_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, i < n) + 1, i < n)


@tri.jit
def waits_for_the_next(flag_ptr):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass
    else:
        tl.atomic_xchg(flag_ptr, 1)


@tri.jit
def waits_for_nobody(flag_ptr):
    while tl.atomic_add(flag_ptr, 0) == 0:
        pass


@tri.jit
def counts_for_long(out_ptr, n):
    total = 0
    for i in range(n):
        total += i & 1
    tl.store(out_ptr, total)


def rand(*shape: int, dtype: str = "float32") -> npt.NDArray[Any]:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


@pytest.fixture(params=ONE_PER_VENDOR)
def simulated(request: pytest.FixtureRequest) -> Any:
    with tri.target(request.param) as target:
        yield target


# --- an ordinary target -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_a_launch_on_host_arrays(target: str) -> None:
    x, y = rand(1000), rand(1000) + 1
    out = np.zeros_like(x)
    with tri.target(target):
        adds[(tri.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out, x + y)


def test_tensors_of_pytorch(simulated: Any) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(100, dtype=torch.bfloat16)
    out = torch.zeros(100, dtype=torch.bfloat16)
    adds[(1,)](x, x, out, 100, BLOCK=128)
    assert torch.equal(out, x + x)


def test_a_kernel_compiled_for_it_can_be_launched() -> None:
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = tri.ASTSource(adds, signature, {"BLOCK": 64})
    kernel = tri.compile(source, target="sim:amd:gfx942")
    assert str(kernel.metadata.target) == "sim:amd:gfx942"
    assert "amdg." in str(kernel.asm["llir"])
    x, out = rand(64), np.zeros(64, np.float32)
    kernel[(1,)](x, x, out, 64)
    np.testing.assert_array_equal(out, x + x)


def test_views_that_overlap_are_one_memory(simulated: Any) -> None:
    x = rand(200)
    expected = x[:100] + x[50:150]
    adds[(1,)](x[:100], x[50:150], x[:100], 100, BLOCK=128)
    np.testing.assert_array_equal(x[:100], expected)


def test_names_of_targets() -> None:
    key = TargetKey.parse("sim:nvidia:sm_90a")
    assert (key.backend, key.arch, key.simulated, str(key)) == ("nvidia", "sm_90a", True, "sim:nvidia:sm_90a")
    for name in ("sim", "sim:", "sim:nvidia", "sim:nvidia:sm_7", "sim:nothing:x"):
        with pytest.raises(TargetError), tri.target(name):
            pass
    with pytest.raises(Unsupported, match="cannot be simulated"), tri.target("sim:cpu:x86_64"):
        pass


def test_unknown_options_are_refused(simulated: Any) -> None:
    with pytest.raises(OptionError):
        adds[(1,)](rand(8), rand(8), rand(8), 8, BLOCK=8, no_such_option=1)


@pytest.mark.parametrize("target", ONE_PER_VENDOR)
def test_a_tile_of_a_matmul_takes_less_than_two_seconds(target: str) -> None:
    a, b = rand(128, 64, dtype="float16"), rand(64, 128, dtype="float16")
    c = np.zeros((128, 128), np.float32)
    with tri.target(target):
        multiplies[(1,)](a, b, c, M=128, N=128, K=64)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-3)
        best = min(_seconds(lambda: multiplies[(1,)](a, b, c, M=128, N=128, K=64)) for _ in range(3))
    assert best < 2


def _seconds(function: Any) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


# --- what it finds ----------------------------------------------------------------------------------------


def refused(check: str, kernel: Any, *args: Any, grid: int = 1, **kwargs: Any) -> SimulationError:
    with pytest.raises(SimulationError) as caught:
        kernel[(grid,)](*args, **kwargs)
    assert caught.value.check == check
    return caught.value


def test_an_access_out_of_bounds(simulated: Any) -> None:
    error = refused("out-of-bounds", reads_too_much, rand(1000), rand(1000), 1000, grid=4, BLOCK=256)
    assert error.program == (3, 0, 0)
    assert "byte 4000 of array 'x_ptr', which has 4000 bytes" in error.message
    assert error.location is not None
    assert error.location.source_line is not None
    assert error.location.source_line.strip() == "v = tl.load(x_ptr + i)"
    assert error.location.source_line[error.location.column :].startswith("tl.load")


def test_a_negative_offset(simulated: Any) -> None:
    x = rand(300)
    error = refused("out-of-bounds", reads_too_much, x[:0:-1][:10], rand(10), 10, BLOCK=16)
    assert "array 'x_ptr'" in error.message


def test_an_array_that_is_read_only(simulated: Any) -> None:
    out = rand(64)
    out.flags.writeable = False
    before = out.copy()
    with pytest.raises(LaunchError, match="argument 'out_ptr' of adds is a read-only array"):
        adds[(1,)](rand(64), rand(64), out, 64, BLOCK=64)
    np.testing.assert_array_equal(out, before)


def test_an_alignment_that_is_not_there() -> None:
    with tri.target("sim:nvidia:sm_80"):
        error = refused("misaligned", lies_about_alignment, rand(257), rand(256))
    assert "byte 4 of array 'x_ptr'" in error.message


def test_a_dropped_barrier_is_a_race_with_both_places(
    simulated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRI_ALWAYS_COMPILE", "1")
    x, out = rand(4, 512), rand(4)
    reduces_in_a_loop[(1,)](x, out, 4, BLOCK=512)
    np.testing.assert_allclose(out, x.astype(np.float64).sum(1), rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(InsertBarriers, "apply", lambda self, module, context: None)
    error = refused("race", tri.jit(reduces_in_a_loop.fn), x, out, 4, BLOCK=512)
    assert error.location is not None
    assert error.other is not None
    # an iteration overwrites what the one before still reads
    assert "overwrites what" in error.message
    for place in (error.location, error.other):
        line = place.call_sites[-1].source_line
        assert line is not None
        assert "tl.sum" in line


def test_arrays_behind_pointers_must_be_told(simulated: Any) -> None:
    arrays = [rand(100), rand(50)]
    expected = [arrays[0][:40] + 1, arrays[1][:40] + 1]
    pointers = np.array([x.ctypes.data for x in arrays])
    refused("out-of-bounds", adds_one_through_pointers, pointers, 40, grid=2, BLOCK=64)
    with tri.simulation(arrays=arrays):
        adds_one_through_pointers[(2,)](pointers, 40, BLOCK=64)
        for x, exact in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(x[:40], exact)
        error = refused("out-of-bounds", adds_one_through_pointers, pointers, 64, grid=2, BLOCK=64)
    assert error.program == (1, 0, 0)


def test_programs_that_wait_for_later_ones(simulated: Any) -> None:
    flag = np.zeros(1, np.int32)
    waits_for_the_next[(2,)](flag)
    assert flag[0] == 1


def test_a_wait_that_never_ends(simulated: Any) -> None:
    error = refused("deadlock", waits_for_nobody, np.zeros(1, np.int32))
    assert error.location is not None


def test_a_long_loop_is_no_deadlock(simulated: Any) -> None:
    out = np.zeros(1, np.int32)
    counts_for_long[(1,)](out, 5001, num_warps=1)
    assert out[0] == 2500


# --- the report -------------------------------------------------------------------------------------------


def test_the_report_tells_what_each_line_costs() -> None:
    x, y = rand(64, 64), np.zeros((64, 64), np.float32)
    with tri.target("sim:nvidia:sm_80"), tri.simulation() as report:
        transposes[(1,)](x, y, SIZE=64)
    np.testing.assert_array_equal(y, x.T)
    loads = [line for line in report.lines.values() if (line.memory, line.kind) == ("global", "load")]
    assert sum(line.nbytes for line in loads) == x.nbytes
    assert sum(line.ideal for line in loads) == x.nbytes // 32
    assert {line.place.split(":")[0] for line in loads} == {"test_simulator.py"}
    assert "global" in "".join(str(c._cells) for c in report.table().columns)


def test_nothing_is_recorded_without_being_asked() -> None:
    with tri.target("sim:nvidia:sm_80"), tri.simulation(report=False) as report:
        adds[(1,)](rand(8), rand(8), rand(8), 8, BLOCK=8)
    assert not report.lines
