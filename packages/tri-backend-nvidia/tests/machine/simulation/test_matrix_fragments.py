"""The simulator's statement of the manual's fragments, and that the compiler's layouts say the same."""

from __future__ import annotations

import numpy as np
import pytest

from tri_backend_nvidia.machine.simulation.matrix_fragments import LANES, A, B, C, places
from tri_backend_nvidia.mma import NvidiaMma

#: shape, bits of an operand's element, (rows, columns) of A, B, C
INSTRUCTIONS = [
    ("m16n8k16", 16, ((16, 16), (16, 8), (16, 8))),
    ("m16n8k8", 32, ((16, 8), (8, 8), (16, 8))),
    ("m16n8k32", 8, ((16, 32), (32, 8), (16, 8))),
    ("m16n8k64", 4, ((16, 64), (64, 8), (16, 8))),
    ("m8n8k4", 64, ((8, 4), (4, 8), (8, 8))),
]
#: elements of an operand next to each other along k in a lane
K_WIDTH = {16: 2, 32: 1, 8: 4, 4: 8, 64: 1}


@pytest.mark.parametrize("role", [A, B, C])
@pytest.mark.parametrize(("shape", "bits", "sizes"), INSTRUCTIONS)
def test_every_element_has_one_place(shape: str, bits: int, sizes: tuple, role: int) -> None:  # type: ignore[type-arg]
    rows, columns = places(shape, bits, role)
    held = np.zeros(sizes[role], int)
    np.add.at(held, (rows, columns), 1)
    assert (held == 1).all()


@pytest.mark.parametrize("role", [A, B, C])
@pytest.mark.parametrize(("shape", "bits", "sizes"), INSTRUCTIONS)
def test_the_compilers_layouts_agree(shape: str, bits: int, sizes: tuple, role: int) -> None:  # type: ignore[type-arg]
    rows, columns = places(shape, bits, role)
    fragment = NvidiaMma(instr_shape=(sizes[C][0], 8)).fragment(role, 0 if role == C else K_WIDTH[bits])
    assert fragment.in_size("register") == rows.shape[1]
    for lane in range(LANES):
        for i in range(rows.shape[1]):
            placed = fragment.apply({"register": i, "lane": lane})
            assert (placed["dim0"], placed["dim1"]) == (rows[lane, i], columns[lane, i]), (lane, i)


@pytest.mark.parametrize(
    ("shape", "bits", "role", "lane", "i", "row", "column"),
    [  # read off the manual's figures
        ("m16n8k16", 16, A, 5, 2, 9, 2), ("m16n8k16", 16, A, 31, 7, 15, 15), ("m16n8k16", 16, B, 6, 3, 13, 1),
        ("m16n8k16", 16, C, 9, 3, 10, 3), ("m16n8k8", 32, A, 4, 3, 9, 4), ("m16n8k8", 32, B, 7, 1, 7, 1),
        ("m16n8k32", 8, A, 1, 9, 0, 21), ("m16n8k32", 8, B, 30, 5, 25, 7), ("m16n8k64", 4, A, 1, 17, 0, 41), ("m16n8k64", 4, A, 9, 12, 10, 12),
        ("m16n8k64", 4, B, 30, 9, 49, 7), ("m8n8k4", 64, A, 6, 0, 1, 2),
        ("m8n8k4", 64, B, 6, 0, 2, 1), ("m8n8k4", 64, C, 31, 1, 7, 7),
    ],
)  # fmt: skip
def test_places_of_the_manual(
    shape: str, bits: int, role: int, lane: int, i: int, row: int, column: int
) -> None:
    rows, columns = places(shape, bits, role)
    assert (rows[lane, i], columns[lane, i]) == (row, column)


def test_an_unknown_instruction() -> None:
    with pytest.raises(ValueError, match="m8n8k16"):
        places("m8n8k16", 8, A)
