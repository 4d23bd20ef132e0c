"""On a real GPU, against PyTorch or float64: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/test_gpu.py``.

Every output starts poisoned, so an element that is not written, or written twice with luck, is seen.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from integration.kernels.layernorm import layernorm
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.vector_add import vector_add

import tri
import tri.language as tl
from tri_core.api import LaunchError

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

WARPS = (1, 2, 4, 8)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
#: relative size of a rounding error
EPS = {torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.float32: 2**-22, torch.float64: 2**-51}


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(1)


def random(*shape, dtype=torch.float32):
    if dtype.is_floating_point:
        return torch.randn(shape, device="cuda", dtype=torch.float64).to(dtype)
    limits = torch.iinfo(dtype)
    low, high = max(limits.min, -(2**30)), min(limits.max, 2**30)
    return torch.randint(low, high, shape, device="cuda", dtype=torch.int64).to(dtype)


def poisoned(*shape, dtype=torch.float32):
    value = float("nan") if dtype.is_floating_point else 113
    return torch.full(shape, value, device="cuda").to(dtype)


def close(got, expected, scale=1.0):
    bound = EPS.get(got.dtype, 0.0) * scale
    error = (got.double() - expected.double()).abs()
    allowed = bound * expected.double().abs().clamp(min=1.0)
    assert bool((error <= allowed).all()), f"largest error {float(error.max())}"


# --- the example kernels --------------------------------------------------------------------------------


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("n", [1, 4096, 100_003])
def test_vector_add(n, num_warps):
    x, y, out = random(n), random(n), poisoned(n)
    vector_add[(tri.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024, num_warps=num_warps)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_vector_add_of_all_types(dtype):
    n = 5000
    x, y, out = random(n, dtype=dtype), random(n, dtype=dtype), poisoned(n, dtype=dtype)
    vector_add[(tri.cdiv(n, 512),)](x, y, out, n, BLOCK=512)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_nothing_is_written_beyond_the_end():
    n = 1000
    x, y, out = random(n), random(n), poisoned(2048)
    vector_add[(2,)](x, y, out, n, BLOCK=1024)
    torch.testing.assert_close(out[:n], x + y, rtol=0, atol=0)
    assert bool(out[n:].isnan().all())


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_pointers_that_are_less_aligned(offset):
    n = 4096
    x, y, out = random(n + 8), random(n + 8), poisoned(n + 8)
    vector_add[(4,)](x[offset:], y[offset:], out[offset:], n, BLOCK=1024)
    torch.testing.assert_close(out[offset : offset + n], (x + y)[offset : offset + n], rtol=0, atol=0)
    assert bool(out[:offset].isnan().all())


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("columns", [1, 33, 1000, 4096])
def test_softmax(columns, num_warps):
    x, out = random(37, columns), poisoned(37, columns)
    block = tri.next_power_of_2(columns)
    softmax[(37,)](out, x, x.stride(0), out.stride(0), columns, BLOCK=block, num_warps=num_warps)
    close(out, torch.softmax(x.double(), 1), 4)


def test_softmax_of_a_long_row():
    x, out = random(16, 32768), poisoned(16, 32768)
    softmax[(16,)](out, x, 32768, 32768, 32768, BLOCK=32768, num_warps=16)
    close(out, torch.softmax(x.double(), 1), 4)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize(("columns", "block"), [(1000, 1024), (8192, 2048), (257, 64)])
def test_layernorm(columns, block, num_warps):
    x, w, b, out = random(19, columns), random(columns), random(columns), poisoned(19, columns)
    layernorm[(19,)](out, x, w, b, columns, columns, 1e-5, BLOCK=block, num_warps=num_warps)
    close(out, torch.layer_norm(x.double(), (columns,), w.double(), b.double(), 1e-5), 16)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("shape", [(64, 64, 32), (500, 300, 400), (129, 65, 31)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_matmul(shape, num_warps, dtype):
    m, n, k = shape
    a, b, c = random(m, k, dtype=dtype), random(k, n, dtype=dtype), poisoned(m, n, dtype=dtype)
    grid = (tri.cdiv(m, 64) * tri.cdiv(n, 64),)
    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}
    matmul[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), **blocks, num_warps=num_warps)
    exact = a.double() @ b.double()
    # dots of f16 and bf16 are exact in f32; a sum of k terms errs by at most k eps sum |a b|, then one rounding;
    # f32 operands are rounded to TF32's ten bits of fraction before
    operands = 2.0**-10 if dtype == torch.float32 else 0.0
    terms = k * EPS[torch.float32] + operands
    allowed = terms * (a.double().abs() @ b.double().abs()) + exact.abs() * EPS[dtype]
    assert bool(((c.double() - exact).abs() <= allowed).all())


# --- language pieces ------------------------------------------------------------------------------------


@tri.jit
def _reduce_rows(
    out_ptr, x_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr, KIND: tl.constexpr
):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    if KIND == "sum":
        r = tl.sum(x, axis=AXIS)
    elif KIND == "max":
        r = tl.max(x, axis=AXIS)
    else:
        r = tl.min(x, axis=AXIS)
    if AXIS == 1:
        tl.store(out_ptr + rows, r)
    else:
        tl.store(out_ptr + columns, r)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("shape", [(1, 64), (64, 1), (16, 128), (128, 16), (4, 2048)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_reductions(shape, axis, kind, num_warps):
    x = random(*shape)
    out = poisoned(shape[1 - axis])
    _reduce_rows[(1,)](out, x, *shape, axis, kind, num_warps=num_warps)
    wide = x.double()
    expected = wide.sum(axis) if kind == "sum" else getattr(wide, f"a{kind}")(axis)
    close(out, expected, 8 if kind == "sum" else 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64])
def test_reductions_of_other_types(dtype):
    x = random(32, 64, dtype=dtype)
    out = poisoned(32, dtype=dtype)
    _reduce_rows[(1,)](out, x, 32, 64, 1, "max")
    torch.testing.assert_close(out, x.amax(1), rtol=0, atol=0)


@tri.jit
def _transpose(out_ptr, x_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + columns[:, None] * ROWS + rows[None, :], tl.trans(x))


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("shape", [(16, 16), (32, 128), (128, 64), (1, 256)])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.float64])
def test_layout_conversion(shape, dtype, num_warps):
    x = random(*shape, dtype=dtype)
    out = poisoned(shape[1], shape[0], dtype=dtype)
    _transpose[(1,)](out, x, *shape, num_warps=num_warps)
    torch.testing.assert_close(out, x.t().contiguous(), rtol=0, atol=0)


@tri.jit
def _unary(out_ptr, x_ptr, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, FUNCTION(x), mask=offsets < n)


#: function, oracle, error bound in units of f32's last place of max(1, |result|)
MATH = [
    (tl.exp, torch.exp, 8),
    (tl.exp2, torch.exp2, 4),
    (tl.log, torch.log, 4),
    (tl.log2, torch.log2, 4),
    (tl.sqrt, torch.sqrt, 4),
    (tl.rsqrt, torch.rsqrt, 4),
    (tl.sin, torch.sin, 4),
    (tl.cos, torch.cos, 4),
    (tl.erf, torch.erf, 4),
    (tl.floor, torch.floor, 0),
    (tl.ceil, torch.ceil, 0),
    (tl.abs, torch.abs, 0),
]


@pytest.mark.parametrize(("function", "oracle", "scale"), MATH, ids=[o.__name__ for _, o, _ in MATH])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_math(function, oracle, scale, dtype):
    n = 10_000
    x = random(n, dtype=dtype)
    if oracle in (torch.log, torch.log2, torch.sqrt, torch.rsqrt):
        x = x.abs() + 1e-2
    out = poisoned(n, dtype=dtype)
    _unary[(tri.cdiv(n, 1024),)](out, x, n, function, BLOCK=1024)
    close(out, oracle(x.double()), scale)


@tri.jit
def _cast(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x.to(out_ptr.dtype.element_ty), mask=offsets < n)


@pytest.mark.parametrize("source", [torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.int8])
@pytest.mark.parametrize(
    "target",
    [*FLOATS, torch.int64, torch.float8_e4m3fn, torch.float8_e5m2],
)
def test_casts(source, target):
    n = 4096
    x = (
        random(n, dtype=source)
        if source.is_floating_point
        else torch.randint(-100, 100, (n,), device="cuda").to(source)
    )
    if source.is_floating_point:
        x = x * 8  # within the range of all formats
    out = (
        torch.zeros(n, device="cuda", dtype=torch.int8).view(torch.int8).to(target)
        if target.is_floating_point
        else poisoned(n, dtype=target)
    )
    if target.itemsize == 1 and not source.is_floating_point:
        pytest.skip("integers go to fp8 through a wider float")
    _cast[(4,)](out, x, n, BLOCK=1024)
    torch.testing.assert_close(out.double(), x.to(target).double(), rtol=0, atol=0)


@pytest.mark.parametrize("source", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("target", [torch.float16, torch.bfloat16, torch.float32])
def test_every_fp8_is_read_right(source, target):
    x = torch.arange(256, device="cuda", dtype=torch.uint8).view(source)
    out = poisoned(256, dtype=target)
    _cast[(1,)](out, x, 256, BLOCK=256)
    torch.testing.assert_close(out, x.to(target), rtol=0, atol=0, equal_nan=True)


@tri.jit
def _histogram(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.atomic_add(out_ptr + x, 1, mask=offsets < n)


def test_atomics():
    n = 100_000
    x = torch.randint(0, 17, (n,), device="cuda", dtype=torch.int32)
    out = torch.zeros(17, device="cuda", dtype=torch.int32)
    _histogram[(tri.cdiv(n, 1024),)](out, x, n, BLOCK=1024)
    torch.testing.assert_close(out, torch.bincount(x, minlength=17).int(), rtol=0, atol=0)


@tri.jit
def _masked(out_ptr, x_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=OTHER)
    tl.store(out_ptr + offsets, x)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("num_warps", [1, 4])
def test_masked_lanes_get_the_other_value(dtype, num_warps):
    x, out = random(512, dtype=dtype), poisoned(512, dtype=dtype)
    _masked[(1,)](out, x, 301, 7, BLOCK=512, num_warps=num_warps)
    torch.testing.assert_close(out[:301], x[:301], rtol=0, atol=0)
    assert bool((out[301:] == 7).all())


# --- the runtime ----------------------------------------------------------------------------------------


def test_host_arrays_are_refused():
    x = np.ones(16, np.float32)
    with tri.target("nvidia"), pytest.raises(LaunchError, match="host memory") as caught:
        vector_add[(1,)](x, x, x.copy(), 16, BLOCK=16)
    assert ".cuda()" in str(caught.value)


def test_launches_follow_pytorchs_stream():
    n = 1 << 24
    side = torch.cuda.Stream()
    x, y, out = random(n), random(n), poisoned(n)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)  # the kernel would overtake this on another stream
        x.fill_(3.0)
        vector_add[(tri.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    side.synchronize()
    torch.testing.assert_close(out, y + 3.0, rtol=0, atol=0)


def test_a_graph_captures_launches():
    n = 4096
    x, y, out = random(n), random(n), poisoned(n)
    vector_add[(4,)](x, y, out, n, BLOCK=1024)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        vector_add[(4,)](x, y, out, n, BLOCK=1024)
    x.fill_(5.0)
    out.fill_(float("nan"))
    graph.replay()
    torch.testing.assert_close(out, y + 5.0, rtol=0, atol=0)


def test_the_runtime_records_launches():
    from tri_runtime import runtime

    n = 4096
    x, y, out = random(n), random(n), poisoned(n)
    vector_add[(4,)](x, y, out, n, BLOCK=1024)
    torch.cuda.synchronize()
    replay = runtime("cuda").capture(lambda: vector_add[(4,)](x, y, out, n, BLOCK=1024))
    x.fill_(5.0)
    out.fill_(float("nan"))
    replay()
    torch.testing.assert_close(out, y + 5.0, rtol=0, atol=0)
    assert tri.testing.do_bench_cudagraph(lambda: vector_add[(4,)](x, y, out, n, BLOCK=1024)) > 0


RECORDS = """
import numpy as np
import tri
from integration.kernels.vector_add import vector_add
from tri_runtime import runtime

owner = runtime("cuda")
memory = owner.memory(owner.current_device())
x = np.arange(4096, dtype=np.float32)
out = np.zeros_like(x)


class Array:
    def __init__(self):
        self.address = memory.alloc(x.nbytes)

    @property
    def __cuda_array_interface__(self):
        return {"shape": x.shape, "typestr": "<f4", "data": (self.address, False), "version": 3}


a, b = Array(), Array()
memory.copy_in(a.address, x.ctypes.data, x.nbytes)
launch = lambda: vector_add[(4,)](a, a, b, 4096, BLOCK=1024)
launch()
replay = owner.capture(launch)
other = x + 1
memory.copy_in(a.address, other.ctypes.data, x.nbytes)
replay()
memory.copy_out(out.ctypes.data, b.address, x.nbytes)
np.testing.assert_array_equal(out, 2 * other)
"""


def test_launches_are_recorded_without_pytorch():
    done = subprocess.run([sys.executable, "-c", RECORDS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_arrays_of_other_libraries():
    cupy = pytest.importorskip("cupy")
    x, y = (cupy.random.rand(1000, dtype=cupy.float32) for _ in range(2))
    out = cupy.full(1000, cupy.nan, dtype=cupy.float32)
    vector_add[(1,)](x, y, out, 1000, BLOCK=1024)
    cupy.cuda.Device().synchronize()
    np.testing.assert_array_equal(out.get(), (x + y).get())


def test_a_conversion_larger_than_shared_memory_goes_in_pieces():
    x, out = random(256, 1024), poisoned(1024, 256)
    _transpose[(1,)](out, x, 256, 1024)
    torch.testing.assert_close(out, x.t().contiguous(), rtol=0, atol=0)


def test_time_of_the_device():
    from tri_runtime import runtime
    from tri_runtime.benchmark import do_bench

    n = 1 << 26
    x, y, out = random(n), random(n), poisoned(n)
    milliseconds = do_bench(lambda: vector_add[(n // 1024,)](x, y, out, n, BLOCK=1024), runtime("cuda"))
    assert 0.05 < milliseconds < 50
