"""Matmuls, grouped and persistent ones among them, and convolution."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from integration.kernels.convolution import convolution
from integration.kernels.grouped_matmul import grouped_matmul
from integration.kernels.matmul import matmul
from integration.kernels.matmul_descriptor import matmul_descriptor
from integration.kernels.persistent_matmul import persistent_matmul, persistent_matmul_descriptor
from integration.programs.program import Case, Data, Numbers, Program, Sizes, Start, poisoned, values
from tri.tools.tensor_descriptor import TensorDescriptor

__all__ = ["MATMULS"]

#: sums of f32 that are exact products; TF32 keeps 10 bits; 8-bit floats are summed with
#: about 14 bits by Hopper's tensor cores, which made 2.1e-3 of 1024 terms on an H200
_BOUNDS = {
    "float16": 1e-5,
    "bfloat16": 1e-5,
    "float32": 2e-3,
    "float64": 1e-13,
    "int8": 0.0,
    "float8_e4m3fn": 4e-3,
    "float8_e5m2": 4e-3,
}
_WIDE = {name: _BOUNDS[name] for name in ("float16", "bfloat16", "float32")}
_ORDERS = ((False, False), (False, True), (True, False), (True, True))
#: types of sums, and so of results, that are not f32
_SUMS = {"int8": "int32", "float64": "float64"}

_SMALL = Sizes(shapes=((40, 40, 72), (64, 32, 64)), blocks=((32, 16, 32), (16, 32, 32), (64, 32, 32)))
_LARGE = Sizes(
    shapes=((300, 200, 520), (512, 256, 1024)),
    blocks=((64, 64, 32), (128, 64, 64), (64, 128, 64)),
)
_FEW = Sizes(shapes=((130, 72, 104), (150, 200, 392)), blocks=_LARGE.blocks)


def strides(array: Any) -> tuple[int, ...]:
    """Strides in elements, of an array of NumPy or PyTorch."""
    if isinstance(array, np.ndarray):
        return tuple(s // array.itemsize for s in array.strides)
    return tuple(array.stride())


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _blocks(case: Case) -> dict[str, int]:
    return dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), case.block, strict=True))


def _operands(case: Case, random: np.random.Generator) -> Data:
    """a [m, k], b [k, n]; the result in the type of its sum."""
    m, n, k = case.shape
    a = values(random, (m, k), case.dtype, columns=case.columns[0])
    b = values(random, (k, n), case.dtype, columns=case.columns[1])
    return Data((a, b), (poisoned((m, n), _SUMS.get(case.dtype, "float32")),))


def _exact(data: Data, case: Case) -> list[Numbers]:
    a, b = (x.astype(np.float64) for x in data.inputs)
    return [a @ b]


def _tiles(case: Case) -> int:
    return _cdiv(case.shape[0], case.block[0]) * _cdiv(case.shape[1], case.block[1])


def _arguments(data: Data, case: Case) -> tuple[Any, ...]:
    arrays = (*data.inputs, *data.outputs)
    return (*arrays, *case.shape, *(s for x in arrays for s in strides(x)))


def _matmul(data: Data, case: Case, start: Start) -> None:
    start(matmul, (_tiles(case),))(*_arguments(data, case), GROUP_M=2, **_blocks(case), **case.options)


def _persistent(data: Data, case: Case, start: Start) -> None:
    start(persistent_matmul, (3,))(*_arguments(data, case), PROGRAMS=3, **_blocks(case), **case.options)


def _descriptors(data: Data, case: Case, start: Start) -> None:
    m, n, k = case.block
    given = [
        TensorDescriptor.from_tensor(x, list(block))
        for x, block in zip((*data.inputs, *data.outputs), ((m, k), (k, n), (m, n)), strict=True)
    ]
    start(matmul_descriptor, (_tiles(case),))(*given, *case.shape, GROUP_M=2, **_blocks(case), **case.options)


def _persistent_descriptors(data: Data, case: Case, start: Start) -> None:
    arrays = (*data.inputs, *data.outputs)
    steps = [strides(x)[0] for x in arrays]
    start(persistent_matmul_descriptor, (3,))(
        *arrays, *case.shape, *steps, PROGRAMS=3, **_blocks(case), **case.options
    )


def _starts(case: Case) -> list[int]:
    """Starts of the groups: a third of the rows, none, one, the rest."""
    m = case.shape[0]
    return [0, m // 3, m // 3, m // 3 + 1, m]


def _groups(case: Case, random: np.random.Generator) -> Data:
    m, n, k = case.shape
    starts = np.array(_starts(case), np.int32)
    a, b = values(random, (m, k), case.dtype), values(random, (len(starts) - 1, k, n), case.dtype)
    return Data((a, b, starts), (poisoned((m, n), "float32"),))


def _grouped(data: Data, case: Case, start: Start) -> None:
    a, b, starts = data.inputs
    _, n, k = case.shape
    groups = len(_starts(case)) - 1
    start(grouped_matmul, (3,))(
        a,
        b,
        data.outputs[0],
        starts,
        groups,
        n,
        k,
        k,
        k * n,
        n,
        n,
        PROGRAMS=3,
        **_blocks(case),
        **case.options,
    )


def _exact_groups(data: Data, case: Case) -> list[Numbers]:
    a, b, starts = data.inputs
    a, b = a.astype(np.float64), b.astype(np.float64)
    return [np.concatenate([a[i:j] @ b[g] for g, (i, j) in enumerate(pairwise(starts))])]


def out_size(size: int, taps: int, stride: int, padding: int, dilation: int) -> int:
    """Pixels of a convolution's result along one side."""
    return (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1


def _images(case: Case, random: np.random.Generator) -> Data:
    """shape: images, height, width, channels, filters, taps along y and x, stride, padding, dilation."""
    images, height, width, channels, filters, taps_y, taps_x, *how = case.shape
    stride, padding, dilation = how
    x = values(random, (images, height, width, channels), case.dtype)
    w = values(random, (taps_y, taps_x, channels, filters), case.dtype)
    out = (
        out_size(height, taps_y, stride, padding, dilation),
        out_size(width, taps_x, stride, padding, dilation),
    )
    return Data((x, w), (poisoned((images, *out, filters), "float32"),))


def _convolve(data: Data, case: Case, start: Start) -> None:
    images, height, width, channels, filters, taps_y, taps_x, stride, padding, dilation = case.shape
    _, out_height, out_width, _ = data.outputs[0].shape
    m, n, _ = case.block
    grid = (_cdiv(images * out_height * out_width, m) * _cdiv(filters, n),)
    start(convolution, grid)(
        *data.inputs, *data.outputs, images, height, width, out_height, out_width,
        CHANNELS=channels, FILTERS=filters, TAPS_Y=taps_y, TAPS_X=taps_x,
        STRIDE=stride, PADDING=padding, DILATION=dilation, **_blocks(case), **case.options,
    )  # fmt: skip


def _convolved(data: Data, case: Case) -> list[Numbers]:
    """Tap by tap: a shifted, thinned image times the tap's matrix."""
    stride, padding, dilation = case.shape[-3:]
    x, w = (v.astype(np.float64) for v in data.inputs)
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    images, rows, columns, filters = data.outputs[0].shape
    made = np.zeros((images, rows, columns, filters))
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            part = x[:, i * dilation :, j * dilation :][:, ::stride, ::stride][:, :rows, :columns]
            made += part @ w[i, j]
    return [made]


MATMULS = (
    Program(
        name="matmul", bounds={k: v for k, v in _BOUNDS.items() if k != "float64"}, small=_SMALL, few=_FEW, large=_LARGE, columns=_ORDERS,
        make=_operands, launch=_matmul, oracle=_exact,
    ),
    Program(
        name="matmul through descriptors", bounds=_WIDE, small=_SMALL, few=_FEW, large=_LARGE,
        make=_operands, launch=_descriptors, oracle=_exact,
    ),
    Program(
        name="persistent matmul", bounds=_BOUNDS, small=_SMALL, few=_FEW, large=_LARGE, columns=_ORDERS,
        make=_operands, launch=_persistent, oracle=_exact,
    ),
    Program(
        name="persistent matmul through descriptors", bounds=_WIDE, small=_SMALL, few=_FEW, large=_LARGE,
        make=_operands, launch=_persistent_descriptors, oracle=_exact,
    ),
    Program(
        name="grouped matmul", bounds=_WIDE, small=_SMALL, few=_FEW, large=_LARGE,
        make=_groups, launch=_grouped, oracle=_exact_groups,
    ),
    Program(
        name="convolution", bounds=_WIDE,
        small=Sizes(((2, 5, 4, 40, 24, 3, 1, 1, 1, 1), (1, 9, 8, 16, 32, 2, 2, 2, 2, 2)), _SMALL.blocks),
        few=Sizes(((1, 9, 8, 24, 40, 3, 2, 1, 1, 1), (1, 13, 14, 72, 96, 2, 3, 2, 3, 2)), _LARGE.blocks),
        large=Sizes(((3, 17, 14, 72, 96, 3, 3, 1, 1, 1), (2, 30, 31, 64, 128, 5, 3, 2, 3, 2)), _LARGE.blocks),
        make=_images, launch=_convolve, oracle=_convolved,
    ),
)  # fmt: skip
