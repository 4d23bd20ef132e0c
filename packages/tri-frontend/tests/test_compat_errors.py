"""Errors and results of operations as Triton's users expect them: classes, words, types of dots."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.compat import triton as compat
from tri.tools.tensor_descriptor import TensorDescriptor as Descriptor
from tri_core import knobs, plugins
from tri_core.errors import CompilationError, CompileTimeAssertionFailure, DeviceError, TriError, Unsupported
from tri_core.plugins import PluginManager, candidate_of


@pytest.fixture(autouse=True)
def _fake_backend(tmp_path: Path) -> Iterator[None]:
    """Not the fake one: the CPU's."""
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu)])), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield


@tri.jit
def add_through_descriptor(x_ptr):
    desc = tl.make_tensor_descriptor(x_ptr, [16, 16], [16, 1], [16, 16])
    desc.atomic_or([0, 0], tl.zeros([16, 16], tl.float32))


def test_what_is_unsupported_in_the_source_is_a_compilation_error() -> None:
    with pytest.raises(CompilationError, match="atomic_or through a descriptor of fp32") as caught:
        add_through_descriptor[(1,)](np.zeros((16, 16), np.float32))
    assert isinstance(caught.value, Unsupported)
    assert caught.value.location is not None
    assert caught.value.error_message == caught.value.message


def test_errors_of_drivers_are_runtime_errors() -> None:
    assert issubclass(DeviceError, RuntimeError)


@tri.jit
def bits_of_a_float(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) & 1)


@tri.jit
def mixed_remainder(x_ptr, y_ptr):
    tl.store(x_ptr, tl.load(x_ptr) % tl.load(y_ptr))


def test_words_that_people_look_for() -> None:
    with pytest.raises(CompilationError, match="invalid operands of type"):
        bits_of_a_float[(1,)](np.zeros(1, np.float32))
    with pytest.raises(CompilationError, match=r"Cannot use .* because they have different signedness"):
        mixed_remainder[(1,)](np.ones(1, np.int32), np.ones(1, np.uint32))


GLOBAL = 3


@tri.jit
def wrong(x_ptr, KIND: tl.constexpr):
    i = tl.arange(0, 16)
    if KIND == 0:
        tl.arange(0, 12)
    elif KIND == 1:
        tl.zeros([16, 3], tl.int32)
    elif KIND == 2:
        tl.program_id(20)
    elif KIND == 3:
        tl.expand_dims(i, -3)
    elif KIND == 4:
        tl.expand_dims(i, [0, -3])
    elif KIND == 5:
        i[10:]
    elif KIND == 6:
        i + 0xFFFFFFFFFFFF
    elif KIND == 7:
        tl.make_tensor_descriptor(x_ptr, [8, 2], [2, 1], [8, 2])
    elif KIND == 8:
        tl.store(x_ptr, GLOBAL)
    else:
        tl.static_assert(KIND == 0, "KIND is not 0")


@tri.jit
def draw(x_ptr, seed):
    tl.store(x_ptr, tl.rand(seed, tl.program_id(0)))


@pytest.mark.parametrize("seed", [2.3, np.zeros(1, np.int32)])
def test_a_seed_is_an_integer(seed: object) -> None:
    x = np.zeros(1, np.float32)
    draw[(1,)](x, 3)
    with pytest.raises(CompilationError, match="a seed is an integer"):
        draw[(1,)](x, seed)


@tri.jit
def store_constant(x_ptr: tl.const):
    tl.store(x_ptr, 1)


#: what Triton 3.9 says; the functions of its language say the first ones
_BUILTINS = (
    "arange's range must be a power of 2",
    "Shape element 1 must be a power of 2",
    "program_id axis must be 0, 1, or 2 but got 20",
    "invalid axis -3",
    "duplicate axes, normalized axes = [0, 0]",
)
_OTHERS = (
    "unsupported tensor index",
    "Scalar 281474976710655 is out of range for type int32",
    "Descriptor block shape must have at least 16 bytes in the last dimension, but got 2 * 4 = 8 bytes",
    "Cannot access global variable GLOBAL",
    "KIND is not 0",
)


@pytest.mark.parametrize(("kind", "words"), list(enumerate((*_BUILTINS, *_OTHERS))))
def test_refusals_have_the_words_of_triton(kind: int, words: str) -> None:
    with compat.installed(), pytest.raises(CompilationError) as caught:
        wrong[(1,)](np.zeros(16, np.float32), KIND=kind)
    assert words in caught.value.error_message
    if kind < len(_BUILTINS):
        assert isinstance(caught.value.__cause__, ValueError)
        assert str(caught.value.__cause__) == caught.value.error_message
    assert isinstance(caught.value, CompileTimeAssertionFailure) == (words == "KIND is not 0")
    if words == "KIND is not 0":
        assert caught.value.__cause__ is None


def test_a_constant_pointer_is_not_stored_through() -> None:
    with pytest.raises(CompilationError, match="Cannot store to a constant pointer"):
        store_constant[(1,)](np.zeros(1, np.float32))


@tri.jit
def multiply(out_ptr, x_ptr, y_ptr, OUT: tl.constexpr):
    i = tl.arange(0, 16)
    place = i[:, None] * 16 + i[None, :]
    tl.store(out_ptr + place, tl.dot(tl.load(x_ptr + place), tl.load(y_ptr + place), out_dtype=OUT))


@pytest.mark.parametrize(
    ("operand", "asked", "given"),
    [
        (np.int8, tl.int8, np.int32),
        (np.float64, tl.float32, np.float64),
        (np.float32, tl.float16, np.float32),
        (np.float16, tl.float16, np.float16),
    ],
)
def test_operands_decide_the_type_of_a_dot(operand: type, asked: tl.dtype, given: type) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-8, 8, (16, 16)).astype(operand) for _ in range(2))
    out = np.zeros((16, 16), given)
    compiled = multiply[(1,)](out, x, y, OUT=asked)
    np.testing.assert_array_equal(out, (x.astype(np.float64) @ y.astype(np.float64)).astype(given))
    names = {np.int32: "i32", np.float64: "f64", np.float32: "f32", np.float16: "f16"}
    assert f"-> tensor<16x16x{names[given]}>" in compiled.asm["ttir"]


@tri.jit
def multiply_batches(out_ptr, x_ptr, y_ptr):
    i = tl.arange(0, 2 * 2 * 16 * 16)
    x = tl.reshape(tl.load(x_ptr + i), [2, 2, 16, 16])
    y = tl.reshape(tl.load(y_ptr + i), [2, 2, 16, 16])
    acc = tl.full([2, 2, 16, 16], 1.0, tl.float32)
    tl.store(out_ptr + i, tl.reshape(tl.dot(x, y, acc), [2 * 2 * 16 * 16]))


def test_a_dot_has_several_dimensions_of_batches() -> None:
    rng = np.random.default_rng(4)
    x, y = (rng.integers(-8, 8, (2, 2, 16, 16)).astype(np.float32) for _ in range(2))
    out = np.zeros_like(x)
    multiply_batches[(1,)](out, x, y)
    np.testing.assert_array_equal(out, x @ y + 1)
    with tri.interpret():
        out = np.zeros_like(x)
        multiply_batches[(1,)](out, x, y)
    np.testing.assert_array_equal(out, x @ y + 1)


# --- errors of the host ---------------------------------------------------------------------------------------


def _autotuned(**given: object) -> object:
    return tri.autotune([tri.Config({"B": 2}), tri.Config({"B": 4})], **given)(constant_store)


@tri.jit
def constant_store(x_ptr, n, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), n)


X = np.zeros((16, 16), np.float32)
#: what Triton raises, and a call that does it
HOST = {
    "a kernel without a grid": (RuntimeError, lambda: constant_store(X, 1, 2)),
    "a function of the language": (ValueError, lambda: tl.load(X)),
    "a loop over tl.range": (RuntimeError, lambda: list(tl.range(0, 4))),
    "a loop over tl.static_range": (RuntimeError, lambda: list(tl.static_range(0, 4))),
    "too few arguments": (TypeError, lambda: constant_store[(1,)](X)),
    "too many arguments": (TypeError, lambda: constant_store[(1,)](X, 1, 2, 3)),
    "an argument given twice": (TypeError, lambda: constant_store[(1,)](X, 1, 2, B=2)),
    "an argument of no kind": (TypeError, lambda: constant_store[(1,)](object(), 1, B=2)),
    "a large integer": (OverflowError, lambda: constant_store[(1,)](X, 1 << 64, B=2)),
    "a small integer": (OverflowError, lambda: constant_store[(1,)](X, -(1 << 63) - 1, B=2)),
    "strides of another rank": (AssertionError, lambda: Descriptor(X, [16], [16, 1], [8])),
    "a block of another rank": (AssertionError, lambda: Descriptor(X, [16, 16], [16, 1], [8])),
    "a block of 12": (ValueError, lambda: Descriptor(X, [16, 16], [16, 1], [12, 8])),
    "a last stride": (AssertionError, lambda: Descriptor(X, [16, 16], [4, 4], [8, 8])),
    "a stride of 12 bytes": (AssertionError, lambda: Descriptor(X, [16, 16], [3, 1], [8, 8])),
    "an empty shape": (AssertionError, lambda: Descriptor(X, [0, 16], [16, 1], [8, 8])),
    "no dimension": (AssertionError, lambda: Descriptor(X, [], [], [])),
    "an unknown padding": (AssertionError, lambda: Descriptor(X, [16, 16], [16, 1], [8, 8], "one")),
    "an unaligned base": (AssertionError, lambda: Descriptor(X.reshape(-1)[1:], [15], [1], [8])),
    "a number reinterpreted": (TypeError, lambda: tri.reinterpret(3, tl.int32)),
    "reset_to_zero": (ValueError, lambda: _autotuned(key=[], reset_to_zero=["no"])),
    "restore_value": (ValueError, lambda: _autotuned(key=[], restore_value=["no"])),
    "a parameter of the configurations": (ValueError, lambda: _autotuned(key=[])[(1,)](X, 1, B=2)),
    "an option": (ValueError, lambda: constant_store[(1,)](X, 1, B=2, num_warps=3)),
}


@pytest.mark.parametrize("what", HOST)
def test_errors_of_the_host_are_of_pythons_classes_too(what: str) -> None:
    kind, call = HOST[what]
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, TriError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, kind)
    assert str(copy) == str(caught.value)


@tri.jit
def too_many_elements(KIND: tl.constexpr):
    i = tl.arange(0, 2048)
    block = tl.zeros([1024, 1024], tl.float32)
    if KIND == "broadcast":
        i[:, None] * i[None, :]
    elif KIND == "rank 4":
        k = tl.arange(0, 64)
        k[:, None, None, None] + k[None, :, None, None] + k[None, None, :, None] + k[None, None, None, :]
    elif KIND == "join":
        tl.join(block, block)
    elif KIND == "cat":
        tl.cat(block.reshape([1 << 20]), block.reshape([1 << 20]), can_reorder=True)
    elif KIND == "dot":
        tl.dot(tl.zeros([2048, 16], tl.float16), tl.zeros([16, 2048], tl.float16))
    else:
        tl.zeros([2048, 1024], tl.float32)


@pytest.mark.parametrize(
    ("kind", "numel"),
    [
        ("broadcast", 1 << 22),
        ("rank 4", 1 << 24),
        ("join", 1 << 21),
        ("cat", 1 << 21),
        ("dot", 1 << 22),
        ("zeros", 1 << 21),
    ],
)
def test_blocks_that_are_too_large_are_refused_in_the_source(kind: str, numel: int) -> None:
    words = f"numel ({numel}) exceeds triton maximum tensor numel (1048576)"
    with compat.installed(), pytest.raises(CompilationError) as caught:
        too_many_elements.warmup(kind, grid=(1,))
    assert caught.value.message.startswith(words)
    assert caught.value.location is not None
    assert caught.value.remedy == "use smaller blocks"
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    assert str(cause) == words
