"""Float formats, scaled dots, descriptors and block pointers on every machine.

The three vendors' targets are simulated, with and without the instructions for fp8; Intel's OpenCL device runs, and the interpreter.
"""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.tools.tensor_descriptor
from integration.tests.float_formats import FORMATS, samples
from integration.tests.machines import SIMULATED
from integration.tests.test_block_pointers import matmul as block_matmul
from integration.tests.test_descriptors import chosen, copy_tiles, reduces, rows
from integration.tests.test_descriptors import matmul as descriptor_matmul
from integration.tests.test_dot_scaled import K, M, N, operand, scales
from integration.tests.test_dot_scaled import matmul as scaled_matmul
from integration.tests.test_float_formats import cast, exact, held
from integration.tests.test_float_formats import matmul as fp8_matmul
from tri_core import plugins

MACHINES = ["sm_80", "sm_90a", "gfx942", "gfx1100", "pvc", "device", "interpreter"]
WIDE = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64}


@functools.cache
def has_device() -> bool:
    return bool(plugins.manager().probe("intel"))


def execute(machine, kernel, grid, arguments, constants, **options):
    """``arguments`` are arrays and numbers as the kernel takes them."""
    if machine == "device":
        if not has_device():
            pytest.skip("no Intel device: pip install 'tri-backend-intel[cpu]'")
        with tri.target("intel"):
            kernel[grid](*arguments, **constants, **options)
        return
    if machine == "interpreter":
        with tri.target("cpu"), tri.interpret():
            kernel[grid](*arguments, **constants)
        return
    with tri.target(SIMULATED[machine]):
        kernel[grid](*arguments, **constants, **options)


def rng() -> np.random.Generator:
    return np.random.default_rng(17)


# --- casts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_widens_exactly(machine, name, wide):
    format_ = FORMATS[name]
    y = np.ones(256, WIDE[wide])
    x = held(format_, np.arange(256, dtype=np.uint8))
    execute(machine, cast, (1, 1, 1), [x, y, 256], {"ROUNDING": None, "B": 256})
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(exact(y), exact(format_.values.astype(WIDE[wide])))


@pytest.mark.parametrize("rounding", [None, "rtz"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("machine", MACHINES)
def test_narrowing_is_correctly_rounded(machine, name, wide, rounding):
    if machine == "device" and (wide != "fp32" or rounding):
        pytest.skip("the device compiles slowly; the simulator runs the same code")
    format_ = FORMATS[name]
    x = samples(format_, WIDE[wide], rng(), 2048)
    y = np.full(2048, 0x55, np.uint8)
    constants = {"ROUNDING": rounding, "B": 2048}
    execute(machine, cast, (1, 1, 1), [x, held(format_, y), 2048], constants, num_warps=8)
    expected = format_.rounded(exact(x), toward_zero=rounding == "rtz")
    np.testing.assert_array_equal(format_.values[y], expected)


@pytest.mark.parametrize(
    ("lhs", "rhs"), [("fp8e4nv", "fp8e5"), ("fp8e4b8", "fp8e5b16"), ("fp8e4b15", "fp8e4nv")]
)
@pytest.mark.parametrize("machine", MACHINES)
def test_matmuls_of_fp8(machine, lhs, rhs):
    a, b = rng().integers(0, 0x38, (2, 32, 32)).astype(np.uint8)
    c = np.zeros((32, 32), np.float32)
    arguments = [held(FORMATS[lhs], a), held(FORMATS[rhs], b), c]
    execute(machine, fp8_matmul, (1, 1, 1), arguments, {"M": 32, "N": 32, "K": 32})
    np.testing.assert_allclose(c, FORMATS[lhs].values[a] @ FORMATS[rhs].values[b], rtol=1e-5, atol=1e-6)


# --- scaled dots ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lhs", "rhs"), [("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e5m2", "bf16"), ("fp16", "e4m3")]
)
@pytest.mark.parametrize("machine", MACHINES)
def test_scaled_matmuls(machine, lhs, rhs):
    a, exact_a = operand(rng(), (M, K), lhs, 1)
    b, exact_b = operand(rng(), (K, N), rhs, 0)
    (sa, by_a), (sb, by_b) = scales(rng(), M), scales(rng(), N)
    sa[3, 1] = 0xFF
    by_a[3, 32:] = np.nan
    c = np.zeros((M, N), np.float32)
    constants = {
        "FA": lhs, "FB": rhs, "PA": True, "PB": True, "FAST": False, "AR": a.shape[0], "AC": a.shape[1],
        "BR": b.shape[0], "BC": b.shape[1], "M": M, "N": N, "G": K // 32,
    }  # fmt: skip
    execute(machine, scaled_matmul, (1, 1, 1), [a, b, sa, sb, c], constants)
    np.testing.assert_allclose(c, (exact_a * by_a) @ (exact_b * by_b.T), rtol=1e-4, atol=1e-3)


# --- descriptors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_a_matmul_of_descriptors(machine):
    m, n, k = 50, 24, 40
    a, b = rng().standard_normal((m, k)).astype(np.float16), rng().standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)
    blocks = ([32, 16], [16, 16], [32, 16])
    make = tri.tools.tensor_descriptor.TensorDescriptor.from_tensor
    arguments = [make(x, block) for x, block in zip((a, b, c), blocks, strict=True)]
    execute(machine, descriptor_matmul, (2, 2, 1), [*arguments, k, 0.5], {})
    np.testing.assert_allclose(c, 0.5 * (a.astype(np.float64) @ b.astype(np.float64)), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("machine", MACHINES)
def test_descriptors_in_loops_and_branches(machine):
    x, y = rng().standard_normal((2, 10, 16)).astype(np.float32)
    out = np.zeros_like(x)
    execute(machine, chosen, (1, 1, 1), [x, y, out, 5, 10], {"B": 16})
    first = np.arange(10) // 4 % 2 == 1
    a, b = np.where(first[:, None], x, y), np.where(first[:, None], y, x)
    np.testing.assert_allclose(out, 2 * a - b + 26, rtol=1e-5)


@pytest.mark.parametrize("machine", MACHINES)
def test_transposition_in_tiles(machine):
    x, out = rng().standard_normal((40, 48)).astype(np.float16), np.zeros((48, 40), np.float16)
    execute(machine, copy_tiles, (1, 1, 1), [x, out, 40, 48], {"BM": 16, "BN": 32})
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("machine", MACHINES)
def test_rows(machine):
    x, out = rng().standard_normal((20, 24)).astype(np.float32), np.zeros((20, 24), np.float32)
    where = rng().permutation(np.arange(-3, 24))[:16].astype(np.int32)
    execute(machine, rows, (1, 1, 1), [x, out, where, 20, 24], {"R": 16, "C": 16})
    expected, inside = np.zeros_like(x), where[(where >= 0) & (where < 20)]
    expected[inside] = 2 * x[inside]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("op", "oracle"), [("add", np.add), ("max", np.maximum), ("xor", np.bitwise_xor)])
@pytest.mark.parametrize("machine", MACHINES)
def test_reductions_into_memory(machine, op, oracle):
    x = rng().integers(0, 1 << 32, (32, 12), np.uint32)
    out = rng().integers(0, 1 << 32, (8, 12), np.uint32)
    expected = out.copy()
    for block in x.reshape(4, 8, 12):
        expected[:7] = oracle(expected[:7], block[:7])
    execute(machine, reduces, (4, 1, 1), [x, out, 32, 12], {"OP": op, "BM": 8, "BN": 16})
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_matmul_through_block_pointers(machine):
    m, n, k = 33, 20, 40
    a, b = rng().standard_normal((m, k)).astype(np.float16), rng().standard_normal((k, n)).astype(np.float16)
    c = np.full((m, n), 7, np.float16)
    constants = {"BM": 16, "BN": 16, "BK": 16}
    execute(machine, block_matmul, (3, 2, 1), [a, b, c, m, n, k, k], constants)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-2, atol=2e-2)
