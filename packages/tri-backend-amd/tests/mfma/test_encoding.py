"""Layouts of fragments are those that AMD's instruction set guides list, which the simulator follows too."""

from __future__ import annotations

import numpy as np
import pytest

from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import LANES, VERSIONS, Form, forms
from tri_backend_amd.mfma.lanes import operand_places, result_places
from tri_backend_amd.mfma.table import matrix_instructions
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER

BLOCKS = 16
ALL = sorted({form for chip in VERSIONS for form in forms(chip)}, key=str)


def _encoding(form: Form) -> AmdMfma:
    return AmdMfma(
        instr_shape=(form.m, form.n, form.k),
        is_transposed=form.m != 4,
        element_bit_width=64 if form.total == "f64" else 32,
    )


def _held(encoding: AmdMfma, role: int, k_width: int) -> np.ndarray:
    """(lane, register, 2): the row and column that a fragment's layout gives."""
    layout = encoding.fragment(role, k_width)
    lanes, registers = (np.array([layout.unpack_out(i) for i in layout.images(d)]) for d in (LANE, REGISTER))
    assert len(lanes) == LANES
    return lanes[:, None, :] ^ registers[None, :, :]


@pytest.mark.parametrize("form", ALL, ids=lambda f: f"{f.intrinsic}-{f.m}")
def test_results_and_operands_lie_as_documented(form: Form) -> None:
    encoding, double = _encoding(form), form.total == "f64"
    # the instruction's own operands: a transposed product has B's columns as rows
    m, n = (form.n, form.m) if encoding.is_transposed else (form.m, form.n)
    if form.is_small:
        block, row, column = result_places(4, 4, BLOCKS)
        column = (
            column + 4 * block
        )  # every block has the whole of the small operand and 4 columns of the other
    else:
        _, row, column = result_places(m, n, double=double)
    held = _held(encoding, ACCUMULATOR, 0)
    expected = (column, row) if encoding.is_transposed else (row, column)
    np.testing.assert_array_equal(held, np.stack(expected, axis=-1))
    for role, size in ((0, form.m), (1, form.n)):
        held = _held(encoding, role, form.k_width)
        inner = held[..., 1 - role]
        outer = held[..., role]
        if form.is_small:
            block, across, depth = operand_places(4, form.per_lane, BLOCKS)
            if size == 4:  # block i has the k of instruction i
                depth = depth + form.per_lane * block
            else:
                across = across + 4 * block
                steps = [depth + form.per_lane * i for i in range(BLOCKS)]
                across, depth = np.tile(across, BLOCKS), np.concatenate(steps, axis=1)
        else:
            _, across, depth = operand_places(size, form.k, halves=2 if form.formats else 1)
        np.testing.assert_array_equal(outer, across)
        np.testing.assert_array_equal(inner, depth)


def test_places_of_the_guides_own_examples() -> None:
    # v_mfma_f32_32x32x8_f16: lane 33 has row 1 of A and k of 4 to 7; register 5 of a result is 8 rows below register 1
    _, row, depth = operand_places(32, 8)
    assert (row[33, 0], list(depth[33])) == (1, [4, 5, 6, 7])
    _, row, column = result_places(32, 32)
    assert (row[33, 5], column[33, 5]) == (13, 1)
    # v_mfma_f32_4x4x4_16b_f16: lanes in fours are blocks
    block, row, column = result_places(4, 4, 16)
    assert (block[9, 2], row[9, 2], column[9, 2]) == (2, 2, 1)
    # v_mfma_f64_16x16x4_f64: rows one by one, 4 apart
    _, row, column = result_places(16, 16, double=True)
    assert (list(row[17]), column[17, 0]) == ([1, 5, 9, 13], 1)
    # v_mfma_f32_32x32x64_f8f6f4: 16 bytes of the lower half of k, 16 of the upper
    _, _, depth = operand_places(32, 64, halves=2)
    assert (depth[32, 0], depth[32, 16]) == (16, 48)


@pytest.mark.parametrize("chip", VERSIONS)
@pytest.mark.parametrize("kpack", [1, 2])
def test_operands_of_a_row_agree_along_k(chip: str, kpack: int) -> None:
    """Both operands give the same elements of k to an instruction, in one order."""
    for row in matrix_instructions(chip, kpack):
        m, n, k = row.shape
        sides = [_held(row.encoding, role, row.k_width)[..., 1 - role] for role in (0, 1)]
        if min(m, n) > 4:
            np.testing.assert_array_equal(*sides)
        for side in sides:
            assert set(side.flatten()) == set(range(k))
