"""``compiled.run(...)``, by which PyTorch's Inductor launches, goes from Python's call to the driver's; on a driver in Python."""

from __future__ import annotations

import ctypes
import gc
import pickle

import pytest

import fast_launch_kernels
import tri
from nvidia_fake_driver import forget, install
from tri.launch import dispatcher
from tri.launch.arrays import place_of
from tri.launch.hooks import HookChain
from tri_core import knobs
from tri_core.compiler import CompiledKernel
from tri_core.errors import DeviceError, LaunchError
from tri_runtime import registry, runtime
from tri_runtime.native import available, exchange_of

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not available() or exchange_of(torch.Tensor) is None, reason="launches stay in Python here"
)

N, BLOCK = 96, 32
NOTHING = (None,) * 5


@pytest.fixture
def fake(monkeypatch):
    made = install(monkeypatch, 1)
    made.signature = (*[ctypes.c_uint64] * 3, ctypes.c_int32)
    registry.forget()
    device = runtime("cuda").devices()[0]
    monkeypatch.setattr("tri.launch.arrays._torch_places", {torch.device("cpu"): place_of(device)})
    yield made
    dispatcher.forget()
    gc.collect()
    registry.forget()
    forget()


@pytest.fixture
def slow(monkeypatch):
    """The launches that went through Python."""
    seen = []
    launch = CompiledKernel.launch_over

    def counted(self, *given):
        seen.append(self.name)
        return launch(self, *given)

    monkeypatch.setattr(CompiledKernel, "launch_over", counted)
    return seen


@pytest.fixture
def kernel(fake, slow):
    types = dict.fromkeys(("x", "y", "out"), "*fp32") | {"n": "i32"}
    known = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    made = tri.compile(
        tri.ASTSource(fast_launch_kernels.add, types, {"BLOCK": BLOCK}, known), "nvidia:sm_90a"
    )
    made._init_handles()
    return made


def tensors():
    return [torch.zeros(N) for _ in range(3)]


def pointers(*given):
    return tuple(t.data_ptr() for t in given)


@pytest.mark.parametrize("constants", [(BLOCK,), (), (None,)])
def test_launches_after_the_first_are_done_by_compiled_code(fake, kernel, slow, constants):
    run = kernel.run
    for n, stream in ((N, 0), (7, 0), (-1, 0), (1, 5)):
        xs = tensors()
        assert run(n % 3, 2, 1, stream, *NOTHING, *xs, n, *constants) is None
        if n % 3:
            assert fake.launches[-1].values == (*pointers(*xs), n)
            assert (fake.launches[-1].grid, fake.launches[-1].stream or 0) == ((n % 3, 2, 1), stream)
    assert slow == ["add"]
    assert kernel.run is run


def test_launches_over_a_grid_are_the_same(fake, kernel, slow):
    xs = tensors()
    for grid, stream in (((3,), {}), ([2, 2], {}), (4, {"stream": 5}), ((1,), {"stream": 0})):
        kernel[grid](*xs, N, **stream)
    assert [seen.grid for seen in fake.launches] == [(3, 1, 1), (2, 2, 1), (4, 1, 1), (1, 1, 1)]
    assert slow == ["add"]


def test_what_a_plan_refuses_is_refused(kernel, slow):
    xs = tensors()
    for _ in range(2):
        kernel.run(1, 1, 1, 0, *NOTHING, *xs, N)
    with pytest.raises(LaunchError, match="aligned to 16 bytes"):
        kernel.run(1, 1, 1, 0, *NOTHING, torch.zeros(N + 1)[1:], *xs[1:], N)
    with pytest.raises(LaunchError, match="takes 5 arguments"):
        kernel.run(1, 1, 1, 0, *NOTHING, *xs)
    assert len(slow) == 3


def test_what_the_driver_refuses_is_explained(fake, kernel):
    xs = tensors()
    for _ in range(2):
        kernel.run(1, 1, 1, 0, *NOTHING, *xs, N)
    fake.launch_status += [719, 719]
    with pytest.raises(DeviceError, match="add"):
        kernel.run(1, 1, 1, 0, *NOTHING, *xs, N)


def test_hooks_are_called(fake, kernel, slow):
    xs, seen = tensors(), []
    for _ in range(2):
        kernel.run(1, 1, 1, 0, *NOTHING, *xs, N)
    kernel.run(1, 1, 1, 0, None, None, "facts", seen.append, seen.append, *xs, N)
    assert seen == ["facts"] * 2
    assert len(fake.launches) == 3
    assert len(slow) == 2


def test_chains_of_hooks_cost_nothing_while_they_are_empty(fake, kernel, slow):
    xs, seen, enter, leave = tensors(), [], HookChain(), HookChain(reversed=True)

    def launch():
        before = len(slow)
        kernel.run(1, 1, 1, 0, None, None, "facts", enter, leave, *xs, N)
        return len(slow) - before

    assert [launch(), launch(), launch()] == [1, 0, 0]
    for chain in (enter, leave):
        chain.add(seen.append)
        launch()
        chain.remove(seen.append)
    assert seen == ["facts"] * 2
    assert launch() == 0
    assert len(fake.launches) == 6


def test_settings_and_loads_are_looked_at(fake, kernel, slow):
    xs = tensors()

    def launch():
        before = len(slow)
        kernel.run(1, 1, 1, 0, *NOTHING, *xs, N)
        return len(slow) - before

    assert [launch(), launch()] == [1, 0]
    with knobs.scope(LINE_INFO=True):
        assert launch() == 1
    assert launch() == 0
    dispatcher.forget()
    assert [launch(), launch()] == [1, 0], "loaded anew"
    assert len(fake.launches) == 6


def test_other_processes_make_their_own(kernel, slow):
    xs = tensors()
    for _ in range(2):
        kernel.run(1, 1, 1, 0, *NOTHING, *xs, N)
    assert len(slow) == 1
    assert pickle.loads(pickle.dumps(kernel)).state.run is None
    again = kernel.from_source(kernel.src)
    again.run(1, 1, 1, 0, *NOTHING, *xs, N)
    assert len(slow) == 2
