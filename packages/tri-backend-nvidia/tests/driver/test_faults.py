"""Who failed, where, and what can be done: from a driver's status, a ring of launches and records of assertions."""

from __future__ import annotations

import ctypes
import pickle
import struct
import threading

import pytest

from nvidia_fake_driver import CUresult, forget, install
from tri_backend_nvidia.driver import CudaRuntime, faults
from tri_backend_nvidia.fault_records import RECORD_SYMBOL
from tri_core.api import DeviceError, KernelFault, KernelImage, KernelMetadata, KernelSignature, TargetKey

SITES = [["x is negative", __file__, 3], ["y is negative", __file__, 5]]


@pytest.fixture
def fake(monkeypatch):
    yield install(monkeypatch)
    forget()


def launcher(runtime, name, **attrs):
    metadata = KernelMetadata(
        name=name, target=TargetKey("nvidia", "sm_90a"), signature=KernelSignature(name=name, parameters=()),
        options={}, threads_per_warp=32, attrs=attrs,
    )  # fmt: skip
    image = KernelImage(kind="cubin", data=b"\x7fELF", metadata=metadata)
    launch = runtime.launcher(runtime.load(image, runtime.current_device()), image)
    return lambda: launch((1, 1, 1), None, [])


def records(fake):
    """The addresses of records that modules were given, read as the kernels would read them."""
    return [ctypes.c_uint64.from_address(entry[0]).value for entry in fake.called("cuMemcpyHtoDAsync")]


def fail(runtime, fake, status):
    fake.fail["cuCtxSynchronize"] = status
    with pytest.raises(KernelFault) as caught:
        runtime.synchronize()
    return caught.value


def test_an_assertion_is_named_with_its_place(fake):
    runtime = CudaRuntime()
    launcher(runtime, "innocent", assertions=SITES)()
    launcher(runtime, "checked", assertions=SITES)()
    launcher(runtime, "other")()
    assert {entry[1] for entry in fake.called("cuModuleGetGlobal")} == {RECORD_SYMBOL.encode()}
    _, record = records(fake)
    packed = struct.pack(
        "<IIHH", 2 | 37 << 16, 1234, 6, 1
    )  # as the kernel packs: site 1, thread 37, program (1234, 5, 0)
    ctypes.memmove(record, packed, len(packed))
    fault = fail(runtime, fake, CUresult.CUDA_ERROR_ASSERT)
    assert fault.message.startswith(
        "device-side assertion failed in kernel 'checked': y is negative (program (1234, 5, 0), thread 37;"
    )
    assert (fault.kernel, fault.program, fault.thread) == ("checked", (1234, 5, 0), 37)
    assert (fault.location.file, fault.location.line) == (__file__, 5)
    assert fault.kernels == ("innocent", "checked", "other")
    assert "must be started again" in fault.remedy
    again = pickle.loads(pickle.dumps(fault))
    assert (str(again), again.program) == (str(fault), fault.program)


def test_kernels_without_assertions_cost_nothing(fake):
    launcher(CudaRuntime(), "plain")()
    assert not fake.called("cuModuleGetGlobal")
    assert not fake.called("cuMemHostAlloc")


def test_each_kernel_has_a_record_of_its_own_and_pages_are_shared(fake):
    runtime = CudaRuntime()
    for i in range(257):
        launcher(runtime, f"k{i}", assertions=SITES)
    found = records(fake)
    assert len(set(found)) == 257
    assert len(fake.called("cuMemHostAlloc")) == 2


def test_one_kernel_since_the_last_wait_is_the_one(fake):
    runtime = CudaRuntime()
    launcher(runtime, "early")()
    runtime.synchronize()
    for _ in range(3):
        launcher(runtime, "late")()
    fault = fail(runtime, fake, CUresult.CUDA_ERROR_ILLEGAL_ADDRESS)
    assert fault.message.startswith("kernel 'late' accessed memory that it may not")
    assert fault.kernel == "late"
    assert "masks" in fault.remedy


def test_of_several_none_is_accused(fake):
    runtime = CudaRuntime()
    for name in ("first", "second", "first"):
        launcher(runtime, name)()
    fault = fail(runtime, fake, CUresult.CUDA_ERROR_ILLEGAL_ADDRESS)
    assert fault.kernel is None
    assert fault.kernels == ("first", "second", "first")
    assert "the latest last: first, second" in fault.message


def test_the_ring_is_bounded_and_then_nobody_is_certain(fake):
    runtime = CudaRuntime()
    launch = launcher(runtime, "k")
    for _ in range(1000):
        launch()
    fault = fail(runtime, fake, CUresult.CUDA_ERROR_ILLEGAL_ADDRESS)
    assert fault.kernel is None
    assert set(fault.kernels) == {"k"}
    assert len(fault.kernels) < 100


def test_what_fails_afterwards_names_the_first(fake):
    runtime = CudaRuntime()
    launch = launcher(runtime, "culprit")
    launch()
    fail(runtime, fake, CUresult.CUDA_ERROR_ILLEGAL_ADDRESS)
    fake.launch_status = [CUresult.CUDA_ERROR_ILLEGAL_ADDRESS]
    with pytest.raises(KernelFault, match="the context was lost before: kernel 'culprit'") as caught:
        launch()
    assert caught.value.kernel == "culprit"


def test_a_failed_copy_names_the_kernel_too(fake):
    runtime = CudaRuntime()
    launcher(runtime, "culprit")()
    memory = runtime.memory(runtime.current_device())
    fake.fail["cuStreamSynchronize"] = CUresult.CUDA_ERROR_ASSERT
    with pytest.raises(KernelFault, match="kernel 'culprit' failed an assertion"):
        memory.copy_out(0, 0, 0)


def test_other_failures_lose_nothing(fake):
    fake.fail["cuCtxSynchronize"] = CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(DeviceError) as caught:
        CudaRuntime().synchronize()
    assert not isinstance(caught.value, KernelFault)


def test_launches_of_many_threads_are_remembered():
    faults.forget()
    threads = [threading.Thread(target=lambda: [faults.note("k") for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fault = faults.explain(700, "waiting failed")
    assert fault.kernel is None
    faults.forget()
