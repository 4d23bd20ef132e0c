from __future__ import annotations

import gc
import importlib.util
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tri
import tri.language as tl
from intel_support import image_of, llvm_of, random, runtime, target_of, to_spirv
from tri_backend_intel import adapters
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.opencl.installed import opencl_cpu_library
from tri_backend_intel.runtime.trial import TrialBuilder
from tri_core import knobs
from tri_core.api import (
    DeviceError,
    DeviceInfo,
    KernelImage,
    KernelMetadata,
    KernelSignature,
    Launch,
    LaunchError,
    OutOfResources,
    Parameter,
    TargetKey,
    ToolchainError,
)
from tri_core.mlir import ir
from tri_core.resources import resources
from tri_gpu_dialect.lowering import Access, Builder
from tri_runtime import Buffer

SCALARS = """
define spir_kernel void @scalars(ptr addrspace(1) %out, i8 %a, i64 %b, half %c, float %d, double %e, i16 %f, i32 %g)
    !reqd_work_group_size !0 !intel_reqd_sub_group_size !1 {
  %x0 = sitofp i8 %a to double
  %x1 = sitofp i64 %b to double
  %x2 = fpext half %c to double
  %x3 = fpext float %d to double
  %x5 = uitofp i16 %f to double
  %x6 = sitofp i32 %g to double
  store double %x0, ptr addrspace(1) %out
  %p1 = getelementptr double, ptr addrspace(1) %out, i32 1
  store double %x1, ptr addrspace(1) %p1
  %p2 = getelementptr double, ptr addrspace(1) %out, i32 2
  store double %x2, ptr addrspace(1) %p2
  %p3 = getelementptr double, ptr addrspace(1) %out, i32 3
  store double %x3, ptr addrspace(1) %p3
  %p4 = getelementptr double, ptr addrspace(1) %out, i32 4
  store double %e, ptr addrspace(1) %p4
  %p5 = getelementptr double, ptr addrspace(1) %out, i32 5
  store double %x5, ptr addrspace(1) %p5
  %p6 = getelementptr double, ptr addrspace(1) %out, i32 6
  store double %x6, ptr addrspace(1) %p6
  ret void
}
!0 = !{i32 16, i32 1, i32 1}
!1 = !{i32 16}
"""
SCALAR_TYPES = ("i8", "i64", "fp16", "fp32", "fp64", "bf16", "i32")


def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
    """``out[grid index] = x[grid index] + 1`` for every program along all three axes."""
    thread, index = hw.thread_id(b), hw.program_id(b, 2)
    for axis in (1, 0):
        index = b.add(b.mul(index, hw.num_programs(b, axis)), hw.program_id(b, axis))
    index = b.add(b.mul(index, b.int_(64)), thread)
    loaded = b.load(b.gep(args[0], index, b.f32), b.f32)
    hw.store_global(b, b.gep(args[1], index, b.f32), b.fadd(loaded, b.float_(1.0)), None, Access(4))


@pytest.fixture(scope="module")
def image() -> KernelImage:
    options = IntelOptions()
    return image_of(to_spirv(llvm_of(body, 2, options)), 2, options)


@pytest.fixture(scope="module")
def launch(image: KernelImage) -> Launch:
    return runtime().launcher(runtime().load(image, runtime().current_device()), image)


def test_the_grid_has_three_axes(launch: Launch) -> None:
    x, out = random(3 * 4 * 5 * 64, "float32"), np.zeros(3 * 4 * 5 * 64, np.float32)
    launch((3, 4, 5), None, [x.ctypes.data, out.ctypes.data])
    np.testing.assert_array_equal(out, x + np.float32(1))


def test_host_arrays_are_used_in_place_and_ready_when_the_launch_returns(launch: Launch) -> None:
    assert runtime().host_memory == "direct"
    for seed in range(20):
        x, out = random(64, "float32", seed=seed), np.zeros(64, np.float32)
        launch((1, 1, 1), None, [x.ctypes.data, out.ctypes.data])
        np.testing.assert_array_equal(out, x + np.float32(1))


def test_scalars_of_every_type() -> None:
    made = to_spirv(SCALARS)
    parameters = (Parameter("out", "*fp64"), *(Parameter(f"p{i}", t) for i, t in enumerate(SCALAR_TYPES)))
    signature = KernelSignature(name="scalars", parameters=parameters)
    metadata = KernelMetadata(
        name="scalars", target=TargetKey("intel", "opencl-cpu"), signature=signature, options={},
        num_warps=1, threads_per_warp=16,
    )  # fmt: skip
    image = KernelImage(kind="spv", data=made.artifact, metadata=metadata)
    launch = runtime().launcher(runtime().load(image, runtime().current_device()), image)
    out = np.zeros(7)
    launch((1, 1, 1), None, [out.ctypes.data, -3, 1 << 40, 1.5, -0.25, 1e300, 2.0, -7])
    bf16 = struct.unpack("<I", struct.pack("<f", 2.0))[0] >> 16
    np.testing.assert_array_equal(out, [-3, 1 << 40, 1.5, -0.25, 1e300, bf16, -7])


def test_an_argument_that_does_not_fit_is_reported(launch: Launch) -> None:
    with pytest.raises(LaunchError, match="p0"):
        launch((1, 1, 1), None, ["text", 0])


def test_an_empty_grid_launches_nothing(launch: Launch) -> None:
    x = random(64, "float32")
    out = x.copy()
    launch((0, 1, 1), None, [x.ctypes.data, out.ctypes.data])
    np.testing.assert_array_equal(out, x)
    with pytest.raises(LaunchError, match="between 0 and"):
        launch((1, 1, -1), None, [x.ctypes.data, out.ctypes.data])


def test_threads_launch_side_by_side(launch: Launch) -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        for i in range(50):
            x, out = random(640, "float32", seed=100 * seed + i), np.zeros(640, np.float32)
            launch((10, 1, 1), None, [x.ctypes.data, out.ctypes.data])
            if not np.array_equal(out, x + np.float32(1)):
                failures.append(f"thread {seed}, launch {i}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_queue_can_be_given(launch: Launch) -> None:
    dpctl = pytest.importorskip("dpctl")
    queue = dpctl.SyclQueue(runtime().queue(runtime().current_device()).device.native, property="in_order")
    x, out = random(64, "float32"), np.zeros(64, np.float32)
    launch((1, 1, 1), queue.addressof_ref(), [x.ctypes.data, out.ctypes.data])
    np.testing.assert_array_equal(out, x + np.float32(1))


def test_elapsed_is_device_time(launch: Launch) -> None:
    x, out = random(64 << 14, "float32"), np.zeros(64 << 14, np.float32)

    def once() -> None:
        launch((1 << 14, 1, 1), None, [x.ctypes.data, out.ctypes.data])

    once()
    short = min(runtime().elapsed(once) for _ in range(5))
    long = min(runtime().elapsed(lambda: [once() for _ in range(8)]) for _ in range(5))
    assert 0 < short < long < 1
    np.testing.assert_array_equal(out, x + np.float32(1))


def test_memory_and_caches() -> None:
    host = random(1000, "float32")
    back = np.zeros_like(host)
    device = runtime().current_device()
    with Buffer(runtime().memory(device), host.nbytes, device) as buffer:
        buffer.copy_from(host.ctypes.data)
        buffer.copy_to(back.ctypes.data)
    np.testing.assert_array_equal(back, host)
    runtime().flush_cache()
    runtime().synchronize()


def test_usm_arrays_are_arguments(launch: Launch) -> None:
    memory = pytest.importorskip("dpctl.memory")
    x = random(64, "float32")
    shared = [memory.MemoryUSMShared(256) for _ in range(2)]
    shared[0].copy_from_host(x.view(np.uint8))
    arguments = [adapters.describe(m) for m in shared]
    assert [a.nbytes for a in arguments] == [256, 256]
    assert arguments[0].device == runtime().current_device()
    launch((1, 1, 1), None, [a.pointer for a in arguments])
    np.testing.assert_array_equal(shared[1].copy_to_host().view(np.float32), x + np.float32(1))


class _View:
    """A strided view as dpctl.tensor shows it."""

    def __init__(self, owner: object, **changes: object) -> None:
        self.__sycl_usm_array_interface__ = {**owner.__sycl_usm_array_interface__, **changes}  # type: ignore[attr-defined]


def test_strides_and_offsets_count_elements() -> None:
    memory = pytest.importorskip("dpctl.memory")
    owner = memory.MemoryUSMShared(4096)
    view = _View(owner, typestr="<f4", shape=(3, 5), strides=(20, 2), offset=7)
    described = adapters.describe(view)
    base = owner.__sycl_usm_array_interface__["data"][0]
    assert (described.dtype, described.pointer, described.nbytes) == ("fp32", base + 28, (1 + 40 + 8) * 4)
    with pytest.raises(LaunchError, match="<c8"):
        adapters.describe(_View(owner, typestr="<c8"))


def test_private_memory_is_what_resources_call_a_stack(image: KernelImage) -> None:
    loaded = runtime().load(image, runtime().current_device())
    found = replace(image.metadata, resources=loaded.resources)
    assert resources(found, target_of().spec).stack == loaded.kernel.kernel.private_mem_size


# --- refusals -------------------------------------------------------------------------------------------


def test_a_damaged_image_does_not_reach_the_driver(image: KernelImage) -> None:
    with pytest.raises(ToolchainError, match="not a whole SPIR-V module"):
        runtime().load(replace(image, data=image.data[:400]), runtime().current_device())


def test_too_much_shared_memory_is_refused(image: KernelImage) -> None:
    hungry = replace(image, metadata=replace(image.metadata, shared=262145))
    with pytest.raises(OutOfResources, match="262145 of 'shared'"):
        runtime().load(hungry, runtime().current_device())


def test_a_fork_is_refused(image: KernelImage) -> None:
    device = runtime().current_device()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            runtime().queue(device)
        except DeviceError as error:
            os.write(write, error.message.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with os.fdopen(read) as words:
        assert "cannot be used in its fork" in words.read()


# --- trial builds ---------------------------------------------------------------------------------------


@pytest.fixture
def builder() -> TrialBuilder:
    return TrialBuilder(runtime().queue(runtime().current_device()).device.native.filter_string)


def test_a_good_kernel_builds(builder: TrialBuilder, image: KernelImage) -> None:
    builder.check("k", image.data, "")
    builder.check("k", image.data, "-cl-fp32-correctly-rounded-divide-sqrt")
    builder.close()


def test_the_end_of_the_compiler_is_an_exception(builder: TrialBuilder, image: KernelImage) -> None:
    with pytest.raises(ToolchainError, match="this process lives on"):
        builder.check("k", image.data[:400], "")  # the driver ends its process for this one
    builder.check("k", image.data, "")
    builder.close()


def test_a_missing_kernel_is_reported(builder: TrialBuilder, image: KernelImage) -> None:
    with pytest.raises(ToolchainError, match="no such kernel"):
        builder.check("nothing", image.data, "")
    builder.close()


def test_a_helper_that_dies_of_earlier_builds_is_not_the_verdict(
    image: KernelImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = TrialBuilder("opencl:cpu")
    builder.check("k", image.data, "")
    ask, deaths = builder._ask, [None]
    # the first answer to the second build is a death; a fresh helper then builds for real
    monkeypatch.setattr(builder, "_ask", lambda *request: deaths.pop() if deaths else ask(*request))
    builder.check("k", image.data, "")
    assert not deaths
    builder.close()


def test_a_compiler_that_hangs_is_ended(image: KernelImage) -> None:
    builder = TrialBuilder("opencl:cpu", timeout=0.01)  # the helper cannot even start in that time
    with pytest.raises(ToolchainError, match=r"took longer than 0\.01 s"):
        builder.check("k", image.data, "")
    builder.close()


def test_an_image_is_tried_once(image: KernelImage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tried: list[tuple[str, str]] = []
    monkeypatch.setattr(
        TrialBuilder, "check", lambda self, name, data, options: tried.append((name, options))
    )
    expected: dict[str, list[tuple[str, str]]] = {
        "auto": [("k", "-cl-opt-disable")],
        "always": [("k", "")],
        "never": [],
    }
    for when, builds in expected.items():
        with knobs.scope(CACHE_DIR=tmp_path, INTEL_TRIAL_BUILD=when):
            for _ in range(2):
                made = IntelRuntime()
                below = made.programs(made.current_device())
                if below is not None:  # a kept image has been built, and is not tried again
                    below.images.discard(image.data, "")
                made.load(image, made.current_device())
        assert tried == builds
        tried.clear()


@pytest.mark.parametrize("builtin", ["mul_hi", "mad_hi"])
def test_what_the_driver_computes_wrong_is_refused(builtin: str) -> None:
    """The high half of a 64-bit product; that of a 32-bit one is right."""

    def calls(bits: int) -> KernelImage:
        def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
            type_ = b.int_type(bits)
            place = b.gep(args[0], hw.thread_id(b), type_)
            factors = [b.load(place, type_)] * (3 if builtin == "mad_hi" else 2)
            name = f"_Z{len(builtin)}{builtin}{('m' if bits == 64 else 'j') * len(factors)}"
            made = hw.extern(b, "", name, factors, type_)
            hw.store_global(b, place, made, None, Access(bits // 8))

        return image_of(to_spirv(llvm_of(body, 1, IntelOptions())), 1, IntelOptions())

    device = runtime().current_device()
    with knobs.scope(INTEL_TRIAL_BUILD="auto"):
        runtime().load(calls(32), device)
        with pytest.raises(ToolchainError, match=f"kernel k calls {builtin} of 64-bit integers"):
            runtime().load(calls(64), device)


# --- finding the driver ---------------------------------------------------------------------------------

LISTING = "from tri_backend_intel.runtime.devices import probe; print([d.arch for d in probe()])"


def listed(**environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if k != "OCL_ICD_FILENAMES"}
    done = subprocess.run(
        [sys.executable, "-c", LISTING],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_installed_driver_is_found_without_any_setting() -> None:
    if opencl_cpu_library() is None:
        pytest.skip("intel-opencl-rt is not installed")
    assert "opencl-cpu" in listed()


def test_a_setting_of_the_user_stays() -> None:
    assert "opencl-cpu" not in listed(OCL_ICD_FILENAMES="/nonexistent/libintelocl.so")


def test_the_remedy_names_the_driver_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tri_backend_intel.runtime.runtime.devices", lambda: ())
    empty = IntelRuntime()
    assert empty.host_memory == "refused"
    with pytest.raises(DeviceError, match="no sycl device is present") as caught:
        empty.current_device()
    assert "tri-backend-intel[cpu]" in str(caught.value.remedy)
    # a host array is refused before a device is asked for
    with pytest.raises(LaunchError, match="a host array") as refused, empty.staged(()):
        pass
    assert "tri-backend-intel[cpu]" in str(refused.value.remedy)
    assert "sim:intel" in str(refused.value.remedy)
    gc.collect()


def test_the_cpu_device_takes_host_arrays_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    own = runtime()
    cpu = own.queue(own.current_device()).device
    if not cpu.is_cpu:
        pytest.skip("the first device is a GPU")
    gpu = FoundDevice(DeviceInfo("sycl", 0, "pvc", "made up"), None)
    both = (gpu, replace(cpu, info=replace(cpu.info, index=1)))
    monkeypatch.setattr("tri_backend_intel.runtime.runtime.devices", lambda: both)
    made = IntelRuntime()
    assert made.current_device() == gpu.info
    assert [made.host_memory_for(arch) for arch in ("pvc", "opencl-cpu", "bmg")] == [
        "refused",
        "direct",
        "refused",
    ]
    assert made.device_for("opencl-cpu") == both[1].info
    assert made.device_for("bmg") == gpu.info
    monkeypatch.setattr("tri_runtime.runtime", lambda kind: made)
    x, out = random(64, "float32"), np.zeros(64, np.float32)
    with tri.target("intel:opencl-cpu"):
        add_one[(1,)](x, out, BLOCK=64)
    np.testing.assert_array_equal(out, x + np.float32(1))


@tri.jit
def add_one(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 1)


def test_a_gpu_wants_arrays_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    info = DeviceInfo("sycl", 0, "pvc", "made up")
    monkeypatch.setattr("tri_backend_intel.runtime.runtime.devices", lambda: (FoundDevice(info, None),))
    remedy = IntelRuntime().host_array_remedy
    assert "dpnp" in remedy
    assert importlib.util.find_spec("dpctl.memory") is not None
    assert "dpctl.tensor" not in remedy
    assert "dpctl arrays" not in remedy
