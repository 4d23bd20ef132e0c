"""``stream=`` at a launch: which stream the runtime is told, through every way to launch a kernel."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.launch import dispatcher
from tri_core import plugins
from tri_core.api import ArrayArgument, FrameworkAdapter, hookimpl
from tri_core.errors import LaunchError, Unsupported
from tri_core.plugins import PluginManager, candidate_of


@tri.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1, mask=i < n)


@tri.jit
def with_a_parameter(x_ptr, stream):
    tl.store(x_ptr, stream)


class Array:
    """On a device; its library's current stream is 77."""

    __fake_array__ = True

    def __init__(self, pointer=0x1000, index=0):
        self.pointer, self.index = pointer, index


class Stream:
    def __init__(self, number):
        self.number = number


@pytest.fixture
def streams(runtime, monkeypatch):
    """The fake runtime with streams, and arrays on its devices: ``current`` lists streams made current."""
    made = ModuleType("tri_stream_plugin")
    made.TRI_PLUGIN_API = (1, 0)
    adapter = FrameworkAdapter(
        name="fake arrays",
        module="nowhere",
        describe=lambda a: ArrayArgument(a.pointer, "fp32", 256, runtime.devices()[a.index]),
        protocol="__fake_array__",
        current_stream=lambda i: 77 + i,
    )
    made.tri_adapters = hookimpl(lambda: [adapter])
    runtime.current = []

    @contextmanager
    def on_stream(stream, device):
        runtime.current.append(stream)
        yield
        runtime.current.append(None)

    def handle(stream, device):
        if not isinstance(stream, (int, Stream)):
            raise LaunchError(f"{stream!r} is no stream")
        return stream if isinstance(stream, int) else stream.number + 1000 * device.index

    monkeypatch.setattr(runtime, "stream_handle", handle, raising=False)
    monkeypatch.setattr(runtime, "on_stream", on_stream, raising=False)
    import tri_fake_backend

    with plugins.use(PluginManager([candidate_of(tri_fake_backend), candidate_of(made)])):
        dispatcher.forget()
        yield runtime


def seen(runtime):
    return [stream for _, _, stream, _ in runtime.launches]


def test_the_runtime_reads_what_a_launch_names(streams):
    for given in (5, Stream(6), 0, None):
        add[(1,)](Array(), Array(), 32, BLOCK=4, stream=given)
    add[(1,)](Array(), Array(), 32, BLOCK=4)
    assert seen(streams) == [5, 6, 0, 77, 77]
    assert len(streams.loads) == 1, "a stream is no option of the compile"


def test_the_stream_is_read_for_the_device_of_the_arguments(streams):
    add[(1,)](Array(index=1), Array(index=1), 32, BLOCK=4, stream=Stream(3))
    assert seen(streams) == [1003]
    assert streams.loads == ["add@1"]


def test_what_is_no_stream_is_refused_where_the_call_stands(streams):
    with pytest.raises(LaunchError, match="'fast' is no stream") as caught:
        add[(1,)](Array(), Array(), 32, BLOCK=4, stream="fast")
    assert caught.value.location.file == __file__
    assert not streams.launches


def test_other_ways_to_launch(streams):
    x = Array()
    kernel = add.run(x, x, 32, BLOCK=4, grid=(1,), stream=Stream(4))
    assert add.warmup(x, x, 32, BLOCK=4, stream=Stream(4)) is kernel
    compiled = tri.compile(add.plan(x, x, 32, BLOCK=4, stream=1)[0], "fake:one")
    compiled[(1,)](x, x, 32, stream=Stream(5))
    compiled[(1,)](x, x, 32)
    tri.heuristics({"BLOCK": lambda args: 4})(add)[(1,)](x, x, 32, stream=8)
    with tri.target("fake:odd"):  # binds by rules of its own
        add[(1,)](x, x, 32, BLOCK=4, stream=9)
    assert seen(streams) == [4, 5, 77, 8, 9]


def test_a_compiled_kernel_goes_to_the_device_of_its_arguments(streams):
    source = add.plan(Array(), Array(), 32, BLOCK=4)[0]
    compiled = tri.compile(source, "fake:one")
    for index in (1, 0, 1):
        compiled[(1,)](Array(index=index), Array(index=index), 32)
    assert streams.loads == ["add@1", "add@0"]
    assert seen(streams) == [78, 77, 78]
    with pytest.raises(LaunchError, match="several devices: fake:0, fake:1"):
        compiled[(1,)](Array(), Array(index=1), 32)


def test_a_parameter_of_that_name_is_the_kernels(streams):
    with_a_parameter[(1,)](Array(), stream=5)
    assert streams.launches == [("with_a_parameter", (1, 1, 1), 77, (0x1000, 5))]


def test_trials_of_autotune_run_on_the_stream(streams):
    configs = [tri.Config({"BLOCK": 4}), tri.Config({"BLOCK": 8})]
    kernel = tri.autotune(configs, key=["n"], warmup=0, rep=1)(add)
    kernel[(1,)](Array(), Array(), 32, stream=Stream(5))
    assert streams.current == [5, None]
    assert seen(streams)[-1] == 5
    # the trials leave it to what is current, which a recorded graph may replace
    assert set(seen(streams)[:-1]) == {77}


def test_trials_of_autotune_are_timed_on_the_device_of_the_arguments(streams, monkeypatch):
    chosen = []
    monkeypatch.setattr(streams, "set_device", chosen.append)
    kernel = tri.autotune([tri.Config({"BLOCK": b}) for b in (4, 8)], key=["n"], warmup=0, rep=1)(add)
    kernel[(1,)](Array(index=1), Array(index=1), 32)
    assert chosen == [1, 0]
    kernel[(1,)](Array(), Array(), 32)
    assert chosen == [1, 0], "that one is current already"
    assert set(streams.loads) == {"add@1", "add@0"}


def test_devices_without_streams_say_so(runtime):
    x = np.zeros(4, np.float32)
    with pytest.raises(Unsupported, match="'fake' device, whose runtime takes no stream") as caught:
        add[(1,)](x, x, 4, BLOCK=4, stream=5)
    assert caught.value.location.file == __file__
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert not runtime.launches
    add[(1,)](x, x, 4, BLOCK=4, stream=None)
    assert len(runtime.launches) == 1


def test_host_arrays_that_are_copied_take_no_stream(streams):
    x = np.zeros(4, np.float32)
    streams.host_memory = "staged"
    with pytest.raises(LaunchError, match="copied around the launch on the current stream"):
        add[(1,)](Array(), x, 32, BLOCK=4, stream=5)
    assert not streams.launches


def test_interpreted_kernels_are_in_order_anyway():
    kernel = tri.jit(add.fn)
    kernel.interpreted = True
    x, y = np.arange(4, dtype=np.float32), np.full(4, np.nan, np.float32)
    kernel[(1,)](x, y, 4, BLOCK=4, stream=5)
    np.testing.assert_array_equal(y, x + 1)
