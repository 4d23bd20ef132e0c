"""Tensor descriptors on the CPU target, against NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core.errors import CompilationError, LaunchError, TriError, Unsupported


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def window(x, starts, sizes, padding):
    """The block of ``x`` at ``starts``, padded: the oracle."""
    out = np.full(sizes, padding, x.dtype)
    for place in np.ndindex(*sizes):
        at = tuple(s + p for s, p in zip(starts, place, strict=True))
        if all(0 <= a < n for a, n in zip(at, x.shape, strict=True)):
            out[place] = x[at]
    return out


@tri.jit
def windows(
    x_ptr,
    out_ptr,
    at,
    SHAPE: tl.constexpr,
    STRIDES: tl.constexpr,
    BLOCK: tl.constexpr,
    NAN: tl.constexpr,
    SIZE: tl.constexpr,
):
    desc = tl.make_tensor_descriptor(x_ptr, SHAPE, STRIDES, BLOCK, padding_option="nan" if NAN else "zero")
    tl.static_assert(desc.dtype == x_ptr.dtype.element_ty)
    tl.static_assert(desc.block_shape == BLOCK)
    if len(BLOCK) == 1:
        block = desc.load([at])
    elif len(BLOCK) == 2:
        block = tl.load_tensor_descriptor(desc, [-1, at])
    elif len(BLOCK) == 3:
        block = desc.load([1, -1, at])
    elif len(BLOCK) == 4:
        block = desc.load([1, -1, 0, at])
    else:
        block = desc.load([1, -1, 0, 2, at])
    tl.store(out_ptr + tl.arange(0, SIZE), tl.reshape(block, [SIZE]))


STARTS = {1: (), 2: (-1,), 3: (1, -1), 4: (1, -1, 0), 5: (1, -1, 0, 2)}


@pytest.mark.parametrize("at", [-3, 0, 7])
@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("block", [(16,), (4, 8), (2, 4, 8), (2, 1, 4, 8), (2, 2, 1, 4, 4)])
def test_loads_of_every_rank(rng, block, nan, at):
    shape = (3, 5, 2, 4, 12)[5 - len(block) :]
    x = rng.standard_normal(shape).astype(np.float32)
    strides = tuple(s // 4 for s in x.strides)
    out = np.full(int(np.prod(block)), 9, np.float32)
    windows[(1,)](x, out, at, SHAPE=shape, STRIDES=strides, BLOCK=block, NAN=nan, SIZE=out.size)
    expected = window(x, (*STARTS[len(block)], at), block, np.nan if nan else 0)
    np.testing.assert_array_equal(out.reshape(block), expected)


@tri.jit
def copy_tiles(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out_ptr, [N, M], [M, 1], [BN, BM])
    both = (source, target)
    for i in range(tl.cdiv(M, BM)):
        for j in range(tl.cdiv(N, BN)):
            source, target = both
            target.store([j * BN, i * BM], tl.trans(source.load([i * BM, j * BN])))
            both = (source, target)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64])
def test_a_transposition_in_tiles(rng, dtype):
    x = (100 * rng.standard_normal((48, 80))).astype(dtype)
    out = np.zeros((80, 48), dtype)
    copy_tiles[(1,)](x, out, 48, 80, BM=16, BN=32)
    np.testing.assert_array_equal(out, x.T)


@tri.jit
def load_two(desc, other, i):
    return desc.load([i, 0]) + other.load([i, 0])


@tri.jit
def chosen(x_ptr, y_ptr, out_ptr, which, n, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n, B], [B, 1], [4, B])
    y = tl.make_tensor_descriptor(y_ptr, [n, B], [B, 1], [4, B])
    desc = x
    other = y
    if which > 0:
        desc = y
        other = x
    for i in range(0, n, 4):
        value = load_two(desc, desc, i) - other.load([i, 0]) + desc.shape[0] + desc.strides[0]
        tl.store_tensor_descriptor(tl.make_tensor_descriptor(out_ptr, [n, B], [B, 1], [4, B]), [i, 0], value)
        desc, other = other, desc


@pytest.mark.parametrize("which", [0, 5])
def test_control_flow_and_calls(rng, which):
    x, y = rng.standard_normal((2, 10, 16)).astype(np.float32)
    out = np.zeros_like(x)
    chosen[(1,)](x, y, out, which, 10, B=16)
    first = (np.arange(10) // 4 % 2 == 0) ^ (which > 0)
    a, b = np.where(first[:, None], x, y), np.where(first[:, None], y, x)
    np.testing.assert_allclose(out, 2 * a - b + 10 + 16, rtol=1e-5)


@tri.jit
def rows(x_ptr, out_ptr, rows_ptr, M, N, R: tl.constexpr, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [1, C])
    target = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [1, C])
    where = tl.load(rows_ptr + tl.arange(0, R))
    for j in range(0, N, C):
        target.scatter(source.gather(where, j) * 2, where, j)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_gather_and_scatter(rng, dtype):
    m, n = 20, 24
    x, out = rng.standard_normal((m, n)).astype(np.float32), np.zeros((m, n), np.float32)
    where = rng.permutation(np.arange(-3, m + 4))[:16].astype(dtype)
    rows[(1,)](x, out, where, m, n, R=16, C=16)
    expected = np.zeros_like(x)
    inside = where[(where >= 0) & (where < m)]
    expected[inside] = 2 * x[inside]
    np.testing.assert_array_equal(out, expected)


@tri.jit
def reduces(x_ptr, out_ptr, M, N, OP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out_ptr, [BM - 1, N], [N, 1], [BM, BN])
    i = tl.program_id(0)
    value = source.load([i * BM, 0])
    if OP == "add":
        target.atomic_add([0, 0], value)
    elif OP == "min":
        target.atomic_min([0, 0], value)
    elif OP == "max":
        target.atomic_max([0, 0], value)
    elif OP == "and":
        target.atomic_and([0, 0], value)
    elif OP == "or":
        target.atomic_or([0, 0], value)
    else:
        target.atomic_xor([0, 0], value)


REDUCES = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("op", REDUCES)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64])
def test_reductions_into_memory(rng, op, dtype):
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (32, 12), dtype, endpoint=True)
    out = rng.integers(info.min, info.max, (8, 12), dtype, endpoint=True)
    expected = out.copy()
    for block in x.reshape(4, 8, 12):
        expected[:7] = REDUCES[op](expected[:7], block[:7])
    reduces[(4,)](x, out, 32, 12, OP=op, BM=8, BN=16)
    np.testing.assert_array_equal(out, expected)


def test_a_sum_of_floats_into_memory(rng):
    x, out = rng.standard_normal((32, 12)).astype(np.float32), np.ones((8, 12), np.float32)
    reduces[(4,)](x, out, 32, 12, OP="add", BM=8, BN=16)
    np.testing.assert_allclose(out[:7], 1 + x.reshape(4, 8, 12)[:, :7].sum(0), rtol=1e-5)
    assert (out[7] == 1).all()


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_extrema_of_narrow_floats(rng, op, dtype):
    x, out = (rng.standard_normal(shape).astype(dtype) for shape in ((32, 12), (8, 12)))
    out[:2], x[0], x[9] = np.inf, -np.inf, np.inf
    expected = out.copy()
    for block in x.reshape(4, 8, 12):
        expected[:7] = REDUCES[op](expected[:7], block[:7])
    reduces[(4,)](x, out, 32, 12, OP=op, BM=8, BN=16)
    np.testing.assert_array_equal(out, expected)


@tri.jit
def sized(x_ptr, out_ptr, m: tl.int64, n: tl.uint64, step: tl.int64, WIDE: tl.constexpr):
    if WIDE:
        source = tl.make_tensor_descriptor(x_ptr, [m, n], [step, 1], [8, 16])
    else:
        source = tl.make_tensor_descriptor(x_ptr, [m.to(tl.uint32), 1 << 33], [step, 1], [8, 16])
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 16)[None, :]
    tl.store(out_ptr + i * 16 + j, source.load([-1, 3]))


@pytest.mark.parametrize("rows", [5, 2**31 - 1, 2**31, 2**32 + 5, 2**62])
def test_sizes_of_64_bits(rng, rows):
    """A size that no offset reaches counts as the largest that one does, of whatever type it is."""
    x, out = rng.standard_normal((8, 20)).astype(np.float32), np.full((8, 16), 77, np.float32)
    sized[(1,)](x, out, rows, 14, 20, WIDE=True)
    np.testing.assert_array_equal(out, window(x[:rows, :14], (-1, 3), (8, 16), 0))


def test_unsigned_sizes_of_32_bits(rng):
    x, out = rng.standard_normal((16, 20)).astype(np.float32), np.zeros((8, 16), np.float32)
    sized[(1,)](x, out, 2**32 - 1, 14, 20, WIDE=False)
    expected = window(x, (-1, 3), (8, 16), 0)
    np.testing.assert_array_equal(out[:, :13], expected[:, :13])


# --- errors ---------------------------------------------------------------------------------------------


@tri.jit
def wrong(x_ptr, n, HOW: tl.constexpr):
    if HOW == "stride":
        tl.make_tensor_descriptor(x_ptr, [n, n], [n, 2], [8, 8])
    elif HOW == "narrow":
        tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [8, 2])
    elif HOW == "rows":
        tl.make_tensor_descriptor(x_ptr, [n, n], [7, 1], [8, 8])
    elif HOW == "rank":
        tl.make_tensor_descriptor(x_ptr, [n], [n, 1], [8, 8])
    elif HOW == "padding":
        tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [8, 8], padding_option="one")
    desc = tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [8, 8])
    if HOW == "offsets":
        desc.load([0])
    elif HOW == "wide":
        desc.load([0, tl.full([], 0, tl.int64)])
    elif HOW == "block":
        desc.store([0, 0], tl.zeros([8, 4], tl.float32))
    elif HOW == "atomic":
        desc.atomic_max([0, 0], tl.zeros([8, 8], tl.float32))
    elif HOW == "gather":
        desc.gather(tl.arange(0, 8), 0)
    elif HOW == "attribute":
        desc.offsets  # noqa: B018
    else:
        tl.load_tensor_descriptor(x_ptr, [0, 0])


@pytest.mark.parametrize(("how", "kind", "message"), [
    ("stride", CompilationError, "the last stride of a descriptor is the constexpr 1, got 2"),
    ("narrow", CompilationError, "must have at least 16 bytes"),
    ("rows", CompilationError, r"strides\[0\] is 7 elements, 28 bytes"),
    ("rank", CompilationError, "shape has 1 items; 2 are needed"),
    ("padding", CompilationError, "padding_option is 'one'"),
    ("offsets", CompilationError, "offsets has 1 items; 2 are needed"),
    ("wide", CompilationError, "offset 1 is int64; int32 is needed"),
    ("block", CompilationError, r"takes a block of shape \[8, 8\]"),
    ("atomic", Unsupported, "atomic_max through a descriptor of fp32"),
    ("gather", CompilationError, "needs a descriptor of blocks of one row"),
    ("attribute", CompilationError, "has no attribute 'offsets'"),
    ("pointer", CompilationError, "a tensor descriptor is needed, got pointer<fp32>"),
])  # fmt: skip
def test_errors(how, kind, message, mode):
    python = how == "attribute" and mode == "interpreted"  # an error of Python's own, with its traceback
    with pytest.raises(AttributeError if python else kind, match=message) as error:
        wrong[(1,)](np.zeros((16, 16), np.float32), 16, HOW=how)
    assert python or error.value.location is not None


# --- made on the host -----------------------------------------------------------------------------------


@tri.jit
def matmul(a, b, c, K, scale):
    i, j = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros([a.block_shape[0], b.block_shape[1]], tl.float32)
    for k in range(0, K, a.block_shape[1]):
        acc = tl.dot(a.load([i * a.block_shape[0], k]), b.load([k, j * b.block_shape[1]]), acc)
    c.store([i * c.block_shape[0], j * c.block_shape[1]], (acc * scale).to(c.dtype))


@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 32), (50, 24, 40)])
def test_a_matmul_of_host_made_descriptors(rng, m, n, k, mode):
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)
    descriptors = [
        TensorDescriptor(a, a.shape, [k, 1], [32, 16]),
        TensorDescriptor.from_tensor(b, [16, 16]),
        TensorDescriptor.from_tensor(c, [32, 16]),
    ]
    kernel = matmul[tri.cdiv(m, 32), tri.cdiv(n, 16)](*descriptors, k, 0.5)
    np.testing.assert_allclose(c, 0.5 * (a.astype(np.float64) @ b.astype(np.float64)), rtol=2e-2, atol=2e-2)
    again = matmul[tri.cdiv(m, 32), tri.cdiv(n, 16)](*descriptors, k, 0.5)
    assert again is kernel
    descriptors[0].block_shape = [16, 16]
    descriptors[2].block_shape = [16, 16]
    other = matmul[tri.cdiv(m, 16), tri.cdiv(n, 16)](*descriptors, k, 0.5)
    assert mode == "interpreted" or other is not kernel


@tri.jit
def first_block(before, desc, out_ptr, after, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), desc.load([4]) + before + after + desc.shape[0])


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_padding_of_a_host_made_descriptor(rng, padding):
    x, out = rng.standard_normal(10).astype(np.float32), np.zeros(8, np.float32)
    first_block[(1,)](1, TensorDescriptor.from_tensor(x, [8], padding=padding), out, 100, N=8)
    expected = np.append(x[4:], [0, 0] if padding == "zero" else [np.nan, np.nan]) + 111
    np.testing.assert_allclose(out, expected.astype(np.float32), rtol=1e-5)


def test_descriptors_of_torch_tensors(rng):
    torch = pytest.importorskip("torch")
    x = torch.arange(24.0).reshape(2, 12)[:, 4:]
    out = torch.zeros(8)
    desc = TensorDescriptor.from_tensor(x, [1, 8])
    assert desc.strides == [12, 1]
    first_row[(1,)](desc, out, N=8)
    assert torch.equal(out, x[1])


@tri.jit
def first_row(desc, out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.reshape(desc.load([1, 0]), [N]))


F = np.zeros((16, 16), np.float32)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: TensorDescriptor(F, [16, 16], [16, 1], [8]), "block_shape has 1 items; 2 are needed"),
    (lambda: TensorDescriptor(F, [16, 16], [16, 2], [8, 8]), "the last stride of a descriptor is 1, got 2"),
    (lambda: TensorDescriptor(F, [16, 16], [15, 1], [8, 8]), r"strides\[0\] is 15 elements, 60 bytes"),
    (lambda: TensorDescriptor(F, [16, 16], [16, 1], [8, 12]), "block_shape has 12; powers of two"),
    (lambda: TensorDescriptor(F, [16, 0], [16, 1], [8, 8]), "shape has 0"),
    (lambda: TensorDescriptor(F, [16, 16], [16, 1], [8, 8], "one"), "padding is 'one'"),
    (lambda: TensorDescriptor(F.astype(np.int32), [16, 16], [16, 1], [8, 8], "nan"), "int32 has no NaN"),
    (lambda: TensorDescriptor(F[:, 1:], [16, 15], [16, 1], [8, 8]), "no multiple of 16 bytes"),
    (lambda: TensorDescriptor(F, [], [], []), "1 to 5 dimensions, got 0"),
    (lambda: TensorDescriptor("F", [1], [1], [1]), "the base of a descriptor is a str"),
    (lambda: TensorDescriptor.from_tensor(F.T[:, :], [8, 8]), "the last stride of a descriptor is 1, got 16"),
])  # fmt: skip
def test_what_the_host_refuses(make, message):
    with pytest.raises(LaunchError, match=message):
        make()


def test_signatures_name_descriptors():
    source = tri.ASTSource(
        first_row, {"desc": "tensordesc<fp16[1, 8]>", "out_ptr": "*fp16", "N": "constexpr"}, {"N": 8}
    )
    assert [(p.name, p.type) for p in source.kernel_signature().parameters] == [
        ("desc", "*fp16"), ("desc.shape.0", "i32"), ("desc.shape.1", "i32"), ("desc.stride.0", "i64"), ("out_ptr", "*fp16"),
    ]  # fmt: skip
    assert tri.compile(source, target="cpu").asm["ttir"]


def test_a_compiled_kernel_takes_descriptors(rng):
    x, out = rng.standard_normal((2, 8)).astype(np.float32), np.zeros(8, np.float32)
    arguments = TensorDescriptor.from_tensor(x, [1, 8]), out
    kernel = first_row[(1,)](*arguments, N=8)
    if kernel is None:
        pytest.skip("the interpreter compiles nothing")
    out[:] = 0
    kernel[(1,)](*arguments)
    np.testing.assert_array_equal(out, x[1])


class Pair(NamedTuple):
    desc: Any
    scale: float


@tri.jit
def first_of_pair(pair, out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.reshape(pair.desc.load([1, 0]), [N]) * pair.scale)


def test_a_descriptor_in_a_tuple(rng):
    x, out = rng.standard_normal((2, 8)).astype(np.float32), np.zeros(8, np.float32)
    first_of_pair[(1,)](Pair(TensorDescriptor.from_tensor(x, [1, 8], padding="nan"), 2.0), out, N=8)
    np.testing.assert_array_equal(out, 2 * x[1])


def test_a_descriptor_of_bools_has_bytes(rng):
    x, out = rng.standard_normal((2, 16)) > 0, np.zeros(16, np.int8)
    first_row[(1,)](TensorDescriptor.from_tensor(x, [1, 16]), out, N=16)
    np.testing.assert_array_equal(out, x[1])


def test_an_allocator_can_be_set():
    tri.set_allocator(lambda size, alignment, stream: np.empty(size, np.int8))
    with pytest.raises(TriError, match="an allocator is a function"):
        tri.set_allocator(None)
