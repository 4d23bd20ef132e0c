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


@tri.jit
def too_imprecise_if_converted():
    a = tl.zeros((32, 32), tl.float8e4b15)
    tl.dot(a, a, max_num_imprecise_acc=33)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (odd_range, "arange's range must be a power of 2"),
        (odd_shape, "Shape element 1 must be a power of 2"),
        (too_imprecise, "max_num_imprecise_acc (33) must be <= K (32)"),
        (too_imprecise_if_converted, "max_num_imprecise_acc (33) must be <= K (32)"),
    ],
)
def test_what_a_builtin_refuses_is_the_cause(kernel: tri.JITFunction, words: str) -> None:
    with compat.installed(), pytest.raises(CompilationError) as caught:
        kernel.warmup(grid=(1,))
    assert str(caught.value.__cause__) == words
    with pytest.raises(CompilationError) as caught:
        kernel.warmup(grid=(1,))
    assert caught.value.__cause__ is None


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


@tri.jit
def leaves_a_loop(n):
    for _ in range(n):
        return


@tri.jit
def unpacks_too_many():
    a, b = (1, 2, 3)  # noqa: F841


@tri.jit
def unpacks_too_few():
    a, b, c = (1, 2)  # noqa: F841


@tri.jit
def unpacks_a_number():
    [a + b for a, b in (1, 2)]


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (unpacks_too_many, "too many values to unpack"),
        (unpacks_too_few, r"not enough values to unpack \(expected 3, got 2\)"),
        (unpacks_a_number, "cannot unpack non-iterable value"),
    ],
)
def test_unpacking_refuses_in_pythons_words(kernel: tri.JITFunction, words: str) -> None:
    with pytest.raises(CompilationError, match=words):
        kernel.warmup(grid=(1,))


def test_a_return_in_a_loop_is_refused_in_tritons_words() -> None:
    with pytest.raises(CompilationError, match="Cannot have `return` statements inside"):
        leaves_a_loop.warmup(4, grid=(1,))


def test_aggregates_refuse_in_tritons_words() -> None:
    @tri.aggregate
    class Step:
        width: tl.constexpr

    class Plain:
        pass

    with pytest.raises(AttributeError, match="cannot assign to field 'width' on immutable aggregate"):
        Step(4).width = tl.constexpr(8)
    with pytest.raises(TypeError, match="Aggregates can only inherit from other aggregates"):

        @tri.aggregate
        class Wrong(Plain):
            width: tl.constexpr


@tri.jit
def names_in_a_condition():
    x: tl.constexpr
    if (x := 16) > 8:
        tl.static_assert(x == 16)
    else:
        tl.static_assert(False)


def test_a_named_expression_keeps_to_what_was_declared() -> None:
    names_in_a_condition.warmup(grid=(1,))


def test_functions_marked_by_tritons_core_get_constexprs() -> None:
    with compat.installed():
        core = importlib.import_module("triton.language.core")

        @core.builtin
        def is_known(value, _semantic=None):
            return isinstance(value, tl.constexpr) and value.value == 3

        @tri.jit
        def asks(pair):
            tl.static_assert(is_known(3))
            tl.static_assert(is_known(pair[0]))
            tl.static_assert(not is_known(pair[1]))

        asks.warmup((tl.constexpr(3), 5), grid=(1,))


@tri.jit
def either_of(a, b, c):
    if c:
        return b
    return a


@tri.jit
def by_a_call(out, given: tl.const, n):
    tl.store(either_of(out, given, n), 1.0)


@tri.jit
def by_a_branch(out, given: tl.const, n):
    if n:  # noqa: SIM108 the statement is what is meant
        final = given
    else:
        final = out
    tl.store(final, 1.0)


@tri.jit
def by_an_expression(out, given: tl.const, n):
    tl.store(given if n else out, 1.0)


@tri.jit
def by_a_loop(out, given: tl.const, n):
    final = 1
    for _ in range(n):
        final = final + 0.5
    tl.store(out, final)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (by_a_call, "Return type mismatch: const_pointer<fp32> and pointer<fp32>"),
        (
            by_a_branch,
            "Mismatched type for final between then block (const_pointer<fp32>) and else block (pointer<fp32>)",
        ),
        (
            by_an_expression,
            "Ternary expression with dynamic condition has inconsistent types const_pointer<fp32> and pointer<fp32>",
        ),
        (
            by_a_loop,
            "Loop-carried variable final has initial type int32 but is re-assigned to fp32 in loop",
        ),
    ],
)
def test_types_that_differ_by_the_path_are_said_in_tritons_words(kernel: tri.JITFunction, words: str) -> None:
    with pytest.raises(CompilationError) as caught:
        kernel.warmup(tl.float32, tl.float32, 5, grid=(1,))
    assert words in caught.value.error_message
