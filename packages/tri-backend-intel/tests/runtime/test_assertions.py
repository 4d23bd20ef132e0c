"""Assertions on Intel's devices: for real on the CPU, in the simulator, and as a GPU of Level Zero leaves its record."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import tri
import tri.language as tl
from level_zero_fake import FakeLevelZero
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.runtime.drivers import found_devices
from tri_backend_intel.runtime.level_zero.loader import Loader
from tri_core import knobs
from tri_core.api import DeviceError, KernelFault, SimulationError, Unsupported
from tri_runtime import Buffer

N, B = 1024, 256
#: an index whose element is far outside of all that is mapped
WRONG = 1 << 30
OPTIONS = ({"debug": True}, {"debug": True, "sanitize_overflow": False})


@tri.jit
def gathers(at, x, out, n, B: tl.constexpr):
    place = tl.program_id(0) * B + tl.arange(0, B)
    index = tl.load(at + place)
    tl.device_assert((index >= 0) & (index < n), "index out of bounds")
    tl.store(out + place, tl.load(x + index))


@tri.jit
def sums(at, x, out, n, B: tl.constexpr):
    place = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(4):
        index = tl.load(at + k * B + place)
        if k > 0:
            tl.device_assert(index < n, "index too large")
        total += tl.load(x + index)
        total += tl.sum(total, 0)  # with barriers
    tl.store(out + place, total)


@tri.jit
def checked(x):
    tl.device_assert(x < 2, "large")
    return x


@tri.jit
def maps(x, out, B: tl.constexpr):
    place = tl.arange(0, B)
    tl.store(out + place, tl.map_elementwise(checked, tl.load(x + place)))


def line_of(text: str) -> int:
    return next(i for i, t in enumerate(Path(__file__).read_text().splitlines(), 1) if f'"{text}")' in t)


def arguments(wrong: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    at = np.arange(N, dtype=np.int32)[::-1].copy()
    if wrong is not None:
        at[wrong] = WRONG
    return at, np.random.default_rng(0).random(N, np.float32), np.zeros(N, np.float32)


@pytest.fixture(params=["opencl", "sycl"])
def cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found_devices.cache_clear()
    with knobs.scope(INTEL_DRIVER=(request.param,)):
        try:
            made = IntelRuntime()
        except DeviceError as error:
            pytest.skip(f"no {request.param}: {error.message}")
        if not made.devices():
            pytest.skip("no OpenCL device of a CPU")
        monkeypatch.setattr("tri_runtime.runtime", lambda kind: made)
        with tri.target("intel:opencl-cpu"):
            yield
    found_devices.cache_clear()


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("options", OPTIONS, ids=["checked", "assertions-only"])
def test_a_cpu_stops_and_goes_on(cpu: None, options: dict[str, bool], warps: int) -> None:
    for _ in range(2):
        at, x, out = arguments(wrong=700)
        with pytest.raises(KernelFault, match="'gathers': index out of bounds") as caught:
            gathers[(N // B,)](at, x, out, N, B, num_warps=warps, **options)
        assert caught.value.program == (2, 0, 0)
        assert caught.value.location is not None
        assert caught.value.location.line == line_of("index out of bounds")
        np.testing.assert_array_equal(out[:512], x[at[:512]])  # other work groups went on
        at, x, out = arguments(wrong=None)
        gathers[(N // B,)](at, x, out, N, B, num_warps=warps, **options)
        np.testing.assert_array_equal(out, x[at])


@pytest.mark.parametrize("warps", [1, 4])
def test_a_work_group_leaves_loops_and_barriers(cpu: None, warps: int) -> None:
    at, x, out = arguments(wrong=900)
    with pytest.raises(KernelFault, match="index too large") as caught:
        sums[(1,)](at, x, out, N, B, num_warps=warps, debug=True)
    assert (caught.value.program, caught.value.kernel) == ((0, 0, 0), "sums")
    assert not out.any()


def test_without_debug_nothing_is_passed(cpu: None) -> None:
    at, x, out = arguments(wrong=None)
    kernel = gathers[(N // B,)](at, x, out, N, B)
    assert "record" not in kernel.metadata.attrs
    np.testing.assert_array_equal(out, x[at])


@pytest.mark.parametrize("options", OPTIONS, ids=["checked", "assertions-only"])
def test_the_simulator_stops_at_once(options: dict[str, bool]) -> None:
    at, x, out = arguments(wrong=700)
    with tri.target("sim:intel:pvc"), pytest.raises(SimulationError, match="assertion failed") as caught:
        gathers[(N // B,)](at, x, out, N, B, **options)
    assert (caught.value.check, caught.value.program) == ("trap", (2, 0, 0))
    assert caught.value.location is not None
    assert caught.value.location.line == line_of("index out of bounds")


def test_assertions_on_single_elements_are_refused() -> None:
    source = tri.ASTSource(maps, {"x": "*i32", "out": "*i32"}, {"B": B})
    with pytest.raises(Unsupported, match="element by element"):
        tri.compile(source, target="intel:pvc", options={"debug": True})


def fails(arguments: Sequence[bytes], grid: tuple[int, int, int]) -> None:
    """What the kernel does where thread 37 of program (3, 0, 0) fails."""
    at, _x, _out, n, slot = (struct.unpack(f, a)[0] for f, a in zip("PPPiP", arguments, strict=True))
    record, taken = struct.unpack("<QI", ctypes.string_at(slot, 12))
    if int.from_bytes(ctypes.string_at(at, 4), "little") >= n and not taken:
        ctypes.memmove(slot + 8, struct.pack("<I", 1), 4)
        ctypes.memmove(record, struct.pack("<IIHH", 1 | 37 << 16, 3, 1, 1), 12)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[IntelRuntime]:
    fake = FakeLevelZero({"gathers": fails})
    monkeypatch.setattr("tri_backend_intel.runtime.level_zero_driver.loader", lambda: Loader(fake))
    found_devices.cache_clear()
    with knobs.scope(INTEL_DRIVER=("level_zero",), CACHE_DIR=tmp_path):
        made = IntelRuntime()
        monkeypatch.setattr("tri_runtime.runtime", lambda kind: made)
        with tri.target("intel:pvc"):
            yield made
    found_devices.cache_clear()


def test_a_gpu_says_so_at_the_next_wait_and_goes_on(gpu: IntelRuntime) -> None:
    types = {"at": "*i32", "x": "*fp32", "out": "*fp32", "n": "i32"}
    kernel = tri.compile(tri.ASTSource(gathers, types, {"B": B}), options={"debug": True})
    device = gpu.current_device()
    memory, launch = gpu.memory(device), gpu.launcher(gpu.load(kernel.image, device), kernel.image)
    with ExitStack() as stack:
        buffers = [stack.enter_context(Buffer(memory, a.nbytes, device)) for a in arguments(None)]
        for wrong in (0, None, 0):
            for buffer, array in zip(buffers, arguments(wrong), strict=True):
                memory.copy_in(buffer.address, array.ctypes.data, array.nbytes)
            launch((N // B, 1, 1), None, [*(b.address for b in buffers), N])
            if wrong is None:
                gpu.synchronize()
                continue
            with pytest.raises(KernelFault, match="index out of bounds") as caught:
                gpu.synchronize()
            assert (caught.value.program, caught.value.thread) == ((3, 0, 0), 37)


def test_arrays_of_the_host_are_waited_for(gpu: IntelRuntime) -> None:
    at, x, out = arguments(0)
    with pytest.raises(KernelFault, match="index out of bounds"):
        gathers[(N // B,)](at, x, out, N, B, debug=True)
