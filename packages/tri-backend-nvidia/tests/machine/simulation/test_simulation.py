"""The example kernels on the simulator: what this backend lowers them to gives the right numbers, without races."""

from __future__ import annotations

import numpy as np
import pytest
from integration.kernels.layernorm import layernorm
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.vector_add import vector_add

import tri
from nvidia_support import primitives, target
from tri_core.mlir import session
from tri_core.plugins import manager
from tri_core.text import parse_module
from tri_gpu_dialect.lowering import generic_table, lower
from tri_runtime.simulator import simulate

NAMES = {np.dtype("f4"): "fp32", np.dtype("f2"): "fp16", np.dtype("i4"): "i32", np.dtype("i1"): "i8"}


def run(kernel, grid, arguments, constants, *, arch="sm_90a", num_warps=4, aligned=True):
    """Compile down to TTGIR, lower with this backend's words, and simulate."""
    parameters = kernel.arg_names if hasattr(kernel, "arg_names") else list(kernel.signature.parameters)
    signature, attributes = {}, {}
    for i, (name, value) in enumerate(zip(parameters, [*arguments, *constants.values()], strict=True)):
        if name in constants:
            signature[name] = "constexpr"
        elif isinstance(value, np.ndarray):
            signature[name] = f"*{NAMES[value.dtype]}"
            if aligned:
                attributes[(i,)] = [["tt.divisibility", 16]]
        else:
            signature[name] = "fp32" if isinstance(value, float) else "i32"
            if aligned and not isinstance(value, float) and value % 16 == 0:
                attributes[(i,)] = [["tt.divisibility", 16]]
    source = tri.ASTSource(kernel, signature, constants, attributes)
    compiled = tri.compile(source, target=f"nvidia:{arch}", options={"num_warps": num_warps})
    hw = primitives(arch, num_warps)
    with session():
        module = parse_module(compiled.asm["ttgir"])
        table = manager().lowering(generic_table(), target(arch), hw.options)
        lowered = lower(module, target(arch), hw.options, hw, table)
        simulate(
            lowered.module,
            lowered.name,
            grid,
            arguments,
            num_threads=32 * num_warps,
            threads_per_warp=32,
            shared_bytes=lowered.shared_bytes,
        )


def poisoned(*shape, dtype=np.float32):
    return np.full(shape, np.nan, dtype)


RNG = np.random.default_rng(7)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize(("n", "aligned"), [(1000, True), (1024, True), (777, False)])
def test_vector_add(n, aligned, num_warps):
    x, y, out = RNG.random(n, np.float32), RNG.random(n, np.float32), poisoned(n)
    run(vector_add, (2, 1, 1), [x, y, out, n], {"BLOCK": 512}, num_warps=num_warps, aligned=aligned)
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("num_warps", [1, 8])
def test_softmax(num_warps):
    x, out = RNG.standard_normal((3, 1000), np.float32), poisoned(3, 1000)
    run(softmax, (3, 1, 1), [out, x, 1000, 1000, 1000], {"BLOCK": 1024}, num_warps=num_warps)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("num_warps", [2, 4])
def test_layernorm(num_warps):
    x, out = RNG.standard_normal((2, 700), np.float32), poisoned(2, 700)
    w, b = RNG.standard_normal((2, 700), np.float32)
    run(layernorm, (2, 1, 1), [out, x, w, b, 700, 700, 1e-5], {"BLOCK": 256}, num_warps=num_warps)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("num_warps", "dtype"), [(1, np.float32), (4, np.float32), (4, np.float16)])
def test_matmul(num_warps, dtype):
    m, n, k = 50, 40, 33
    a, b = RNG.standard_normal((m, k)).astype(dtype), RNG.standard_normal((k, n)).astype(dtype)
    c = poisoned(m, n, dtype=dtype)
    blocks = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16, "GROUP_M": 8}
    run(matmul, (4, 1, 1), [a, b, c, m, n, k, k, 1, n, 1, n, 1], blocks, num_warps=num_warps)
    # f32 is computed as TF32, whose ten bits of fraction are rounded once per operand
    tolerance = 1e-2 if dtype == np.float32 else 2e-2
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=tolerance, atol=tolerance)
