"""Streams, graphs, cooperative and dependent launches: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/driver/test_gpu_launch.py``.

Outputs start poisoned; what is expected is computed in float64, or exactly.
"""

from __future__ import annotations

import itertools
import threading

import pytest

import tri
from launch_kernels import add_one, dependent_gemm, fails_on, meet_and_sum
from tri.launch.dispatcher import Dispatcher
from tri_backend_nvidia.driver import CudaRuntime
from tri_core.api import LaunchError, OutOfResources, Unsupported
from tri_runtime.native import available, exchange_of

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

N, BLOCK = 100_003, 1024
GRID = (tri.cdiv(N, BLOCK),)
#: clocks that a stream sleeps, tens of milliseconds: a launch that is not in order with it is far ahead
LONG = 50_000_000

hopper = pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.get_device_capability() < (9, 0), reason="sm_90 is needed"
)
two = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="two GPUs are needed")


def poisoned(*shape, device="cuda", dtype=torch.float32):
    return torch.full(shape, float("nan"), device=device, dtype=dtype)


def arrays(device="cuda"):
    return torch.randn(N, device=device), poisoned(N, device=device)


def add(x, y, dependent=False, **options):
    return add_one[GRID](x, y, N, BLOCK=BLOCK, DEPENDENT=dependent, **options)


# --- streams ------------------------------------------------------------------------------------------------


def as_handle(stream):
    return stream.cuda_stream


def as_binding(stream):
    return pytest.importorskip("cuda.bindings.driver").CUstream(stream.cuda_stream)


@pytest.mark.parametrize("given", [lambda stream: stream, as_handle, as_binding])
def test_a_launch_is_in_order_with_the_stream_that_it_names(given):
    x, y = arrays()
    add(x, y)  # compiled and loaded
    y.fill_(float("nan"))
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
        x.fill_(3.0)
    add(x, y, stream=given(side))
    assert not side.query(), "the sleep was too short for this test"
    side.synchronize()
    assert bool((y == 4.0).all())


def test_without_a_word_it_is_the_current_one():
    x, y = arrays()
    add(x, y)
    y.fill_(float("nan"))
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
        x.fill_(5.0)
        add(x, y)
    side.synchronize()
    assert bool((y == 6.0).all())


def test_trials_of_autotune_on_a_stream():
    x, y = arrays()
    configs = [tri.Config({"BLOCK": block}) for block in (256, 1024)]
    kernel = tri.autotune(configs, key=["n"], warmup=1, rep=2)(add_one)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    kernel[lambda meta: (tri.cdiv(N, meta["BLOCK"]),)](x, y, N, DEPENDENT=False, stream=side)
    side.synchronize()
    assert bool((y == x + 1).all())
    assert all(times[0] > 1e-4 for times in kernel.configs_timings.values()), "milliseconds of a real run"


# --- launches by compiled code ------------------------------------------------------------------------------

fast = pytest.mark.skipif(
    not available() or exchange_of(torch.Tensor) is None, reason="launches stay in Python here"
)


@pytest.fixture
def slow(monkeypatch):
    """The launches that went through Python."""
    seen = []
    launch = Dispatcher.launch

    def counted(self, *given):
        seen.append(self.function.__name__)
        return launch(self, *given)

    monkeypatch.setattr(Dispatcher, "launch", counted)
    return seen


def warmed(*given, **options):
    """A kernel of its own whose launches like these are compiled code's."""
    kernel = tri.jit(add_one.fn)
    for _ in range(2):
        kernel[GRID](*given, N, BLOCK=BLOCK, DEPENDENT=False, **options)
    return kernel


@fast
def test_compiled_launches_pass_what_they_are_given(slow):
    x, y = arrays()
    kernel = warmed(x, y)
    slow.clear()
    for i in range(200):
        n = N - 2 * i  # odd, as N is
        source, out = torch.randn(n, device="cuda"), poisoned(n + 16)
        kernel[lambda meta: (tri.cdiv(meta["n"], meta["BLOCK"]),)](
            source, out, n, BLOCK=BLOCK, DEPENDENT=False
        )
        assert bool((out[:n] == source + 1).all())
        assert bool(out[n:].isnan().all())
    assert not slow


@fast
def test_compiled_launches_are_on_the_current_stream(slow):
    x, y = arrays()
    kernel = warmed(x, y)
    slow.clear()
    y.fill_(float("nan"))
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
        x.fill_(5.0)
        kernel[GRID](x, y, N, BLOCK=BLOCK, DEPENDENT=False)
    assert not side.query(), "the sleep was too short for this test"
    side.synchronize()
    assert bool((y == 6.0).all())
    assert not slow


@fast
def test_compiled_launches_are_recorded(slow):
    x, y = arrays()
    kernel = warmed(x, y)
    slow.clear()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            kernel[GRID](x, y, N, BLOCK=BLOCK, DEPENDENT=False)
    y.fill_(float("nan"))
    x.fill_(2.0)
    graph.replay()
    assert bool((y == 3.0).all())
    assert not slow


@fast
def test_compiled_launches_of_threads(slow):
    """A thread that has no context, or another, gets one."""
    x, y = arrays()
    kernel, wrong = warmed(x, y), []

    def work():
        for _ in range(100):
            source, out = arrays()
            torch.cuda.current_stream().synchronize()
            kernel[GRID](source, out, N, BLOCK=BLOCK, DEPENDENT=False)
            wrong.append(int((out != source + 1).sum()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0] * 400


@fast
def test_what_the_driver_refuses_in_compiled_launches(slow):
    x, y = arrays()
    kernel = warmed(x, y)
    with pytest.raises(LaunchError, match="its y extent must lie between 0 and 65535"):
        kernel[(1, 70_000)](x, y, N, BLOCK=BLOCK, DEPENDENT=False)
    y.fill_(float("nan"))
    kernel[GRID](x, y, N, BLOCK=BLOCK, DEPENDENT=False)
    assert bool((y == x + 1).all())


@two
@fast
def test_compiled_launches_on_two_devices(slow):
    for _ in range(4):
        for device in ("cuda:0", "cuda:1"):
            x, y = arrays(device)
            kernel = warmed(x, y)
            slow.clear()
            with torch.cuda.device(device):
                y.fill_(float("nan"))
                kernel[GRID](x, y, N, BLOCK=BLOCK, DEPENDENT=False)
                assert not slow
            assert bool((y == x + 1).all())
            y.fill_(float("nan"))
            with torch.cuda.device("cuda:0" if device == "cuda:1" else "cuda:1"):
                kernel[GRID](x, y, N, BLOCK=BLOCK, DEPENDENT=False)
            assert bool((y == x + 1).all())


# --- grids that depend on each other ------------------------------------------------------------------------


@hopper
def test_a_chain_of_dependent_launches():
    x = torch.randint(-1000, 1000, (N,), device="cuda").float()
    buffers = [x, *(poisoned(N) for _ in range(30))]
    for source, destination in itertools.pairwise(buffers):
        add(source, destination, dependent=True, launch_pdl=True)
    for count, buffer in enumerate(buffers):
        assert bool((buffer.double() == x.double() + count).all()), count


@hopper
@pytest.mark.parametrize("specialize", [False, True])
def test_a_matmul_of_what_the_grid_before_makes(specialize):
    m = n = k = 512
    options = {"num_warps": 4, "warp_specialize": specialize, "launch_pdl": True}
    constants = {"BM": 64, "BN": 64, "BK": 64}
    a, b = (torch.randn(s, device="cuda", dtype=torch.float64).half() for s in ((m, k), (k, n)))
    for _ in range(3):
        first, second = (poisoned(m, n, dtype=torch.float16) for _ in range(2))
        for left, out in ((a, first), (first, second)):  # the second reads what the first writes
            kernel = dependent_gemm[(m // 64, n // 64)](left, b, out, m, n, k, **constants, **options)
        assert ("ttg.warp_specialize(" in kernel.asm["ttgir"]) == specialize
        for left, out in ((a, first), (first, second)):
            expected = left.double() @ b.double()
            error = float((out.double() - expected).abs().max())
            assert error <= 2e-3 * float(expected.abs().max()), error


@pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0), reason="for older GPUs"
)
def test_older_gpus_refuse_them():
    with pytest.raises(Unsupported, match="launch_pdl=True"):
        add(*arrays(), launch_pdl=True)


# --- programs that synchronize -------------------------------------------------------------------------------------


def synchronised(programs, grid=None):
    x = torch.randn(N, device="cuda")
    partial, out = poisoned(programs), poisoned(programs)
    arrived = torch.zeros(1, device="cuda", dtype=torch.int32)
    kernel = meet_and_sum[grid or (programs,)](
        x, partial, arrived, out, N, BLOCK=BLOCK, PROGRAMS=programs, launch_cooperative_grid=True
    )
    return kernel, out, x.double().sum()


@pytest.mark.parametrize("programs", [2, 64])
def test_programs_of_a_cooperative_grid_meet(programs):
    _, out, expected = synchronised(programs)
    bound = 1e-4 * N**0.5
    assert bool(((out.double() - expected).abs() <= bound).all())


def test_a_cooperative_grid_that_does_not_fit_is_refused():
    with pytest.raises(OutOfResources, match=r"CTAs; .* of them at a time") as caught:
        synchronised(64, grid=(1 << 20,))
    kernel, out, expected = synchronised(64)
    units = torch.cuda.get_device_properties(0).multi_processor_count
    assert (caught.value.need, caught.value.have) == (1 << 20, kernel.resources.resident(units))
    assert bool(((out.double() - expected).abs() <= 1e-4 * N**0.5).all()), "the device goes on"


# --- graphs -------------------------------------------------------------------------------------------------


def test_a_recorded_launch_reads_what_is_there_when_it_is_replayed():
    x, y = arrays()
    add(x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add(x, y)
    for value in (1.0, 2.0):
        x.fill_(value)
        y.fill_(float("nan"))
        graph.replay()
        assert bool((y == value + 1).all())


@hopper
@pytest.mark.parametrize("dependent", [False, True])
def test_tensor_maps_are_recorded_by_value(dependent):
    m = n = k = 256
    options = {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "warp_specialize": True, "launch_pdl": dependent}

    def multiply(a, b, c):
        return dependent_gemm[(m // 64, n // 64)](a, b, c, m, n, k, **options)

    def halves():
        return torch.randn(m, k, device="cuda", dtype=torch.float64).half()

    a, b, c = halves(), halves(), poisoned(m, n, dtype=torch.float16)
    kernel = multiply(a, b, c)
    assert kernel.metadata.attrs["descriptors"], "the launch makes tensor maps"
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        multiply(a, b, c)
        multiply(c, b, a)
    for other in poisoned(
        1100, m, n, dtype=torch.float16
    ):  # more tensors than the launcher remembers maps of
        multiply(a, b, other)
    for _ in range(2):
        given = halves()
        a.copy_(given)
        b.copy_(halves())
        c.fill_(float("nan"))
        graph.replay()
        expected = given.double() @ b.double()
        assert float((c.double() - expected).abs().max()) <= 2e-3 * float(expected.abs().max())
        expected = c.double() @ b.double()
        assert float((a.double() - expected).abs().max()) <= 2e-3 * float(expected.abs().max())


def test_a_kernel_is_compiled_within_a_capture():
    x, y = arrays()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # the strictest mode: what is not recorded fails
        add_one[(tri.cdiv(N, 512),)](x, y, N, BLOCK=512, DEPENDENT=False)
    y.fill_(float("nan"))
    graph.replay()
    assert bool((y == x + 1).all())


def test_a_kernel_with_assertions_is_compiled_within_a_capture():
    x = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fails_on[(1,)](x, 100.0, debug=True)
    for _ in range(3):
        graph.replay()
    assert x.item() == 3.0


def test_graphs_of_our_own_are_timed():
    x, y = arrays()
    milliseconds = tri.testing.do_bench_graph(lambda: add(x, y), rep=2)
    assert 1e-4 < milliseconds < 10
    assert bool((y == x + 1).all())


# --- several devices ----------------------------------------------------------------------------------------


@two
def test_arrays_on_two_devices_are_refused():
    with pytest.raises(LaunchError, match="several devices: cuda:0, cuda:1"):
        add(torch.ones(N, device="cuda:0"), poisoned(N, device="cuda:1"))


@two
def test_a_stream_of_another_device_is_refused():
    x, y = arrays("cuda:1")
    with pytest.raises(LaunchError, match="stream= is of cuda:0, the arguments are on cuda:1"):
        add(x, y, stream=torch.cuda.Stream(device=0))
    side = torch.cuda.Stream(device=1)
    torch.cuda.synchronize(1)
    add(x, y, stream=side)
    side.synchronize()
    assert bool((y == x + 1).all())


@two
def test_kernels_are_loaded_on_each_device_and_leave_the_current_one_alone():
    for block in (128, 2048):  # versions that no test has loaded
        for device in ("cuda:1", "cuda:0"):
            x, y = arrays(device)
            kernel = add_one[(tri.cdiv(N, block),)](x, y, N, BLOCK=block, DEPENDENT=False)
            assert torch.cuda.current_device() == 0
            assert bool((y == x + 1).all())
    x, y = arrays("cuda:1")
    kernel[(tri.cdiv(N, 2048),)](x, y, N)
    assert torch.cuda.current_device() == 0
    assert bool((y == x + 1).all())


@two
def test_tensor_maps_on_the_second_device():
    m = n = k = 128
    a, b = (torch.randn(m, k, device="cuda:1", dtype=torch.float64).half() for _ in range(2))
    c = poisoned(m, n, device="cuda:1", dtype=torch.float16)
    dependent_gemm[(2, 2)](a, b, c, m, n, k, BM=64, BN=64, BK=64, num_warps=4, warp_specialize=True)
    expected = a.double() @ b.double()
    assert float((c.double() - expected).abs().max()) <= 2e-3 * float(expected.abs().max())


@two
def test_a_device_of_our_own_choice():
    runtime = CudaRuntime()
    assert [d.index for d in runtime.devices()] == list(range(torch.cuda.device_count()))
    with torch.cuda.device(1):
        assert runtime.current_device().index == 1
