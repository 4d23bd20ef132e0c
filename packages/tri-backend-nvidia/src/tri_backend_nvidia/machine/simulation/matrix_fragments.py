"""Fragments of ``mma.sync``: the matrix element of each (register, lane), by the manual's formulas.

PTX ISA 9.7.14.5, "Matrix Fragments for mma.m16n8k16 with floating point type" and the sections after it.  The simulator
computes by these and by nothing else: they share no line with the layouts that the compiler uses
(:meth:`tri_backend_nvidia.mma.NvidiaMma.fragment`), so a layout that is wrong gives wrong numbers there.

``group`` is the manual's groupID (lane // 4), ``member`` its threadID_in_group (lane % 4), ``i`` the number of the
element in the lane's fragment.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LANES", "A", "B", "C", "places"]

Array = npt.NDArray[Any]
#: group, member, i -> row, column
Formula = Callable[[Array, Array, Array], tuple[Array, Array]]

LANES = 32
#: the left operand, the right one, the accumulator (and the result)
A, B, C = 0, 1, 2


def _a_16_bit(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    upper = (i < 2) | ((i >= 4) & (i < 6))
    return np.where(upper, group, group + 8), member * 2 + (i & 1) + np.where(i < 4, 0, 8)


def _b_16_bit(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return member * 2 + (i & 1) + np.where(i < 2, 0, 8), group + 0 * i


def _a_tf32(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    upper = (i == 0) | (i == 2)
    return np.where(upper, group, group + 8), np.where(i < 2, member, member + 4)


def _b_tf32(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return np.where(i == 0, member, member + 4), group + 0 * i


def _a_8_bit(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    upper = (i < 4) | ((i >= 8) & (i < 12))
    return np.where(upper, group, group + 8), member * 4 + (i & 3) + np.where(i < 8, 0, 16)


def _b_8_bit(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return member * 4 + (i & 3) + np.where(i < 4, 0, 16), group + 0 * i


def _a_4_bit(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    upper = (i < 8) | ((i >= 16) & (i < 24))
    return np.where(upper, group, group + 8), member * 8 + (i & 7) + np.where(i < 16, 0, 32)


def _b_4_bit(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return member * 8 + (i & 7) + np.where(i < 8, 0, 32), group + 0 * i


def _c_tall(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return np.where(i < 2, group, group + 8), member * 2 + (i & 1)


def _a_f64(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return group + 0 * i, member + 0 * i


def _b_f64(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return member + 0 * i, group + 0 * i


def _c_f64(group: Array, member: Array, i: Array) -> tuple[Array, Array]:
    return group + 0 * i, member * 2 + (i & 1)


#: (shape, bits of an operand's element) -> formula and elements per lane of A, B and C
_FRAGMENTS: dict[tuple[str, int], tuple[tuple[Formula, int], tuple[Formula, int], tuple[Formula, int]]] = {
    ("m16n8k16", 16): ((_a_16_bit, 8), (_b_16_bit, 4), (_c_tall, 4)),
    ("m16n8k8", 32): ((_a_tf32, 4), (_b_tf32, 2), (_c_tall, 4)),
    ("m16n8k32", 8): ((_a_8_bit, 16), (_b_8_bit, 8), (_c_tall, 4)),
    ("m16n8k64", 4): ((_a_4_bit, 32), (_b_4_bit, 16), (_c_tall, 4)),
    ("m8n8k4", 64): ((_a_f64, 1), (_b_f64, 1), (_c_f64, 2)),
}


@cache
def places(shape: str, bits: int, role: int) -> tuple[Array, Array]:
    """Row and column of every (lane, element) of a fragment, int, (32, elements) each.

    ``shape`` is ``m16n8k16`` and its like, ``bits`` the size of an operand's element, ``role`` one of A, B, C.
    ValueError for an instruction that is not in the table.
    """
    if (shape, bits) not in _FRAGMENTS:
        raise ValueError(f"mma.{shape} of {bits}-bit elements has no fragments here")
    formula, count = _FRAGMENTS[shape, bits][role]
    lane = np.arange(LANES)[:, None]
    rows, columns = formula(lane >> 2, lane % 4, np.arange(count)[None, :])
    return rows, columns
