"""What the code of users' objects raises while a launch reads them: typed errors with the parameter and the cause."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import LaunchError, OptionError


@tri.jit
def kernel(x, y, C: tl.constexpr = 1):
    tl.store(y, tl.load(x) + C)


@tri.jit
def converted(x, y, DT: tl.constexpr):
    tl.store(y, tl.load(x).to(DT))


class Gone:
    """An array whose export fails."""

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise BufferError("the memory is freed")

    def __dlpack_device__(self) -> Any:
        return 1, 0


class Strange(float):
    """A number whose value cannot be asked for."""

    def __float__(self) -> float:
        raise KeyError("no value")


class Unhashable:
    """A constexpr whose hash fails in its own way."""

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


def error_of(*args: Any, **kwargs: Any) -> LaunchError:
    with pytest.raises(LaunchError) as caught:
        kernel[(1,)](*args, **kwargs)
    error: LaunchError = caught.value
    assert error.location.file == __file__
    assert pickle.loads(pickle.dumps(error)).message == error.message
    return error


@pytest.fixture
def out() -> Any:
    return np.zeros(1, np.float32)


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreter"])
def test_an_export_that_fails(out: Any, interpreted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "interpreted", interpreted)
    error = error_of(Gone(), out)
    assert error.message == (
        "argument 'x' of kernel: a Gone was passed to a kernel, and its __dlpack__ raised BufferError: the memory is freed"
    )
    assert isinstance(error.__cause__, BufferError)


@pytest.mark.parametrize("value", [Strange(1), (1, (Strange(1),))], ids=["alone", "in a tuple"])
def test_a_number_that_fails(out: Any, value: Any) -> None:
    error = error_of(value, out)
    assert "argument 'x' of kernel" in error.message
    assert "cannot be read: it raised KeyError: 'no value'" in error.message
    assert isinstance(error.__cause__, KeyError)


def test_a_constexpr_that_fails(out: Any) -> None:
    error = error_of(out, out, C=Unhashable())
    assert "argument 'C' of kernel" in error.message
    assert isinstance(error.__cause__, RuntimeError)


def test_a_sparse_tensor(out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Tensor:
        layout = "torch.sparse_coo"
        dtype = np.dtype(np.float32)
        device = "cpu"

        def data_ptr(self) -> int:
            raise RuntimeError("Cannot access storage of SparseTensorImpl")

    torch = types.ModuleType("torch")
    torch.Tensor = Tensor  # type: ignore[attr-defined]
    torch.nn = types.SimpleNamespace(Parameter=Tensor)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr("tri.launch.arrays._torch_places", {"cpu": None})
    error = error_of(Tensor(), out)
    assert "argument 'x' of kernel: a PyTorch tensor of layout torch.sparse_coo" in error.message
    assert "to_dense" in str(error.remedy)
    assert isinstance(error.__cause__, RuntimeError)


def test_a_real_sparse_tensor(out: Any) -> None:
    torch = pytest.importorskip("torch")
    message = error_of(torch.eye(4).to_sparse(), out).message
    assert "argument 'x' of kernel: a PyTorch tensor of layout torch.sparse_coo" in message


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreter"])
def test_a_grid_function_that_fails(out: Any, interpreted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "interpreted", interpreted)
    with pytest.raises(LaunchError, match="the grid function of kernel raised KeyError: 'M'") as caught:
        kernel[lambda given: (given["M"],)](out, out)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.remedy == "it is called with the arguments by name, which are C, x, y"
    assert caught.value.location.file == __file__


def test_a_dtype_as_a_constexpr_of_a_warm_up() -> None:
    by_name = converted.warmup(tl.float32, tl.float16, DT=tl.float16, grid=(1,))
    assert converted.warmup(tl.float32, tl.float16, tl.float16, grid=(1,)).asm["ttir"] == by_name.asm["ttir"]
    assert "arith.truncf" in by_name.asm["ttir"]
    tuned = tri.heuristics({"DT": lambda args: tl.float16})(converted)
    assert "arith.truncf" in tuned.warmup(tl.float32, tl.float16, grid=(1,)).asm["ttir"]


@pytest.mark.parametrize("value", [{"a": "b"}, ["a"], {"a"}, {"a": [{"b": 1}]}])
def test_options_that_have_no_hash(out: Any, value: Any) -> None:
    with pytest.raises(OptionError, match="'outer_libs' is neither a parameter of kernel nor an option"):
        kernel[(1,)](out, out, outer_libs=value)
