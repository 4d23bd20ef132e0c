"""``GPUTarget``: Triton's names of targets and tri's mean each other."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tri
import tri.compat.triton as compat
import tri.language as tl
from tri_core.errors import TargetError

#: a target of tri, and what Triton calls it
NAMES = {
    "nvidia:sm_80": ("cuda", 80, 32),
    "nvidia:sm_90a": ("cuda", 90, 32),
    "nvidia:sm_100a": ("cuda", 100, 32),
    "amd:gfx942": ("hip", "gfx942", 64),
    "amd:gfx1100": ("hip", "gfx1100", 32),
}


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with compat.installed():
        yield


def module(name: str) -> Any:
    return importlib.import_module(name)


@tri.jit
def double(x_ptr: Any, B: tl.constexpr) -> None:
    i = tl.arange(0, B)
    tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_of_triton_is_the_one_with_all_features(name: str) -> None:
    target = module("triton.backends.compiler").GPUTarget(*NAMES[name])
    source = module("triton.compiler").ASTSource(double, {"x_ptr": "*fp32", "B": "constexpr"}, {"B": 64})
    kernel = module("triton").compile(source, target=target)
    assert str(kernel.metadata.target) == name


@pytest.mark.parametrize("name", NAMES)
def test_the_target_in_use_is_taken_back(name: str) -> None:
    active = module("triton.runtime").driver.active
    with tri.target(name):
        given = active.get_current_target()
        assert given == module("triton.backends.compiler").GPUTarget(*NAMES[name])
        backend = module("triton.compiler").make_backend(given)
    assert type(backend).supports_target(given)
    assert backend.hash().endswith(name) or name in backend.hash()
    assert backend.parse_options({"num_warps": 8}).num_warps == 8


def test_an_architecture_that_there_is_not_is_refused() -> None:
    with pytest.raises(TargetError, match="12"):
        module("triton.compiler").make_backend(module("triton.backends.compiler").GPUTarget("cuda", 12, 32))


class Rows:
    """A NumPy array with what a PyTorch tensor has."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self, dim: int | None = None) -> Any:
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if dim is None else strides[dim]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    "target", ["cpu", "sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc"]
)
def test_slices_of_different_lengths(target: str, debug: bool) -> None:
    """Their descriptors reach over more than any memory, and come back by addresses modulo 2**64."""
    ragged = module("triton.tools.ragged_tma")
    load, store, add = ragged.load_ragged, ragged.store_ragged, ragged.atomic_add_ragged

    @tri.jit
    def copy(X: Any, Y: Any, x_off: Any, y_off: Any, x_size: Any, y_size: Any) -> None:
        rows = load(X, x_off, x_size, [0, 0])
        store(Y, y_off, y_size, [0, 0], rows)
        add(Y, y_off, 1, [0, 0], rows)

    x = np.arange(1024 * 80, dtype=np.float32).reshape(1024, 80)
    y = -x
    expected = y.copy()
    expected[51:75] = 0
    expected[51:68] = x[42:59]
    expected[51] += x[42]
    with tri.target(target):
        made = [ragged.create_ragged_descriptor(Rows(array), [32, 128]) for array in (x, y)]
        copy[(1,)](*made, 42, 51, 17, 24, debug=debug)
    np.testing.assert_array_equal(y, expected)
