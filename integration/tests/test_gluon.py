"""Gluon kernels on the simulators of every vendor, and what the language refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from integration.kernels import gluon as kernels
from tri.experimental import gluon
from tri.experimental.gluon import language as gl
from tri_core.errors import CompilationError, TriError, Unsupported
from tri_core.target_selection import resolve

TARGETS = ("sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc")
NVIDIA = TARGETS[0]
ONE = gl.BlockedLayout([1], [32], [4], [0])
TWO = gl.BlockedLayout([2], [32], [4], [0])
PLAIN = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))
X = np.arange(1024, dtype=np.float32)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def lanes(target: str) -> int:
    return resolve(target).spec.threads_per_warp[0]


def square(target: str) -> Any:
    return gl.BlockedLayout([1, 1], [lanes(target) // 16, 16], [4, 1], [1, 0])


def random(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def run(kernel: Any, *args: Any, size: int = 256, dtype: Any = np.float32, **constants: Any) -> Any:
    """The last array of ``kernel``, run on the first simulator."""
    out = np.zeros(size, dtype)
    with tri.target(NVIDIA):
        kernel[(1,)](*args, out, **constants)
    return out


# --- programs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1000, 1])
def test_vector_add(target: str, n: int) -> None:
    x, y, out = random(n), random(n) * 2, np.full(n, np.nan, np.float32)
    with tri.target(target):
        layout = kernels.row_layout(lanes(target), 4, 2)
        kernels.vector_add[(tri.cdiv(n, 512),)](x, y, out, n, BLOCK=512, layout=layout)
    np.testing.assert_array_equal(out, x + y)


def test_softmax(target: str) -> None:
    x = random(5, 200)
    out = np.full_like(x, np.nan)
    with tri.target(target):
        kernels.softmax[(5,)](x, out, 200, BLOCK=256, layout=kernels.row_layout(lanes(target), 4))
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_layer_norm(target: str) -> None:
    x, weight, bias = random(7, 50), random(50), random(50) + 1
    out = np.full_like(x, np.nan)
    with tri.target(target):
        sizes = {"ROWS": 4, "COLUMNS": 64, "layout": square(target)}
        kernels.layer_norm[(2,)](x, weight, bias, out, 7, 50, 1e-5, **sizes)
    centred = x - x.mean(1, keepdims=True)
    expected = centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "shared",
    [
        gl.SwizzledSharedLayout(1, 1, 8, [1, 0]),
        gl.PaddedSharedLayout.with_identity_for([[32, 1]], [32, 32], [1, 0]),
    ],
    ids=["swizzled", "padded"],
)
def test_transpose_through_shared_memory(target: str, shared: Any) -> None:
    x = random(32, 32)
    out = np.zeros_like(x)
    with tri.target(target):
        kernels.transpose[(1,)](x, out, SIZE=32, layout=square(target), shared=shared)
    np.testing.assert_array_equal(out, x.T)


@gluon.jit
def matrix(x, y, out, N: gl.constexpr, layout: gl.constexpr):
    row = gl.arange(0, N, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    offsets = row[:, None] * N + column[None, :]
    a = gl.convert_layout(gl.load(x + offsets), gl.DotOperandLayout(0, layout, 0))
    b = gl.convert_layout(gl.load(y + offsets), gl.DotOperandLayout(1, layout, 0))
    gl.store(out + offsets, gl.dot_fma(a, b, gl.zeros([N, N], gl.float32, layout)))


def test_dot_fma(target: str) -> None:
    x, y = random(32, 32), random(32, 32) + 1
    out = np.zeros_like(x)
    with tri.target(target):
        matrix[(1,)](x, y, out, N=32, layout=square(target))
    np.testing.assert_allclose(out, x @ y, rtol=1e-4, atol=1e-4)


def test_a_vendors_layouts_come_through_the_plugin_door() -> None:
    shared = gl.NVMMASharedLayout.get_default_for([32, 32], gl.float32)
    assert shared.swizzle_byte_width == 128
    assert gl.nvidia.NVMMASharedLayout is gl.NVMMASharedLayout
    layout = gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8])
    x = random(32, 64)
    out = np.zeros_like(x)
    with tri.target(NVIDIA):
        copied[(1,)](x, out, layout=layout, shared=gl.NVMMASharedLayout(128, 32))
    np.testing.assert_array_equal(out, x)


@gluon.jit
def copied(x, out, layout: gl.constexpr, shared: gl.constexpr):
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    offsets = row[:, None] * 64 + column[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [32, 64], shared, gl.load(x + offsets))
    gl.store(out + offsets, buffer.load(layout))


# --- the language ---------------------------------------------------------------------------------------


@tri.jit
def doubled(value):
    return value * 2 + tl.arange(0, 256)


@gluon.jit
def left_open(x, out, layout: gl.constexpr):
    i = gl.arange(0, 256)
    total = gl.zeros([256], gl.float32)
    for _ in range(3):
        total += gl.load(x + i)
    gl.store(out + gl.arange(0, 256, layout=layout), doubled(gl.set_auto_layout(total, layout)))


def test_open_layouts_follow_from_uses_and_helpers_are_shared() -> None:
    found = run(left_open, X, layout=TWO)
    np.testing.assert_array_equal(found, 6 * X[:256] + np.arange(256))


def test_no_pass_changes_what_the_author_said() -> None:
    layout = gl.BlockedLayout([1], [32], [4], [0])
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    source = gluon.GluonASTSource(kernels.vector_add, signature, {"BLOCK": 512, "layout": layout})
    made = tri.compile(source, NVIDIA)
    text = made.asm["ttgir"]
    assert "convert_layout" not in text
    # the optimizer would load four elements at once
    assert "sizePerThread = [1]" in text
    assert "sizePerThread = [4]" not in text


@gluon.jit
def moved(x, out, layout: gl.constexpr):
    i = gl.arange(0, 256, layout=layout)
    v = gl.load(x + i)
    low, high = gl.split(gl.join(v, v + 1))
    across = gl.reshape(gl.permute(gl.reshape(low, [16, 16]), [1, 0]), [256])
    gl.store(out + i, gl.convert_layout(across, layout) + gl.gather(high, 255 - i, 0))
    gl.atomic_add(out + i, gl.cumsum(v, 0))


def test_shapes_gathers_scans_and_atomics() -> None:
    x = X[:256]
    expected = x.reshape(16, 16).T.ravel() + x[::-1] + 1 + np.cumsum(x)
    np.testing.assert_array_equal(run(moved, X, layout=TWO), expected)


@gluon.jit
def views(x, out, shared: gl.constexpr, layout: gl.constexpr, half: gl.constexpr):
    i = gl.arange(0, 256, layout=layout)
    ring = gl.allocate_shared_memory(gl.float32, [4, 256], shared)
    for k in range(4):
        ring.index(k).store(gl.load(x + k * 256 + i))
    gl.store(out + gl.arange(0, 128, layout=half), ring.index(2).slice(128, 128).load(half))
    bits = ring.index(3).reinterpret(gl.int32).load(layout)
    gl.store(out + 128 + i, bits.to(gl.float32, bitcast=True))
    last = gl.allocate_shared_memory(gl.float32, [256], PLAIN, gl.load(x + i))
    gl.store(out + 384 + i, last.gather(255 - i, 0))
    last.scatter(gl.load(x + i) * 2, 255 - i, 0)
    gl.barrier()
    gl.store(out + 640 + i, last.load(layout))


def test_views_of_shared_memory() -> None:
    found = run(views, X, size=896, shared=PLAIN.value, layout=TWO, half=ONE)
    x = X[:256]
    np.testing.assert_array_equal(found, [*X[640:768], *X[768:], *x[::-1], *(2 * x[::-1])])


@gluon.jit
def answers(out, layout: gl.constexpr, shared: gl.constexpr):
    i = gl.arange(0, 256, layout=layout)
    gl.static_assert(i.type.layout == layout)
    linear: gl.constexpr = gl.to_linear_layout(layout, [256])
    gl.static_assert(linear.reg_bases == ((1,),))
    conflicts: gl.constexpr = gl.bank_conflicts(
        i.type, gl.allocate_shared_memory(gl.int32, [256], shared).type
    )
    gl.store(out + i, i * 0 + conflicts + 10 * gl.num_warps())


def test_questions_at_compile_time() -> None:
    assert set(run(answers, dtype=np.int32, layout=TWO, shared=PLAIN.value)) == {40}
    strided = gl.SharedLinearLayout([[128], [64], [32], [16], [8], [4], [2], [1]])
    assert run(answers, dtype=np.int32, layout=TWO, shared=strided)[0] > 40


# --- what is refused ------------------------------------------------------------------------------------


@gluon.jit
def added(out, a: gl.constexpr, b: gl.constexpr):
    gl.store(out + gl.arange(0, 256, layout=a), gl.arange(0, 256, layout=a) + gl.arange(0, 256, layout=b))


def test_equal_layouts_may_have_two_names() -> None:
    same = gl.DistributedLinearLayout([[128]], [[1], [2], [4], [8], [16]], [[32], [64]], [], [256])
    np.testing.assert_array_equal(run(added, dtype=np.int32, a=ONE, b=same), 2 * np.arange(256))


def test_a_mismatch_says_both_layouts_an_element_and_the_remedy() -> None:
    with pytest.raises(CompilationError) as caught:
        run(added, dtype=np.int32, a=ONE, b=TWO)
    text = str(caught.value)
    for words in (str(ONE), str(TWO), "element [1] is in register", "gl.convert_layout", "test_gluon.py"):
        assert words in text


@gluon.jit
def expanded(out, layout: gl.constexpr):
    gl.store(out, gl.sum(gl.sum(gl.arange(0, 16, layout=layout)[None, :], 1), 0))


@gluon.jit
def undetermined(out):
    i = gl.arange(0, 256)
    gl.store(out + i, i)


@gluon.jit
def sliced(out, start: gl.constexpr):
    gl.allocate_shared_memory(gl.int32, [256], PLAIN).slice(start, 64)


@gluon.jit
def indexed(out, index: gl.constexpr):
    gl.allocate_shared_memory(gl.int32, [4, 256], PLAIN).index(index)


@gluon.jit
def allocated(out, layout: gl.constexpr):
    gl.allocate_shared_memory(gl.int32, [16, 16], layout)


@gluon.jit
def later(out):
    gl.inline_asm("", [])


BAD: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (added, {"a": ONE, "b": ONE, "num_warps": 8}, "has 4 warps; the kernel has 8"),
    (
        added,
        {"a": gl.BlockedLayout([1], [64], [4], [0]), "b": ONE},
        "has 64 threads per warp; the kernel has 32",
    ),
    (added, {"a": gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0]), "b": ONE}, "does not fit|rank 2"),
    (added, {"a": PLAIN.value, "b": ONE}, "layout of tensors in registers"),
    (expanded, {"layout": ONE}, "a SliceLayout along 0 is expected"),
    (undetermined, {}, "nothing determines the layout"),
    (sliced, {"start": 32}, "is not an aligned part"),
    (sliced, {"start": 256}, "is not an aligned part"),
    (indexed, {"index": 4}, "index 4 is out of range"),
    (allocated, {"layout": gl.SharedLinearLayout([[1, 0], [2, 0]])}, "leaves out elements|does not fit"),
    (allocated, {"layout": ONE}, "one of shared memory"),
    (later, {}, "inline_asm is not built"),
]


@pytest.mark.parametrize(("kernel", "constants", "words"), BAD)
def test_bad_input_is_a_located_error(kernel: Any, constants: dict[str, Any], words: str) -> None:
    with pytest.raises(TriError, match=words) as caught:
        run(kernel, dtype=np.int32, **constants)
    assert caught.value.location is not None
    assert caught.value.remedy


def test_layouts_are_checked_when_they_are_made() -> None:
    with pytest.raises(CompilationError, match="powers of two"):
        gl.BlockedLayout([3], [32], [4], [0])
    with pytest.raises(CompilationError, match="dimension 2 of a parent of rank 1"):
        gl.SliceLayout(2, ONE)
    with pytest.raises(CompilationError, match="powers of two"):
        gl.PaddedSharedLayout([[3, 1]], [[1]], [], [2])


@tri.jit
def plain(out, layout: tl.constexpr):
    tl.store(out + gl.arange(0, 256, layout=layout), 1)


def test_other_kernels_have_no_layouts() -> None:
    with pytest.raises(CompilationError, match="is for Gluon kernels"):
        run(plain, dtype=np.int32, layout=ONE)


def test_targets_without_warps() -> None:
    with pytest.raises(Unsupported, match="which has no warps"), tri.target("cpu"):
        undetermined[(1,)](np.zeros(256, np.int32))


def test_kernels_are_not_interpreted() -> None:
    with pytest.raises(Unsupported, match="in an interpreted kernel"), tri.interpret():
        undetermined[(1,)](np.zeros(256, np.int32))


def test_views_are_drawn() -> None:
    layout = gl.BlockedLayout([1, 1], [4, 8], [1, 1], [1, 0])
    assert "31" in layout.format_tensor_view([4, 8])
    assert layout.format_hardware_view([4, 8]) != layout.format_tensor_view([4, 8])


def test_under_tritons_name() -> None:
    import tri.compat.triton as compat

    with compat.installed():
        from triton.experimental import gluon as theirs
        from triton.experimental.gluon import language as names

        assert theirs.jit is gluon.jit
        assert names.arange is gl.arange
        assert names.BlockedLayout is gl.BlockedLayout
        with pytest.raises(ImportError, match="not there yet"):
            from triton.experimental.gluon.language import intel  # noqa: F401
        from triton.experimental.gluon.language.nvidia.hopper import tma
        from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

        assert tma.async_load is gl.nvidia.hopper.tma.async_load
        assert TensorDescriptor is gluon.nvidia.hopper.TensorDescriptor
