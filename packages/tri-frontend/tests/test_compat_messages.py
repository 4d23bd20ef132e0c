"""What errors, prints and caches say, as code written for Triton reads it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.compat import triton as compat
from tri_core import knobs, plugins
from tri_core.errors import CompilationError, CompileTimeAssertionFailure, KernelFault
from tri_core.plugins import PluginManager, candidate_of


@pytest.fixture(autouse=True)
def _cpu(tmp_path: Path) -> Iterator[None]:
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu)])), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield


@tri.jit
def shifts_a_float():
    x = tl.arange(0, 4)
    x + (1.0 << 1)


@tri.jit
def inner():
    missing_name  # noqa: B018, F821


@tri.jit
def outer():
    # the call stands in the third line
    inner()


@tri.jit
def asserts():
    tl.static_assert(False)


def test_an_error_names_its_place_in_the_function_under_tritons_name_only() -> None:
    with compat.installed(), pytest.raises(CompilationError) as caught:
        shifts_a_float.warmup(grid=(1,))
    with compat.installed():
        assert "at 3:9:" in str(caught.value)
    assert "at 3:9:" not in str(caught.value)


def test_an_error_in_a_callee_is_the_cause_of_the_error_at_the_call() -> None:
    with compat.installed(), pytest.raises(CompilationError) as caught:
        outer.warmup(grid=(1,))
    cause = caught.value.__cause__
    assert isinstance(cause, CompilationError)
    with compat.installed():
        assert "at 2:4:" in str(cause)
        assert "at 3:4:" not in str(cause)
        assert "at 3:4:" in str(caught.value)


def test_without_the_layer_an_error_in_a_callee_is_one_error() -> None:
    with pytest.raises(CompilationError) as caught:
        outer.warmup(grid=(1,))
    assert caught.value.__cause__ is None


def test_an_assertion_of_the_kernel_has_no_cause() -> None:
    with compat.installed(), pytest.raises(CompileTimeAssertionFailure) as caught:
        asserts.warmup(grid=(1,))
    assert caught.value.__cause__ is None


@tri.jit
def odd_range():
    tl.arange(2, 7)


@tri.jit
def odd_shape():
    tl.zeros((4, 33), tl.int32)


@tri.jit
def too_imprecise():
    a = tl.zeros((32, 32), tl.float8e5)
    tl.dot(a, a, max_num_imprecise_acc=33)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (odd_range, "arange's range must be a power of 2"),
        (odd_shape, "Shape element 1 must be a power of 2"),
        (too_imprecise, "max_num_imprecise_acc (33) must be <= K (32)"),
    ],
)
def test_what_a_builtin_refuses_is_the_cause(kernel: tri.JITFunction, words: str) -> None:
    with pytest.raises(CompilationError) as caught:
        kernel.warmup(grid=(1,))
    assert str(caught.value.__cause__) == words


def test_a_captured_number_is_not_defined() -> None:
    captured = 4

    @tri.jit
    def reads():
        tl.arange(0, captured)

    with pytest.raises(CompilationError, match="captured is not defined in the kernel"):
        reads.warmup(grid=(1,))


@tri.jit
def shows(out):
    tl.static_print(tl.zeros((8, 16), tl.int16), tl.program_id(0))


def test_static_print_shows_blocks_in_tritons_words(capsys: pytest.CaptureFixture[str]) -> None:
    shows.warmup(tl.float32, grid=(1,))
    assert capsys.readouterr().out == "int16[constexpr[8], constexpr[16]] int32[]\n"


@tri.jit(debug=True)
def fails(out):
    tl.device_assert(tl.load(out) == 1, "not one")


def test_a_failed_assertion_is_device_side() -> None:
    with pytest.raises(KernelFault, match=r"device-side assert.*not one"):
        fails[(1,)](np.zeros(1, np.int32))


@tri.jit
def copies(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at))


def test_device_caches_have_what_was_warmed_up() -> None:
    assert copies.device_caches[0][0] == {}
    made = copies.warmup(tl.float32, tl.float32, 16, grid=(1,))
    assert list(copies.device_caches[0][0].values()) == [made]
    copies.warmup(tl.float32, tl.float32, 16, grid=(1,))
    assert len(copies.device_caches[0][0]) == 1
    copies.warmup(tl.float32, tl.float32, 32, grid=(1,))
    assert len(copies.device_caches[0][0]) == 2
    copies.device_caches.clear()
    assert copies.device_caches[0][0] == {}
