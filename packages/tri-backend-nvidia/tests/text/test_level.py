"""Kernels on ``sim:nvidia:ARCH:level=text``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.api import TargetKey
from tri_core.compiler import IRSource
from tri_core.errors import SimulationError, TargetError, Unsupported, VerificationError

TARGETS = ["sim:nvidia:sm_80:level=text", "sim:nvidia:sm_90a:level=text"]


@tri.jit
def softmax(x: Any, y: Any, n: Any, BLOCK: tl.constexpr) -> None:
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * n + at, powers / tl.sum(powers, 0), mask=at < n)


@tri.jit
def matmul(a: Any, b: Any, c: Any, n: Any, BLOCK: tl.constexpr) -> None:
    rows, columns = (
        tl.program_id(0) * BLOCK + tl.arange(0, BLOCK),
        tl.program_id(1) * BLOCK + tl.arange(0, BLOCK),
    )
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * n + inner[None, :])
        total = tl.dot(left, tl.load(b + inner[:, None] * n + columns[None, :]), total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@pytest.mark.parametrize("target", TARGETS)
def test_a_softmax_is_numpys(target: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 1000)).astype(np.float32)
    y = np.zeros_like(x)
    with tri.target(target), tri.simulation(races=True):
        softmax[(3,)](x, y, 1000, BLOCK=1024)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), rtol=2e-6)


def test_a_pipelined_matmul_is_numpys() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (96, 96)).astype(np.float16) for _ in range(2))
    c = np.zeros((96, 96), np.float32)
    with tri.target(TARGETS[0]):
        matmul[(3, 3)](a, b, c, 96, BLOCK=32, num_stages=3)
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


def test_a_matmul_of_warp_groups_is_numpys() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float32)
    with tri.target(TARGETS[1]):
        kernel = matmul[(2, 2)](a, b, c, 128, BLOCK=64, num_warps=4)
    assert "wgmma.mma_async" in kernel.asm["text"]
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


@tri.jit
def copy(x: Any, y: Any, rows: Any, columns: Any, BLOCK: tl.constexpr) -> None:
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(y, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    target.store(at, source.load(at) + 1)


def test_boxes_are_copied_by_the_tensor_memory_accelerator() -> None:
    x = np.arange(48 * 32, dtype=np.float32).reshape(48, 32)
    y = np.zeros_like(x)
    with tri.target(TARGETS[1]):
        kernel = copy[(3, 2)](x, y, 48, 32, BLOCK=16)
    assert "cp.async.bulk.tensor.2d" in kernel.asm["text"]
    assert (y == x + 1).all()


@tri.jit
def sines(x: Any, y: Any, BLOCK: tl.constexpr) -> None:
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.sin(tl.load(x + at)))


def test_functions_with_tables_and_local_memory() -> None:
    x = (np.arange(64) * 33333.3).astype(np.float32)
    y = np.zeros_like(x)
    with tri.target(TARGETS[0]):
        sines[(1,)](x, y, BLOCK=64)
    np.testing.assert_allclose(y, np.sin(x.astype(np.float64)), atol=2e-7)


def test_what_is_out_of_bounds_has_the_line_of_the_kernel_and_that_of_the_text() -> None:
    x = np.zeros((1, 64), np.float32)
    with tri.target(TARGETS[0]), pytest.raises(SimulationError, match=r"ld\.global.*PTX line \d+") as found:
        softmax[(2,)](x, x.copy(), 64, BLOCK=64)
    assert found.value.check == "out-of-bounds"
    location = found.value.location
    assert location is not None
    assert location.file == __file__
    assert "values = tl.load" in Path(__file__).read_text().splitlines()[location.line - 1]


def test_a_level_is_part_of_the_name() -> None:
    key = TargetKey.parse("sim:nvidia:sm_80:level=text")
    assert key.level == "text"
    assert (str(key), str(key.real)) == ("sim:nvidia:sm_80:level=text", "nvidia:sm_80")


@pytest.mark.parametrize(
    "name",
    [
        "sim:nvidia:sm_80:level=sass",
        "sim:nvidia:sm_80:level=",
        "nvidia:sm_80:level=text",
        "sim:cpu:x86-64:level=text",
    ],
)
def test_an_unknown_level_is_refused(name: str) -> None:
    from tri_core.errors import TriError
    from tri_core.target_selection import resolve

    with pytest.raises(TriError) as found:
        resolve(TargetKey.parse(name))
    assert isinstance(found.value, TargetError) or "simulated" in str(found.value)


def test_text_without_an_entry_is_refused() -> None:
    x = np.zeros(1, np.float32)
    with tri.target(TARGETS[1]):
        signature = softmax[(1,)](x, x.copy(), 1, BLOCK=16).metadata.signature
    for target in TARGETS:
        with pytest.raises(VerificationError, match="has no entry"):
            tri.compile(IRSource("ptx", "this is (no program", signature), target)


def test_an_unknown_instruction_is_refused_when_the_kernel_is_compiled() -> None:
    x = np.zeros(16, np.float32)
    with tri.target(TARGETS[0]):
        kernel = softmax[(1,)](x, x.copy(), 16, BLOCK=16)
    text = kernel.asm["ptx"].replace("ret;", "frobnicate.b32 %r1, %r1;\n\tret;")
    with pytest.raises(Unsupported, match="frobnicate"):
        tri.compile(IRSource("ptx", text, kernel.metadata.signature), TARGETS[0])


@pytest.mark.parametrize("target", TARGETS)
def test_a_matmul_is_the_same_in_every_order(target: str) -> None:
    """Groups of copies and of dots are counted for all threads that are there, whichever warp came first."""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float32)
    with tri.target(target), tri.simulation(report=False, schedules=3):
        matmul[(2, 2)](a, b, c, 128, BLOCK=64, num_warps=4, num_stages=3)
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()
