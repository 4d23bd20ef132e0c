from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tri_core.api import DeviceInfo, LaunchError
from tri_runtime.array_interface import read_interface, torch_argument

ARRAY = np.arange(60, dtype=np.float32).reshape(6, 10)


@pytest.mark.parametrize("view", [ARRAY, ARRAY[1:, ::2], ARRAY.T, ARRAY[:0], ARRAY[2, 3]], ids=str)
def test_numpys_own_interface(view: Any) -> None:
    view = np.asarray(view)
    found = read_interface(view.__array_interface__)
    first, last = np.lib.array_utils.byte_bounds(view)
    assert (found.pointer, found.dtype) == (first, "fp32")
    assert found.nbytes == (0 if view.size == 0 else last - first)
    assert found.flag is (not view.flags.writeable)


def test_offsets_and_strides_in_elements() -> None:
    interface = {"typestr": "<i8", "data": (4096, False), "shape": (3, 2), "strides": (10, 1), "offset": 2}
    found = read_interface(interface, strides_in_bytes=False)
    assert (found.pointer, found.dtype, found.nbytes) == (4096 + 16, "i64", (1 + 20 + 1) * 8)


@pytest.mark.parametrize("typestr", ["<c8", ">f4", "|O8"])
def test_other_elements_are_refused(typestr: str) -> None:
    with pytest.raises(LaunchError, match="elements of type"):
        read_interface({"typestr": typestr, "data": (4096, False), "shape": (2,)})


class Tensor:
    """As much of a PyTorch tensor as is read."""

    def __init__(
        self, dtype: str, shape: tuple[int, ...] = (3, 4), strides: tuple[int, ...] = (8, 1)
    ) -> None:
        self.dtype, self.shape, self.strides = f"torch.{dtype}", shape, strides

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def data_ptr(self) -> int:
        return 4096

    def element_size(self) -> int:
        return 2


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bfloat16", "bf16"),
        ("float32", "fp32"),
        ("int8", "i8"),
        ("uint16", "u16"),
        ("bool", "i1"),
        ("float8_e5m2", "fp8e5"),
    ],
)
def test_tensors(name: str, dtype: str) -> None:
    device = DeviceInfo("made-up", 0, "m1", "made up")
    found = torch_argument(Tensor(name), device)
    assert (found.pointer, found.dtype, found.nbytes) == (4096, dtype, (1 + 16 + 3) * 2)
    assert found.device is device


def test_complex_tensors_are_refused() -> None:
    with pytest.raises(LaunchError, match="complex64"):
        torch_argument(Tensor("complex64"), DeviceInfo("made-up", 0, "m1", "made up"))
