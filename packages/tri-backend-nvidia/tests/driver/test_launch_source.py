"""From a kernel's source to the driver's call: streams, attributes and devices, on the fake driver of two GPUs."""

from __future__ import annotations

import ctypes
import gc
import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import tri
from launch_kernels import add_one
from nvidia_fake_driver import forget, install
from tri.compat import triton as compat
from tri.launch import dispatcher
from tri_core.api import LaunchError, OutOfResources
from tri_runtime import registry

ADDRESS = {0: 1 << 40, 1: 1 << 41}
GRID = (4,)


class Array:
    """In memory of a device that its address tells."""

    def __init__(self, device=0):
        self.device = device

    @property
    def __cuda_array_interface__(self):
        return {"typestr": "<f4", "shape": (1000,), "data": (ADDRESS[self.device], False), "version": 3}


@pytest.fixture
def fake(monkeypatch):
    made = install(monkeypatch, count=2)
    made.signature = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int32)
    made.ordinal = lambda pointer: int(pointer >= 1 << 41)
    registry.forget()
    dispatcher.forget()
    yield made
    registry.forget()
    dispatcher.forget()
    gc.collect()
    forget()


def launched(kernel, device=0, **options):
    x = Array(device)
    return kernel[GRID](x, x, 1000, BLOCK=256, DEPENDENT=True, **options)


def test_everything_a_launch_says_reaches_the_driver(fake):
    stream = SimpleNamespace(cuda_stream=77, device_index=0)
    launched(add_one, launch_pdl=True, launch_cooperative_grid=True, stream=stream)
    launched(add_one)
    first, second = fake.launches
    assert (first.stream, first.attributes) == (77, {2: 1, 6: 1})
    assert (second.stream, second.attributes) == (None, {})
    assert first.values == second.values == (ADDRESS[0], ADDRESS[0], 1000)
    assert (first.grid, first.block) == ((4, 1, 1), (128, 1, 1))


def test_another_stream_is_no_other_kernel(fake):
    for stream in (5, 6, None):
        launched(add_one, stream=stream)
    assert [seen.stream for seen in fake.launches] == [5, 6, None]
    assert len(fake.called("cuModuleLoadData")) == 1


def test_launches_go_where_their_arguments_are(fake):
    for device in (1, 0, 1):
        launched(add_one, device)
    assert [seen.context for seen in fake.launches] == [101, 100, 101]
    assert len(fake.called("cuModuleLoadData")) == 2
    with pytest.raises(LaunchError, match="several devices: cuda:0, cuda:1"):
        add_one[GRID](Array(0), Array(1), 1000, BLOCK=256, DEPENDENT=False)
    with pytest.raises(LaunchError, match="stream= is of cuda:0, the arguments are on cuda:1") as caught:
        launched(add_one, 1, stream=SimpleNamespace(cuda_stream=77, device_index=0))
    assert caught.value.location.file == __file__
    assert len(fake.launches) == 3


def test_a_cooperative_grid_that_is_too_large(fake):
    with pytest.raises(OutOfResources, match="13 CTAs; Fake GPU holds 12"):
        add_one[(13,)](Array(), Array(), 1000, BLOCK=256, DEPENDENT=False, launch_cooperative_grid=True)
    assert not fake.launches


def test_kernels_of_triton_take_the_same_keywords(fake):
    with compat.installed():
        triton = importlib.import_module("triton")
    kernel = triton.jit(add_one.fn)
    launched(kernel, launch_pdl=True, launch_cooperative_grid=True, num_warps=8, stream=77)
    (seen,) = fake.launches
    assert (seen.stream, seen.attributes, seen.block) == (77, {2: 1, 6: 1}, (256, 1, 1))
    configs = [triton.Config({"BLOCK": 256, "launch_pdl": flag}) for flag in (False, True)]
    tuned = triton.autotune(configs, key=["n"], do_bench=lambda call, quantiles: [call() or 1.0] * 3)(kernel)
    tuned[GRID](Array(), Array(), 1000, DEPENDENT=True, stream=66)
    assert [seen.stream for seen in fake.launches[1:]] == [66, 66, 66]
    assert [seen.attributes for seen in fake.launches[1:3]] == [{}, {6: 1}]


def test_a_configuration_that_is_not_resident_is_skipped(fake):
    configs = [tri.Config({"BLOCK": block}) for block in (64, 256)]
    tuned = tri.autotune(configs, key=["n"], warmup=0, rep=1)(add_one)
    kernel = tuned[lambda meta: (tri.cdiv(1000, meta["BLOCK"]),)](
        Array(), Array(), 1000, DEPENDENT=False, launch_cooperative_grid=True
    )
    assert tuned.best_config.kwargs == {"BLOCK": 256}
    (failed,) = tuned.failures.values()
    assert (failed.resource, failed.need, failed.have) == ("resident_ctas", 16, 12)
    assert kernel.metadata.options["launch_cooperative_grid"] is True


# --- arrays in host memory ------------------------------------------------------------------------------


def pinned(fake, count=1000, nbytes=None):
    """An array of the host that devices read 2**44 bytes away, ``nbytes`` of it (None: all)."""
    x = np.zeros(count, np.float32)
    fake.pinned[x.ctypes.data] = x.nbytes if nbytes is None else nbytes
    fake.apart = 1 << 44
    return x


def test_pinned_arrays_are_read_in_place(fake):
    """Beside an array of a device, on its stream; at every launch by an address that the driver is asked for."""
    x, stream = Array(1), SimpleNamespace(cuda_stream=77, device_index=1)
    seen = []
    for y in (pinned(fake), pinned(fake), pinned(fake)):
        add_one[GRID](x, y, 1000, BLOCK=256, DEPENDENT=True)
        seen.append((ADDRESS[1], y.ctypes.data + fake.apart, 1000))
    assert [launch.values for launch in fake.launches] == seen
    kernel = add_one[GRID](x, pinned(fake), 1000, BLOCK=256, DEPENDENT=True, stream=stream)
    assert fake.launches[-1].stream == 77
    kernel[GRID](x, y, 1000)
    assert fake.launches[-1].values == seen[-1]


def test_pinned_arrays_alone(fake):
    x = pinned(fake)
    with tri.target("nvidia:sm_90a"):
        add_one[GRID](x, x, 1000, BLOCK=256, DEPENDENT=True)
    assert fake.launches[-1].values == (x.ctypes.data + fake.apart,) * 2 + (1000,)


@pytest.mark.parametrize("nbytes", [0, 4, 3999])
def test_arrays_that_are_not_pinned_to_the_end(fake, nbytes):
    x = pinned(fake, nbytes=nbytes)
    for _ in range(3):
        with pytest.raises(
            LaunchError, match="add_one got an array in host memory, which nvidia:sm_90a cannot read"
        ) as caught:
            add_one[GRID](Array(), x, 1000, BLOCK=256, DEPENDENT=True)
        assert "pin_memory()" in caught.value.remedy
        assert caught.value.location.file == __file__
    assert not fake.launches
    fake.pinned[x.ctypes.data] = x.nbytes
    add_one[GRID](Array(), x, 1000, BLOCK=256, DEPENDENT=True)
    assert fake.launches
