"""Layouts of fragments are those that AMD's instruction set guides show, which the simulator follows too."""

from __future__ import annotations

import numpy as np
import pytest

from tri_backend_amd.wmma.encoding import AmdWmma
from tri_backend_amd.wmma.forms import LANES, SIDE, VERSIONS, Form, forms
from tri_backend_amd.wmma.lanes import matrix_of, result_places
from tri_backend_amd.wmma.table import matrix_instructions
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP


def _held(encoding: AmdWmma, role: int, k_width: int) -> np.ndarray:
    """(lane, register, 2): the row and column that a fragment's layout gives."""
    layout = encoding.fragment(role, k_width)
    lanes, registers = (np.array([layout.unpack_out(i) for i in layout.images(d)]) for d in (LANE, REGISTER))
    assert len(lanes) == LANES
    return lanes[:, None, :] ^ registers[None, :, :]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("chip", VERSIONS)
def test_results_lie_as_documented(chip: str, transposed: bool) -> None:
    row, column = result_places(VERSIONS[chip])
    held = _held(AmdWmma(VERSIONS[chip], transposed), ACCUMULATOR, 0)
    expected = (column, row) if transposed else (row, column)
    np.testing.assert_array_equal(held, np.stack(expected, axis=-1))


@pytest.mark.parametrize("chip", VERSIONS)
def test_operands_lie_as_the_simulator_reads_them(chip: str) -> None:
    version = VERSIONS[chip]
    for row in matrix_instructions(chip):
        numbers = np.arange(SIDE * row.shape[2]).reshape(SIDE, -1)
        left, right = (_held(row.encoding, role, row.k_width) for role in (0, 1))
        given = [numbers[left[..., 0], left[..., 1]], numbers.T[right[..., 0], right[..., 1]]]
        for each in given:
            np.testing.assert_array_equal(matrix_of(each[None], version)[0], numbers)


#: rows of an operand of CDNA5 along k, by its depth: what bits of a register mean, and the lane's highest bit; Triton 3.9's
#: linear layouts of its version 3 say the same
DEPTHS = {32: ((1, 2, 4, 16), 8), 64: ((1, 2, 4, 16, 32), 8), 128: ((1, 2, 4, 16, 32, 64), 8), 4: ((1,), 2)}


@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.parametrize("form", forms("gfx1250"), ids=lambda form: f"{form.a}-{form.b}-{form.k}")
def test_operands_of_cdna5_are_pieces_of_16_along_k(form: Form, role: int) -> None:
    encoding = AmdWmma(version=form.version, is_transpose=True, instr_shape=(SIDE, SIDE, form.k))
    bases = encoding.fragment(role, form.k_width).bases
    registers, highest = DEPTHS[form.k]
    along_k = (lambda k: (0, k)) if role == 0 else (lambda k: (k, 0))
    across = (lambda i: (i, 0)) if role == 0 else (lambda i: (0, i))
    assert bases[REGISTER] == tuple(map(along_k, registers))
    assert bases[LANE] == (*map(across, (1, 2, 4, 8)), along_k(highest))


def test_halves_of_rdna3_that_differ_are_noticed() -> None:
    elements = np.zeros((1, LANES, SIDE))
    elements[0, 3, 5], elements[0, 4, 6], elements[0, 20, 6] = 1, np.nan, np.nan
    found = matrix_of(elements, 1)[0]
    assert np.isnan(found[3, 5])
    assert np.isnan(found[4, 6])
    assert np.count_nonzero(np.nan_to_num(found)) == 0


def test_warps_are_spread_along_the_last_dimension_first() -> None:
    row = matrix_instructions("gfx1201")[0]
    assert row.result((64, 64), (2, 4)).warp == ((0, 1), (0, 2), (1, 0))
    layout = row.result((4, 32, 32), (2, 1, 2)).linear_layout((4, 32, 32))
    assert layout.bases[WARP] == ((0, 0, 16), (1, 0, 0))
    assert layout.is_surjective


def test_each_generation_has_its_types() -> None:
    kinds = {chip: {(f.a, f.b) for f in forms(chip)} for chip in (*VERSIONS, "gfx1030", "gfx942")}
    assert kinds["gfx1100"] == {(k, k) for k in ("f16", "bf16", "i8")}
    assert kinds["gfx1200"] == kinds["gfx1201"] > kinds["gfx1100"]
    assert ("f8E4M3FN", "f8E5M2") in kinds["gfx1201"]
    assert kinds["gfx1250"] == {*kinds["gfx1201"], ("f32", "f32")}
    assert not kinds["gfx1030"]
    assert not kinds["gfx942"]
