"""A process with a SYCL queue of its own: kernels of tri run in order with what others submit to it, without a copy."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from intel_support import runtime
from tri_backend_intel import adapters
from tri_backend_intel.runtime.kernels import make_launch
from tri_backend_intel.runtime.queues import DeviceQueue
from tri_backend_intel.runtime.sycl import sycl
from tri_core.api import DeviceError

dpctl = pytest.importorskip("dpctl")
memory = pytest.importorskip("dpctl.memory")
N, BLOCK = 1 << 12, 256
#: of the others' kernel: long against a launch (tens of milliseconds), so that who does not wait for it sees the values before
ROUNDS = 1 << 16

Floats = npt.NDArray[np.float32]
Launch = Callable[["Array", "Array"], None]

#: adds 2 to each element, at its end
OTHERS = """
kernel void later(global float *x, int rounds)
{
    int i = get_global_id(0);
    float seen = x[i], sum = 0.0f;
    for (int r = 0; r < rounds; r++)
        sum = sum * 0.5f + 1.0f;
    x[i] = seen + sum;
}
"""


@tri.jit
def tripled(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 3)


@tri.jit
def addresses(x_ptr, out_ptr):
    tl.store(out_ptr, x_ptr.to(tl.int64, bitcast=True))
    tl.store(out_ptr + 1, out_ptr.to(tl.int64, bitcast=True))


class Array:
    """An array on a queue, as dpctl and dpnp show theirs; device memory, which only the queue copies from and to."""

    __module__ = "dpctl.made_up"

    def __init__(self, queue: Any, begin: npt.NDArray[Any], kind: str = "MemoryUSMDevice") -> None:
        self.shape, self.dtype = begin.shape, begin.dtype
        self.memory = getattr(memory, kind)(begin.nbytes, queue=queue)
        self.memory.copy_from_host(begin.view(np.uint8))

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        interface = self.memory.__sycl_usm_array_interface__
        return {**interface, "typestr": self.dtype.str, "shape": self.shape}

    def numpy(self) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self.memory.copy_to_host().view(self.dtype)
        return found


def begin() -> Floats:
    return np.arange(N, dtype=np.float32)


def device() -> Any:
    own = runtime()
    return own.queue(own.current_device()).device.native


@pytest.fixture(params=["in order", "out of order"])
def queue(request: pytest.FixtureRequest) -> Iterator[Any]:
    words = {"property": "in_order"} if request.param == "in order" else {}
    made = dpctl.SyclQueue(device(), **words)
    yield made
    made.wait()


class Others:
    """Work of another library on ``queue``.

    Of its own commands it keeps the order itself, as the library must on a queue that is not in order: by events.
    """

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        program = dpctl.program.create_program_from_source(queue, OTHERS)
        self.kernel = program.get_sycl_kernel("later")

    def later(self, array: Array, *after: Any) -> Any:
        """Adds 2 to each element of ``array``, late; the event of it."""
        arguments = [array.memory, ctypes.c_int(ROUNDS)]
        return self.queue.submit_async(self.kernel, arguments, [N], None, list(after))

    def copied(self, to: Array, source: Array, *after: Any) -> Any:
        return self.queue.memcpy_async(to.memory, source.memory, source.memory.nbytes, list(after))


def as_called(x: Array, out: Array) -> None:
    with tri.target("intel:opencl-cpu"):
        tripled[(N // BLOCK,)](x, out, BLOCK=BLOCK)


def as_on_a_gpu(x: Array, out: Array) -> None:
    """The launch that a GPU gets, which returns when the kernel is submitted."""
    own = runtime()
    source = tri.ASTSource(
        tripled, {"x_ptr": "*fp32", "out_ptr": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": BLOCK}
    )
    image = tri.compile(source, target="intel:opencl-cpu").image
    kernel = own.load(image, own.current_device()).kernel
    found = own.queue(own.current_device()).device
    gpu = replace(found, info=replace(found.info, arch="pvc"))
    launch = make_launch(sycl(), replace(kernel, queue=DeviceQueue(sycl(), gpu)), image)
    described = [adapters.describe(array) for array in (x, out)]
    launch((N // BLOCK, 1, 1), described[0].stream, [array.pointer for array in described])


launches = pytest.mark.parametrize("launch", [as_called, as_on_a_gpu])


@launches
def test_a_kernel_comes_after_a_kernel_and_before_a_copy_of_others(queue: Any, launch: Launch) -> None:
    others, (x, y, z) = Others(queue), (Array(queue, begin()) for _ in range(3))
    others.later(x)
    launch(x, y)
    others.copied(z, y)
    queue.wait()
    np.testing.assert_array_equal(z.numpy(), 3 * (begin() + 2))


@launches
def test_a_chain_in_place(queue: Any, launch: Launch) -> None:
    """Each kernel of tri between two of the others, all on one array."""
    others, x, expected = Others(queue), Array(queue, begin() % 64), begin() % 64
    for _ in range(4):
        others.later(x)
        launch(x, x)
        expected = 3 * (expected + 2)
    others.later(x)
    queue.wait()
    np.testing.assert_array_equal(x.numpy(), expected + 2)


@launches
def test_work_of_others_that_waits_for_events(queue: Any, launch: Launch) -> None:
    """An event of another queue before the kernel, and another queue that waits for the kernel."""
    away = dpctl.SyclQueue(device())
    others, elsewhere, (x, y, z) = Others(queue), Others(away), (Array(queue, begin()) for _ in range(3))
    queue.submit_barrier([elsewhere.later(x)])
    launch(x, y)
    done = elsewhere.copied(z, y, queue.submit_barrier())
    elsewhere.later(z, done).wait()
    np.testing.assert_array_equal(z.numpy(), 3 * (begin() + 2) + 2)
    del others


def test_a_gpus_launch_returns_before_its_kernel_ran(queue: Any) -> None:
    """So the order of what follows is the queue's, and not that of a host that waits."""
    others, x, y = Others(queue), Array(queue, begin()), Array(queue, begin())
    as_on_a_gpu(x, y)  # built
    before = others.later(x)
    as_on_a_gpu(x, y)
    assert before.execution_status != dpctl.event_status_type.complete
    queue.wait()
    np.testing.assert_array_equal(y.numpy(), 3 * (begin() + 2))


@pytest.mark.parametrize("kind", ["MemoryUSMDevice", "MemoryUSMShared", "MemoryUSMHost"])
def test_kernels_get_the_arrays_themselves(queue: Any, kind: str) -> None:
    x, out = Array(queue, begin(), kind), Array(queue, np.zeros(2, np.int64), kind)
    with tri.target("intel:opencl-cpu"):
        addresses[(1,)](x, out)
    assert out.numpy().tolist() == [x.memory._pointer, out.memory._pointer]


class Tensor:
    """PyTorch's, over memory of a queue."""

    __module__ = "torch"

    def __init__(self, array: Array) -> None:
        self.device, self.dtype = SimpleNamespace(type="xpu", index=0), "torch.float32"
        self.shape = array.shape
        self.array = array

    def stride(self) -> tuple[int, ...]:
        return (1,)

    def data_ptr(self) -> int:
        return int(self.array.memory._pointer)

    def element_size(self) -> int:
        return 4


@pytest.fixture
def pytorch(queue: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A PyTorch whose current stream is ``queue``, and whose GPU is the CPU device."""
    stream = SimpleNamespace(sycl_queue=queue.addressof_ref())
    xpu = SimpleNamespace(current_stream=lambda index: [stream][index])
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(xpu=xpu))
    own = runtime()
    found = own.queue(own.current_device()).device
    gpu = SimpleNamespace(info=found.info, is_cpu=False)
    monkeypatch.setattr(adapters, "sycl_devices", lambda: (gpu,))
    return stream


@pytest.mark.usefixtures("pytorch")
def test_pytorchs_current_queue(queue: Any) -> None:
    others, x, y, z = Others(queue), *(Array(queue, begin()) for _ in range(3))
    others.later(x)
    with tri.target("intel:opencl-cpu"):
        tripled[(N // BLOCK,)](Tensor(x), Tensor(y), BLOCK=BLOCK)
    others.copied(z, y)
    queue.wait()
    np.testing.assert_array_equal(z.numpy(), 3 * (begin() + 2))


def test_pytorchs_queue_of_another_context_is_refused(pytorch: Any, queue: Any) -> None:
    other = dpctl.SyclQueue(dpctl.SyclContext([device()]), device())
    pytorch.sycl_queue = other.addressof_ref()
    x, y = Array(queue, begin()), Array(queue, begin())
    with pytest.raises(DeviceError, match="another context"), tri.target("intel:opencl-cpu"):
        tripled[(N // BLOCK,)](Tensor(x), Tensor(y), BLOCK=BLOCK)
    np.testing.assert_array_equal(y.numpy(), begin())  # nothing ran
