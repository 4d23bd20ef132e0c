"""Launches that compiled code does see all that launches through Python see; on a driver in Python, with tensors of the host."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
import tracemalloc
import weakref

import numpy as np
import pytest

import fast_launch_kernels
import tri
from launch_kernels import dependent_gemm
from nvidia_fake_driver import CUresult, forget, install
from persistent_kernels import places
from special_kernels import attention
from tri.launch.arrays import place_of
from tri.launch.dispatcher import Dispatcher
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core import knobs
from tri_core.errors import LaunchError, TriError
from tri_runtime import registry, runtime
from tri_runtime.native import available, exchange_of

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not available() or exchange_of(torch.Tensor) is None, reason="launches stay in Python here"
)

WORD, INT = ctypes.c_uint64, ctypes.c_int32
#: a descriptor, in a parameter
MAP = ctypes.c_char * 128
N, BLOCK = 96, 32


@pytest.fixture
def devices():
    return 1


@pytest.fixture
def fake(monkeypatch, devices):
    made = install(monkeypatch, devices)
    made.signature = (WORD, WORD, WORD, INT)
    registry.forget()
    device = runtime("cuda").devices()[0]
    monkeypatch.setattr("tri.launch.arrays._torch_places", {torch.device("cpu"): place_of(device)})
    yield made
    gc.collect()
    registry.forget()
    forget()


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


def fresh(kernel):
    return tri.jit(kernel.fn)


def arrays(count=3, dtype=torch.float32, size=N):
    return [torch.zeros(size, dtype=dtype) for _ in range(count)]


def warm(kernel, *args, grid=(3,), **kwargs):
    """After two launches the like of these are done by compiled code."""
    for _ in range(2):
        kernel[grid](*args, **kwargs)
    return kernel


@pytest.fixture
def ready(fake):
    x, y, out = arrays()
    return warm(fresh(fast_launch_kernels.add), x, y, out, N, BLOCK=BLOCK), (x, y, out)


def pointers(*tensors):
    return tuple(t.data_ptr() for t in tensors)


# --- what is passed ----------------------------------------------------------------------------------------


def test_the_same_is_passed(fake, ready, slow):
    kernel, xs = ready
    made = kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert not slow
    first, *_, last = ({**vars(seen), "stream": seen.stream or 0} for seen in fake.launches)
    assert last == first
    assert last["values"] == (*pointers(*xs), N)
    assert made is kernel[(0,)](*xs, N, BLOCK=BLOCK)
    assert not slow
    assert len(fake.launches) == 3, "nothing is launched for an empty grid"


def test_other_tensors_and_numbers(fake, ready, slow):
    kernel, _ = ready
    xs = arrays()
    kernel[(2,)](*xs, 32, BLOCK=BLOCK)
    assert fake.launches[-1].values == (*pointers(*xs), 32)
    xs[1].set_(torch.zeros(N).untyped_storage())  # the same object with other memory
    kernel[(2,)](*xs, 64, BLOCK=BLOCK)
    assert fake.launches[-1].values == (*pointers(*xs), 64)
    kernel[(2,)](torch.nn.Parameter(xs[0]), *xs[1:], 64, BLOCK=BLOCK)
    assert slow == ["add"], "another class of arrays"


def test_scalars_of_all_kinds(fake, slow):
    kernel = fresh(fast_launch_kernels.scalars)
    fake.signature = (WORD, INT, ctypes.c_float, ctypes.c_bool, ctypes.c_int64, ctypes.c_double)
    (out,) = arrays(1)
    warm(kernel, out, 5, 2.5, True, None, 7, 1.5, word="a")
    slow.clear()
    for flag, i, f in [(False, -7, -0.25), (True, 2**31 - 1, float("inf")), (True, 3, 2.0**-149)]:
        kernel[(1,)](out, i, f, flag, None, -(2**40) - 1, 1e300, word="".join(["a"]))
        assert fake.launches[-1].values == (out.data_ptr(), i, f, flag, -(2**40) - 1, 1e300)
    assert not slow
    kernel[(1,)](out, 5, 2.5, True, None, 7, 1.5, word="a", ratio=0.5)
    assert slow, "given in another way"


GRIDS = [
    ((4,), (4, 1, 1)),
    ((4, 3), (4, 3, 1)),
    ((4, 3, 2), (4, 3, 2)),
    (lambda meta: (meta["n"] // meta["BLOCK"], 2), (3, 2, 1)),
]


@pytest.mark.parametrize(("grid", "expected"), GRIDS)
def test_grids(fake, ready, slow, grid, expected):
    kernel, xs = ready
    kernel[grid](*xs, N, BLOCK=BLOCK)
    assert fake.launches[-1].grid == expected
    assert not slow


def test_a_grid_sees_defaults_and_options(fake, slow):
    kernel = fresh(fast_launch_kernels.scalars)
    seen = []
    (out,) = arrays(1)

    def grid(meta):
        seen.append(meta)
        return (1,)

    fake.signature = ()
    warm(kernel, out, 5, 2.5, True, None, 7, 1.5, word="a", num_warps=4, grid=grid)
    slow.clear()
    kernel[grid](out, 5, 2.5, True, None, 7, 1.5, word="a", num_warps=4)
    assert not slow
    assert seen[-1] == seen[0]
    assert seen[-1]["ratio"] == 0.5
    assert seen[-1]["num_warps"] == 4


def test_what_a_grid_raises_is_told(ready, slow):
    kernel, xs = ready
    with pytest.raises(LaunchError, match="the grid function of add raised ZeroDivisionError"):
        kernel[lambda meta: (1 // 0,)](*xs, N, BLOCK=BLOCK)
    assert slow == ["add"]


def test_a_grid_is_asked_once(fake, ready, slow):
    kernel, xs = ready
    asked = []
    kernel[lambda meta: [asked.append(1) or 5]](*xs, N, BLOCK=BLOCK)
    assert fake.launches[-1].grid == (5, 1, 1)
    assert len(asked) == 1
    assert slow == ["add"]


# --- what else decides -------------------------------------------------------------------------------------


def versions(kernel):
    return sum(map(len, kernel._dispatcher.versions().values()))


CHANGES = {
    "alignment": lambda xs: ((xs[0][1:], xs[1], xs[2], N), {"BLOCK": BLOCK}),
    "one": lambda xs: ((*xs, 1), {"BLOCK": BLOCK}),
    "divisibility": lambda xs: ((*xs, N - 1), {"BLOCK": BLOCK}),
    "width": lambda xs: ((*xs, 2**40), {"BLOCK": BLOCK}),
    "kind": lambda xs: ((*xs, True), {"BLOCK": BLOCK}),
    "dtype": lambda xs: ((xs[0].int(), *xs[1:], N), {"BLOCK": BLOCK}),
    "constexpr": lambda xs: ((*xs, N), {"BLOCK": 2 * BLOCK}),
    "option": lambda xs: ((*xs, N), {"BLOCK": BLOCK, "num_warps": 2}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_version_is_launched(fake, ready, slow, change):
    kernel, xs = ready
    first = kernel[(3,)](*xs, N, BLOCK=BLOCK)
    args, kwargs = CHANGES[change](xs)
    fake.signature = (WORD, WORD, WORD)
    assert not slow
    for _ in range(3):
        assert kernel[(3,)](*args, **kwargs) is not first
    assert versions(kernel) == 2
    assert len(slow) == 1, "seen once, known afterwards"
    assert fake.launches[-1].values[:3] == pointers(*args[:3])
    assert kernel[(3,)](*xs, N, BLOCK=BLOCK) is first
    assert len(slow) == 1


def test_all_versions_that_tuning_tries_are_known(fake, slow):
    kernel = fresh(fast_launch_kernels.tuned)
    (out,) = arrays(1)
    fake.signature = (WORD,)
    for number in range(30):
        warm(kernel, out, number)
    slow.clear()
    found = {kernel[(1,)](out, number).hash for number in range(30)}
    assert len(found) == 30
    assert not slow


def test_what_is_not_specialized_makes_no_version(fake, slow):
    kernel = tri.jit(do_not_specialize=["n"])(fast_launch_kernels.plain.fn)
    (out,) = arrays(1, torch.int32)
    fake.signature = (WORD, INT)
    warm(kernel, out, 16)
    slow.clear()
    for n in (1, 7, -32):
        kernel[(1,)](out, n)
        assert fake.launches[-1].values == (out.data_ptr(), n)
    assert not slow
    assert versions(kernel) == 1


def test_dtypes_that_dlpack_does_not_tell_apart(fake):
    fake.signature = (WORD, INT)
    kernel = fresh(fast_launch_kernels.plain)
    warm(kernel, torch.zeros(8, dtype=torch.uint8), 5)
    with pytest.raises(TriError, match="uint4"):
        kernel[(1,)](torch.zeros(8, dtype=torch.uint8).view(torch.uint4), 5)


def test_globals(fake, slow, monkeypatch):
    kernel = fresh(fast_launch_kernels.shifted)
    (out,) = arrays(1)
    fake.signature = (WORD,)
    warm(kernel, out)
    first = kernel[(1,)](out)
    monkeypatch.setattr(fast_launch_kernels, "SHIFT", tri.language.constexpr(4))
    slow.clear()
    second = kernel[(1,)](out)
    assert slow
    assert second.hash != first.hash


def test_knobs(ready, slow):
    kernel, xs = ready
    first = kernel[(3,)](*xs, N, BLOCK=BLOCK)
    with knobs.scope(LINE_INFO=True):
        scoped = kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert scoped.hash != first.hash
    assert kernel[(3,)](*xs, N, BLOCK=BLOCK) is first
    knobs.assign("LINE_INFO", True)
    try:
        for _ in range(3):
            assert kernel[(3,)](*xs, N, BLOCK=BLOCK).hash == scoped.hash
    finally:
        knobs.assign("LINE_INFO", None)
    assert kernel[(3,)](*xs, N, BLOCK=BLOCK) is first


def test_targets(ready, slow):
    kernel, xs = ready
    first = kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert not slow
    with tri.target("nvidia:sm_90"):
        other = kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert slow
    assert str(other.metadata.target) == "nvidia:sm_90"
    with tri.target("cpu"), pytest.raises(TriError, match="is launched on cpu"):
        kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert kernel[(3,)](*xs, N, BLOCK=BLOCK) is first


@pytest.mark.parametrize("which", ["launch_enter_hook", "launch_exit_hook"])
def test_hooks(ready, slow, which):
    kernel, xs = ready
    chain = getattr(tri.knobs.runtime, which)
    reported = []
    chain.add(reported.append)
    try:
        kernel[(3,)](*xs, N, BLOCK=BLOCK)
    finally:
        chain.remove(reported.append)
    assert len(reported) == 1
    assert reported[0]["grid"] == (3, 1, 1)
    assert slow
    slow.clear()
    kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert len(reported) == 1
    assert not slow


def test_hooks_before_runs(ready):
    kernel, xs = ready
    reported = []
    kernel.add_pre_run_hook(lambda *args, **kwargs: reported.append(kwargs))
    kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert reported == [{"BLOCK": BLOCK}]


def test_interpreted(fake, ready):
    kernel, (x, y, out) = ready
    count = len(fake.launches)
    x.fill_(2.0)
    with tri.interpret():
        kernel[(3,)](x, y, out, N, BLOCK=BLOCK)
    assert len(fake.launches) == count
    assert bool((out == 2.0).all())


def test_forgetting(ready, slow):
    kernel, xs = ready
    kernel.device_caches.clear()
    kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert slow
    slow.clear()
    warm(kernel, *xs, N, BLOCK=BLOCK)
    assert len(slow) == 1


def test_a_callable_outlives_its_kernel(fake):
    xs = arrays()
    launch = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=BLOCK)[(3,)]
    gc.collect()
    launch(*xs, N, BLOCK=BLOCK)
    assert fake.launches[-1].values == (*pointers(*xs), N)


# --- errors ------------------------------------------------------------------------------------------------

WRONG = {
    "an array of the host": lambda k, xs: k[(3,)](np.zeros(4, np.float32), *xs[1:], N, BLOCK=BLOCK),
    "a dtype": lambda k, xs: k[(3,)](xs[0].to(torch.complex64), *xs[1:], N, BLOCK=BLOCK),
    "no argument": lambda k, xs: k[(3,)](*xs, BLOCK=BLOCK),
    "too many": lambda k, xs: k[(3,)](*xs, N, BLOCK, 5),
    "an option": lambda k, xs: k[(3,)](*xs, N, BLOCK=BLOCK, num_warp=4),
    "a string": lambda k, xs: k[(3,)](*xs, "n", BLOCK=BLOCK),
    "a large number": lambda k, xs: k[(3,)](*xs, 1 << 70, BLOCK=BLOCK),
    "a negative grid": lambda k, xs: k[(-1,)](*xs, N, BLOCK=BLOCK),
    "no grid": lambda k, xs: k[None](*xs, N, BLOCK=BLOCK),
    "a grid of floats": lambda k, xs: k[(1.0,)](*xs, N, BLOCK=BLOCK),
    "a large grid": lambda k, xs: k[(1, 1 << 20)](*xs, N, BLOCK=BLOCK),
    "no grid but more": lambda k, xs: k["x"](*xs, N, BLOCK=BLOCK),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_errors_are_those_of_the_first_launch(fake, ready, wrong):
    kernel, xs = ready
    found = []
    for each in (kernel, fresh(fast_launch_kernels.add)):
        fake.launch_status = [CUresult.CUDA_ERROR_INVALID_VALUE] * 2
        with pytest.raises(TriError) as caught:
            WRONG[wrong](each, xs)
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]


def test_what_the_driver_says(fake, ready):
    kernel, xs = ready
    fake.launch_status = [CUresult.CUDA_ERROR_OUT_OF_MEMORY] * 2
    with pytest.raises(
        TriError, match="launching add with grid \\(3, 1, 1\\) failed with CUDA_ERROR_OUT_OF_MEMORY"
    ):
        kernel[(3,)](*xs, N, BLOCK=BLOCK)


def test_a_thread_without_a_context(fake, ready, slow):
    kernel, xs = ready
    fake.launch_status = [CUresult.CUDA_ERROR_INVALID_CONTEXT] * 2
    kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert fake.launches[-1].status == 0
    assert fake.launches[-1].context == 100
    assert slow


def test_the_kernel_is_named_after_a_fault(fake, ready):
    kernel, xs = ready
    fake.launch_status = [CUresult.CUDA_ERROR_ILLEGAL_ADDRESS] * 2
    with pytest.raises(TriError, match="kernel 'add' accessed memory that it may not"):
        kernel[(3,)](*xs, N, BLOCK=BLOCK)


# --- streams, devices, attributes --------------------------------------------------------------------------


@pytest.fixture
def streams(monkeypatch):
    """The current stream as PyTorch tells it."""
    current = [0]
    real = exchange_of(torch.Tensor)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
    def ask(kind, index, out):
        ctypes.c_uint64.from_address(out).value = current[0]
        return 0

    made = type(real)(real.read, ctypes.cast(ask, ctypes.c_void_p).value)
    monkeypatch.setattr("tri_runtime.native.exchange_of", lambda cls: made)
    monkeypatch.setattr("tri_backend_nvidia.driver.streams._lookup", lambda index: current[0])
    yield current
    del ask


def test_the_current_stream_is_asked_for_at_every_launch(fake, streams, slow):
    xs = arrays()
    kernel = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=BLOCK)
    slow.clear()
    for stream in (71, 0, 1 << 45):
        streams[0] = stream
        kernel[(3,)](*xs, N, BLOCK=BLOCK)
        assert (fake.launches[-1].stream or 0) == stream
    assert not slow


def test_a_stream_that_is_named(fake, ready, slow):
    kernel, xs = ready
    for _ in range(20):
        kernel[(3,)](*xs, N, BLOCK=BLOCK, stream=77)
        assert fake.launches[-1].stream == 77
    assert len(slow) == 20
    kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert not fake.launches[-1].stream
    assert len(slow) == 20


@pytest.mark.parametrize("devices", [2])
def test_the_context_is_looked_at_where_there_are_several_devices(fake, slow):
    xs = arrays()
    fake.current = 100
    kernel = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=BLOCK)
    slow.clear()
    kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert not slow
    assert fake.launches[-1].context == 100
    fake.current = 101
    kernel[(3,)](*xs, N, BLOCK=BLOCK)
    assert slow
    assert fake.launches[-1].context == 100
    assert fake.current == 101


@pytest.mark.parametrize(
    ("options", "attributes"), [({"launch_pdl": True}, {6: 1}), ({"launch_cooperative_grid": True}, {2: 1})]
)
def test_attributes(fake, slow, options, attributes):
    xs = arrays()
    kernel = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=BLOCK, **options)
    slow.clear()
    kernel[(12,)](*xs, N, BLOCK=BLOCK, **options)
    assert not slow
    assert fake.launches[-1].attributes == attributes
    if "launch_cooperative_grid" in options:
        with pytest.raises(TriError, match=r"cooperative grid .* holds 12"):
            kernel[(13,)](*xs, N, BLOCK=BLOCK, **options)


def test_clusters(fake, slow):
    xs = arrays()
    kernel = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=256, num_ctas=2)
    slow.clear()
    for grid, ctas in [((3,), (6, 1, 1)), ((2, 5), (4, 5, 1))]:
        kernel[grid](*xs, N, BLOCK=256, num_ctas=2)
        assert fake.launches[-1].grid == ctas
    assert not slow
    kernel[(1 << 30,)](*xs, N, BLOCK=256, num_ctas=2)
    assert slow, "more CTAs than a grid may have are for the driver to refuse, and for Python to explain"


def test_persistent_kernels(fake, slow):
    kernel = fresh(places)
    out = torch.zeros(4096, dtype=torch.int64)
    given = {"X": 7, "Y": 5, "LEN": 2, "persistent": True}
    warm(kernel, out, **given, grid=(7, 5))
    slow.clear()
    fake.signature = (WORD, INT, INT, INT, INT, INT)
    for grid, ctas in [((7, 5), 12), ((2, 3, 1), 6), ((1, 2, 9), 12)]:
        made = kernel[grid](out, **given)
        assert fake.launches[-1].grid == (ctas, 1, 1)
        assert fake.launches[-1].values[-3:] == (*grid, 1)[:3]
    assert not slow
    assert made.metadata.attrs["grid"]
    with pytest.raises(TriError, match="a persistent kernel counts up to"):
        kernel[(1 << 30, 2)](out, **given)


def test_counters(fake, streams, slow):
    """A stream has its counter; launches that are recorded have each their own, and go through Python."""
    kernel = fresh(attention)
    q, k, v, o = (torch.zeros(160, 32, dtype=torch.float16) for _ in range(4))
    options = {"num_warps": 4, "num_stages": 2, "warp_specialize": True, "persistent": True}
    with tri.target("nvidia:sm_90a"):
        made = kernel.warmup(q, k, v, o, 160, 32, 32, 32, True, **options)
    assert made.metadata.attrs["counter"]
    maps = [MAP] * len(made.metadata.attrs.get("descriptors", ()))
    visible = [WORD if p.is_pointer else INT for p in made.metadata.signature.parameters]
    fake.signature = (*visible, INT, INT, INT, WORD, *maps)
    counter = len(visible) + 3

    def counted(stream):
        streams[0] = stream
        kernel[(5,)](q, k, v, o, 160, 32, 32, 32, True, **options)
        return fake.launches[-1].values[counter]

    first, second = ([counted(stream) for _ in range(3)] for stream in (71, 72))
    assert len({*first}) == len({*second}) == 1
    assert first[0] != second[0]
    slow.clear()
    assert [counted(71), counted(72), counted(71)] == [first[0], second[0], first[0]]
    assert not slow
    fake.capturing.add(71)
    recorded = {counted(71), counted(71)}
    assert len(recorded | {first[0], second[0]}) == 4
    assert len(slow) == 2
    fake.capturing.discard(71)
    fake.stream_ids[71] = 12345  # another stream that has the handle of one that is gone
    assert counted(71) not in (first[0], second[0])
    assert fake.launches[-1].grid == (5, 1, 1)
    assert fake.launches[-1].values[counter - 3 : counter] == (5, 1, 1)


def test_descriptors(fake, slow):
    kernel = fresh(dependent_gemm)
    given = {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "warp_specialize": True}
    a, b, c, other = (torch.zeros(64, 64, dtype=torch.float16) for _ in range(4))

    def launched(*tensors, m=64):
        made = kernel[(1,)](*tensors, m, 64, 64, **given)
        return made, fake.launches[-1].values[-3:]

    fake.signature = (WORD, WORD, WORD, INT, INT, INT, MAP, MAP, MAP)
    made, first = launched(a, b, c)
    assert len(made.metadata.attrs["descriptors"]) == 3
    launched(a, b, c)
    slow.clear()
    assert launched(a, b, c)[1] == first
    second = launched(a, b, other)[1]
    assert second[:2] == first[:2]
    assert str(other.data_ptr()).encode() in second[2]
    assert b"[64, 48]" in launched(a, b, c, m=48)[1][0]
    assert launched(a, b, c)[1] == first
    assert not slow
    asked = len(fake.called("cuTensorMapEncodeTiled"))
    launched(a, b, c)
    assert len(fake.called("cuTensorMapEncodeTiled")) == asked
    errors = []
    for each in (kernel, fresh(dependent_gemm)):
        with pytest.raises(TriError) as caught:
            each[(1,)](a, b, c, 64, 64, -64, **given)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.fixture
def described(fake):
    """A kernel that is given descriptors, warm."""
    fake.signature = ()
    kernel = fresh(fast_launch_kernels.described)
    x, y = (TensorDescriptor.from_tensor(torch.zeros(64, 64), [16, 16]) for _ in range(2))
    made = warm(kernel, x, y, 3)[(2,)](x, y, 3)
    types = {"*": WORD, "i32": INT, "i64": ctypes.c_int64}
    fake.signature = tuple(types["*" if p.is_pointer else p.type] for p in made.metadata.signature.parameters)
    if made.metadata.attrs.get("descriptors"):
        fake.signature += (MAP,) * len(made.metadata.attrs["descriptors"])
    return kernel, x, y


def test_descriptors_as_arguments(fake, described, slow):
    kernel, x, _ = described
    for shape, strides in [([64, 64], [64, 1]), ((32, 48), [80, 1]), ([16, 16], (256, 1))]:
        other = TensorDescriptor(torch.zeros(64 * 256), shape, strides, [16, 16])
        found = []
        for each in (kernel, fresh(fast_launch_kernels.described)):
            for _ in range(3):
                each[(2,)](x, other, 3)
                found.append(fake.launches[-1].values)
        assert len({*found}) == 1
        assert found[0][4:8] == (other.base.data_ptr(), *shape, strides[0])
        slow.clear()
        kernel[(2,)](x, other, 3)
        assert not slow


CHANGED = {
    "its block": {"block_shape": [16, 32]},
    "its padding": {"padding": "nan"},
    "a size": {"shape": [63, 64]},
    "its dtype": {"base": torch.zeros(64, 64, dtype=torch.int32)},
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_descriptor_of_another_kind(described, slow, change):
    kernel, x, y = described
    slow.clear()
    first = kernel[(2,)](x, y, 3)
    for name, value in CHANGED[change].items():
        setattr(y, name, value)
    assert not slow
    assert kernel[(2,)](x, y, 3) is not first
    assert slow


def test_what_is_wrong_with_a_descriptor(described):
    kernel, x, y = described
    y.base = torch.zeros(64 * 64 + 1)[1:]
    with pytest.raises(TriError, match="which is no multiple of 16 bytes"):
        kernel[(2,)](x, y, 3)
    y.base = np.zeros((64, 64), np.float32)
    with pytest.raises(TriError, match="in host memory"):
        kernel[(2,)](x, y, 3)


# --- threads, memory, time ---------------------------------------------------------------------------------


def test_threads_do_not_mix_their_arguments(fake, ready):
    kernel, _ = ready
    wrong = []

    def work(number):
        xs = arrays()
        for i in range(200):
            n = 16 * (1000 * number + i)
            kernel[(3,)](*xs, n, BLOCK=BLOCK)
        wrong.extend(
            seen.values
            for seen in list(fake.launches)
            if seen.values[0] == xs[0].data_ptr() and seen.values[:3] != pointers(*xs)
        )
        numbers = [seen.values[3] for seen in list(fake.launches) if seen.values[0] == xs[0].data_ptr()]
        if numbers != [16 * (1000 * number + i) for i in range(200)]:
            wrong.append(numbers)
        keep.append(xs)

    keep = []
    threads = [threading.Thread(target=work, args=(1 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keep) == 4
    assert not wrong


def test_threads_learn_while_versions_are_forgotten(fake, ready):
    kernel, xs = ready
    count, failures = len(fake.launches), []

    def work(block):
        try:
            for i in range(100):
                kernel[(3,)](*xs, N + i, BLOCK=block)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(block,)) for block in (BLOCK, 2 * BLOCK, 4 * BLOCK)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        kernel.device_caches.clear()
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert not failures
    given = sorted(seen.values[3] for seen in fake.launches[count:])
    assert given == sorted([N + i for i in range(100)] * 3)


def test_kernels_and_tensors_are_not_kept(fake):
    xs = arrays()
    kernel = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=BLOCK)
    gone, tensors = weakref.ref(kernel._dispatcher), [weakref.ref(x) for x in xs]
    del xs
    gc.collect()
    assert not any(tensor() is not None for tensor in tensors)
    del kernel
    gc.collect()
    assert gone() is None


def test_without_compiled_code_launches_stay_in_python(fake, slow, monkeypatch):
    monkeypatch.setattr("tri_runtime.native.available", lambda: False)
    xs = arrays()
    kernel = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=BLOCK)
    for i in range(4):
        kernel[(3,)](*xs, N + i, BLOCK=BLOCK)
        assert fake.launches[-1].values[3] == N + i
    assert len(slow) == 6


def succeed():
    """A C function that gives 0 whatever it is given."""
    return ctypes.CDLL("libm.so.6").feclearexcept


def test_launches_leave_nothing_behind(fake, slow):
    fake.entries[b"cuLaunchKernelEx"] = succeed()
    xs = arrays()
    kernel = warm(fresh(fast_launch_kernels.add), *xs, N, BLOCK=BLOCK)
    slow.clear()
    made = kernel[(3,)](*xs, N, BLOCK=BLOCK)
    grid, half = (3,), lambda meta: (meta["n"] // 48,)

    def many(count):
        for _ in range(count):
            kernel[grid](*xs, N, BLOCK=BLOCK)
            kernel[half](*xs, N, BLOCK=BLOCK)

    many(100)
    watched = (made, *xs, torch.Tensor, kernel._dispatcher, grid, half, N, None, "add")
    before = [sys.getrefcount(each) for each in watched]
    tracemalloc.start()
    try:
        many(100)
        first = tracemalloc.get_traced_memory()[0]
        many(10_000)
        grown = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    after = [sys.getrefcount(each) for each in watched]
    assert not slow
    assert grown < 20_000
    assert all(abs(a - b) <= 8 for a, b in zip(after, before, strict=True)), list(
        zip(before, after, strict=True)
    )


#: calls of Python functions in one launch, and the most calls of C functions from Python, as measured
PYTHON_CALLS, C_CALLS = 1, 3


@pytest.mark.parametrize("which", ["add", "matmul"])
def test_what_a_launch_costs(fake, which):
    """``__getitem__`` in Python; ``ContextVar.get``, the launch and ``sys.setprofile`` in C: the rest is compiled."""
    kernel, xs = fresh(getattr(fast_launch_kernels, which)), arrays()
    fake.entries[b"cuLaunchKernelEx"] = succeed()
    numbers, block = ([N], "BLOCK") if which == "add" else (range(16, 27), "B")
    fake.signature = ()
    warm(kernel, *xs, *numbers, **{block: BLOCK})
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    kernel[(3,)](*xs, *numbers, **{block: BLOCK})
    sys.setprofile(None)
    assert seen.count("call") == PYTHON_CALLS
    assert seen.count("c_call") <= C_CALLS


# --- tensors whose memory is not what a kernel would read ----------------------------------------------------


def test_a_tensor_whose_storage_was_freed_is_refused(fake, ready, slow):
    kernel, (x, y, out) = ready
    launched = len(fake.launches)
    whole = torch.zeros(2 * N)
    view = whole[N:]
    kernel[(3,)](view, y, out, N, BLOCK=BLOCK)
    assert not slow
    whole.untyped_storage().resize_(0)
    x.untyped_storage().resize_(0)
    for freed in (x, view):
        with pytest.raises(LaunchError, match="storage of 0"):
            kernel[(3,)](freed, y, out, N, BLOCK=BLOCK)
    assert len(fake.launches) == launched + 1


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("shape", [(N,), (2, 3), (1,), ()], ids=str)
def test_the_negative_bit_is_refused_and_its_like_is_not(fake, slow, shape, dtype):
    z = torch.ones(shape, dtype=dtype)
    out = torch.zeros(N)
    kernel = fresh(fast_launch_kernels.add)
    warm(kernel, z.imag, out, out, N, BLOCK=BLOCK)
    kernel[(3,)](z.imag, out, out, N, BLOCK=BLOCK)
    launched = len(fake.launches)
    for negated in (z.conj().imag, z.conj().imag.reshape(-1), z.conj().imag.view(-1)[:1]):
        assert negated.is_neg() or negated.numel() == 0
        with pytest.raises(LaunchError, match="negative bit"):
            kernel[(3,)](negated, out, out, N, BLOCK=BLOCK)
    assert len(fake.launches) == launched


def test_tensors_at_odd_elements_are_launched_by_compiled_code(fake, ready, slow):
    kernel, (_, y, out) = ready
    odd = torch.zeros(N + 1)[1:]
    warm(kernel, odd, y, out, N, BLOCK=BLOCK)
    slow.clear()
    kernel[(3,)](odd, y, out, N, BLOCK=BLOCK)
    kernel[(3,)](torch.zeros(2, N + 1)[:, 1:], y, out, N, BLOCK=BLOCK)
    assert not slow
