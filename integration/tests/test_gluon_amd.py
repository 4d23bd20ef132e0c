"""Gluon kernels of AMD's instructions on the simulators, and what the namespace refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
from integration.kernels import gluon_amd as kernels
from tri.experimental import gluon
from tri.experimental.gluon import language as gl
from tri_core.errors import CompilationError, Unsupported

CDNA3, CDNA4 = "sim:amd:gfx942", "sim:amd:gfx950"
cdna3, cdna4 = gl.amd.cdna3, gl.amd.cdna4
ROW = gl.constexpr(gl.BlockedLayout([1], [64], [4], [0]))
OTHER = gl.constexpr(gl.BlockedLayout([2], [64], [4], [0]))


@pytest.mark.parametrize(("target", "version"), [(CDNA3, 3), (CDNA4, 4)])
def test_a_matmul_by_buffer_loads_and_mfma(target: str, version: int) -> None:
    generator = np.random.default_rng(2)
    a = generator.standard_normal((50, 72)).astype(np.float16)
    b = generator.standard_normal((72, 32)).astype(np.float16)
    c = np.full((50, 32), np.nan, np.float32)
    layout = gl.amd.AMDMFMALayout(version, [16, 16, 16], True, [4, 1])
    with tri.target(target):
        kernels.cdna_matmul[(1, 1)](a, b, c, 50, 32, 72, BM=64, BN=32, BK=32, result=layout)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-4)


@gluon.jit
def copied(x, out, n):
    i = gl.arange(0, 256, layout=ROW)
    cdna3.buffer_store(cdna3.buffer_load(x, i, mask=i < n, other=7), out, i, mask=i < n + 1)


def test_what_is_masked_off_is_other_and_not_written() -> None:
    out = np.full(256, -1, np.float32)
    with tri.target(CDNA3):
        copied[(1,)](np.arange(256, dtype=np.float32), out, 100)
    np.testing.assert_array_equal(out, [*range(100), 7, *[-1] * 155])


@gluon.jit
def newer(out):
    i = gl.arange(0, 256, layout=ROW)
    cdna4.buffer_store(i, out, i)


@gluon.jit
def of_pointers(out):
    cdna3.buffer_load(out + gl.arange(0, 256, layout=ROW), gl.arange(0, 256, layout=ROW))


@gluon.jit
def of_open_offsets(out):
    cdna3.buffer_load(out, gl.arange(0, 256))


@gluon.jit
def of_two_layouts(out):
    cdna3.buffer_store(gl.arange(0, 256, layout=OTHER), out, gl.arange(0, 256, layout=ROW))


@gluon.jit
def multiplied(out, result: gl.constexpr):
    a = gl.zeros([64, 16], gl.float16, gl.DotOperandLayout(0, result, 4))
    b = gl.zeros([16, 16], gl.float16, gl.DotOperandLayout(0, result, 4))
    cdna3.mfma(a, b, gl.zeros([64, 16], gl.float32, result))


V3, V4 = (gl.amd.AMDMFMALayout(v, [16, 16, 16], True, [4, 1]) for v in (3, 4))
BAD: list[tuple[Any, str, dict[str, Any], str]] = [
    (newer, CDNA3, {}, "gl.amd.cdna4.buffer_store on .*: it is an instruction of CDNA4"),
    (
        copied,
        "sim:nvidia:sm_90a",
        {"x": np.zeros(4, np.int32), "n": 4},
        "instruction of CDNA3|threads per warp",
    ),
    (of_pointers, CDNA3, {}, "pass a scalar pointer"),
    (of_open_offsets, CDNA3, {}, "layout is left open"),
    (of_two_layouts, CDNA3, {}, "layouts of buffer_store differ"),
    (multiplied, CDNA3, {"result": V4}, "an AMDMFMALayout of version 3"),
    (multiplied, CDNA3, {"result": V3}, "mfma's operand b has layout"),
]


@pytest.mark.parametrize(("kernel", "target", "arguments", "words"), BAD)
def test_bad_input_is_a_located_error(
    kernel: Any, target: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises((CompilationError, Unsupported), match=words) as caught, tri.target(target):
        kernel[(1,)](out=np.zeros(256, np.int32), **arguments)
    assert caught.value.location is not None


def test_layouts_are_checked_when_they_are_made() -> None:
    with pytest.raises(CompilationError, match="instrShape"):
        gl.amd.AMDMFMALayout(3, [8, 8, 8], True, [4, 1])
