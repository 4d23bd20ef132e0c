"""Floats of 8 bits on DPAS: widened in the words that they were loaded in, exactly, all patterns of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from integration.bench_intel_static.spirv import operations
from integration.kernels.blocks_matmul import blocks_matmul

import tri
from intel_support import target_of
from tri_backend_intel.dpas import dots
from tri_backend_intel.lowering.small_floats import SMALL_FLOATS
from tri_backend_intel.options import IntelOptions

Matrix = np.ndarray[Any, Any]

E5M2, E4M3 = ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn
PAIRS = list(product((E5M2, E4M3), repeat=2))
DEVICES = ("sim:intel:pvc", "sim:intel:bmg", "sim:intel:dg2")


def multiplied(
    a: Matrix, b: Matrix, device: str, block: tuple[int, int, int] = (64, 32, 32), offset: int = 0,
    a_t: bool = False, b_t: bool = False,
) -> Matrix:  # fmt: skip
    """``a @ b``; a transposed one lies so in memory, all of them ``offset`` bytes from a multiple of 64."""

    def lying(values: Matrix) -> Matrix:
        room = np.zeros(values.nbytes + 128, np.uint8)
        start = -room.ctypes.data % 64 + offset
        made = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
        made[...] = values
        return made

    (m, k), n = a.shape, b.shape[1]
    x, y = (lying(v.T if t else v) for v, t in ((a, a_t), (b, b_t)))
    c = np.zeros((m, n), np.float32)
    with tri.target(device), np.errstate(invalid="ignore"):
        grid = (-(-m // block[0]), -(-n // block[1]))
        blocks_matmul[grid](x, y, c, m, n, k, x.shape[1], y.shape[1], n, a_t, b_t, *block, num_warps=4)
    return c


def wrong_by(a: Matrix, b: Matrix, found: Matrix) -> float:
    """The largest error, in parts of the sum of magnitudes."""
    x, y = a.astype("f8"), b.astype("f8")
    return float((np.abs(found - x @ y) / (np.abs(x) @ np.abs(y))).max())


def random(a: Any, b: Any, m: int = 96, n: int = 80, k: int = 96) -> tuple[Matrix, Matrix]:
    make = np.random.default_rng(3)
    return make.standard_normal((m, k)).astype(a), make.standard_normal((k, n)).astype(b)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_a_product_is_right_to_the_rounding_of_f32(device: str, left: Any, right: Any) -> None:
    a, b = random(left, right)
    assert wrong_by(a, b, multiplied(a, b, device)) <= 1e-6


@pytest.mark.parametrize(("a_t", "b_t"), [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("left", "right"), PAIRS[1:3])
def test_operands_in_any_order_are_right(left: Any, right: Any, a_t: bool, b_t: bool) -> None:
    a, b = random(left, right)
    assert wrong_by(a, b, multiplied(a, b, DEVICES[0], a_t=a_t, b_t=b_t)) <= 1e-6


@pytest.mark.parametrize("offset", [16, 3])
def test_what_goes_by_elements_is_right(offset: int) -> None:
    a, b = random(E4M3, E5M2, 72, 40, 72)
    assert wrong_by(a, b, multiplied(a, b, DEVICES[0], offset=offset)) <= 1e-6


def test_a_block_less_deep_than_32_is_right() -> None:
    a, b = random(E4M3, E5M2)
    assert wrong_by(a, b, multiplied(a, b, DEVICES[0], (64, 32, 16))) <= 1e-6


@pytest.mark.parametrize("kind", [E5M2, E4M3])
@pytest.mark.parametrize("operand", [0, 1])
def test_every_pattern_is_the_number_that_it_is(kind: Any, operand: int) -> None:
    patterns = np.arange(256, dtype=np.uint8).view(kind)
    place = np.arange(256) % 32
    spread = np.zeros((256, 32), kind)
    spread[np.arange(256), place] = patterns
    one = np.eye(32, dtype=np.float32).astype(kind)
    if operand:
        found = multiplied(one, np.ascontiguousarray(spread.T), DEVICES[0], (32, 64, 32)).T
    else:
        found = multiplied(spread, one, DEVICES[0])
    np.testing.assert_array_equal(found[np.arange(256), place], patterns.astype(np.float32))


def test_the_table_has_every_pair_where_it_has_f16() -> None:
    names = set(product(SMALL_FLOATS, repeat=2))
    for arch in ("pvc", "bmg", "dg2"):
        rows = {(r.a, r.b): r for r in dots(target_of(arch), IntelOptions()).instructions if r.shape[0] == 8}
        assert {pair for pair in rows if pair[0] in SMALL_FLOATS} == names
        assert all(rows[pair].shape[2] == 2 * rows["f16", "f16"].shape[2] for pair in names)
        assert {(d.a, d.b) for d in target_of(arch).spec.dot} >= set(product(("fp8e5", "fp8e4nv"), repeat=2))
    assert not dots(target_of("mtl"), IntelOptions()).instructions


@pytest.mark.parametrize("kind", ["fp8e5", "fp8e4nv"])
def test_both_operands_come_in_blocks_and_nothing_goes_through_local_memory(kind: str) -> None:
    numbers = ("M", "N", "K", "stride_a", "stride_b", "stride_c")
    signature = {"a_ptr": f"*{kind}", "b_ptr": f"*{kind}", "c_ptr": "*fp32"} | dict.fromkeys(numbers, "i32")
    constants = {"A_T": False, "B_T": False, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    whole = {(i,): [["tt.divisibility", 16]] for i in range(len(signature))}
    source = tri.ASTSource(blocks_matmul, signature | dict.fromkeys(constants, "constexpr"), constants, whole)
    kernel = tri.compile(source, target="intel:pvc", options={"num_warps": 4})
    module = kernel.asm["spv"]
    assert isinstance(module, bytes)
    step = operations(module)
    assert (step.dpas, step.loads) == (32, 3)
    assert kernel.metadata.resources["shared"] == 0
