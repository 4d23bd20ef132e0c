"""``#ttg.amd_rotating_shared`` and ``#ttg.amd_wmma``: layouts by their definitions, text, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_backend_amd.dialect.encodings import RotatingShared
from tri_backend_amd.wmma.encoding import AmdWmma
from tri_core import text
from tri_core.mlir import ir, registry, session
from tri_core.plugins import manager
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.layouts import LinearLayout


def at(layout: LinearLayout, register: int, lane: int) -> tuple[int, ...]:
    image = layout.images("register")[register] ^ layout.images("lane")[lane]
    return layout.unpack_out(image)


POWERS = st.sampled_from([1, 2, 4, 8])


@given(vec=POWERS, per_phase=POWERS, max_phase=st.sampled_from([1, 2, 4, 8, 16]), rows_first=st.booleans())
def test_a_row_s_phase_rotates_from_block_to_block(
    vec: int, per_phase: int, max_phase: int, rows_first: bool
) -> None:
    """Element (row, column) lies in its row at column xor vec times the phase."""
    order, shape = ((1, 0), (64, 32)) if rows_first else ((0, 1), (32, 64))
    layout = RotatingShared(vec, per_phase, max_phase, order).linear_layout(shape)
    places = {layout.unpack_out(image): offset for offset, image in enumerate(layout.images("offset"))}
    for row in range(64):
        phase = (row // per_phase % max_phase) ^ (row // (per_phase * max_phase) % max_phase)
        for column in range(32):
            place = row * 32 + (column ^ phase * vec % 32)
            assert places[(row, column) if rows_first else (column, row)] == place


def test_rings_lie_one_buffer_after_the_other() -> None:
    encoding = RotatingShared(4, 1, 16, (0, 1))
    one, ring = encoding.linear_layout((16, 64)), encoding.linear_layout((2, 16, 64))
    assert [ring.unpack_out(i)[1:] for i in ring.images("offset")] == 2 * [
        one.unpack_out(i) for i in one.images("offset")
    ]


def test_transposed_rows_run_along_the_same_elements() -> None:
    encoding = RotatingShared(4, 1, 16, (1, 0))
    plain, turned = encoding.linear_layout((64, 32)), encoding.permuted((1, 0)).linear_layout((32, 64))
    assert [turned.unpack_out(i)[::-1] for i in turned.images("offset")] == [
        plain.unpack_out(i) for i in plain.images("offset")
    ]


# --- WMMA -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_a_lane_s_eight_elements(version: int, transposed: bool) -> None:
    """RDNA3: every second one of a column; RDNA4: neighbours."""
    layout = AmdWmma(version, transposed).linear_layout((16, 16))
    for lane in range(32):
        for register in range(8):
            along = 2 * register + lane // 16 if version == 1 else 8 * (lane // 16) + register
            place = (along, lane % 16)
            found = at(layout, register, lane)
            assert found == (place[::-1] if transposed else place)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("operand", [0, 1])
def test_operands_of_one_instruction(version: int, operand: int) -> None:
    layout = AmdWmma(version).operand_layout(operand, 16 if version == 1 else 8, (16, 16))
    for lane in range(32):
        for register in range(16 if version == 1 else 8):
            k = register if version == 1 else 8 * (lane // 16) + register
            found = at(layout, register, lane)
            assert found == ((lane % 16, k) if operand == 0 else (k, lane % 16))


def test_wavefronts_share_tiles_as_the_bases_say() -> None:
    encoding = AmdWmma(1, is_transpose=True, register=((0, 1),), warp=((0, 2), (1, 0)))
    layout = encoding.linear_layout((64, 128))
    assert layout.bases["warp"] == ((0, 32), (16, 0))
    assert layout.bases["register"][3:] == ((0, 16), (0, 64), (32, 0))
    left = encoding.operand_layout(0, 16, (64, 64))
    assert left.bases["warp"] == ((0, 0), (16, 0))
    assert np.prod([len(left.images(dim)) for dim in ("register", "lane")]) == 32 * 64 * 2


# --- text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        (RotatingShared(4, 1, 16, (0, 1)), "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [0, 1]}>"),
        (AmdWmma(1, True, (), ((0, 1), (1, 0))), "#ttg.amd_wmma<{version = 1, isTranspose = true, ctaLayout = {warp = [[0, 1], [1, 0]]}}>"),
        (
            AmdWmma(2, False, ((0, 1),), ((1, 0),), (16, 16, 32)),
            "#ttg.amd_wmma<{version = 2, isTranspose = false, ctaLayout = {register = [[0, 1]], warp = [[1, 0]]}, instrShape = [16, 16, 32]}>",
        ),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_the_text_is_triton_s(encoding: Encoding, shown: str) -> None:
    manager().register_ir(registry)
    with session():
        module = ir.Module.parse(f"module attributes {{ttg.x = {encoding.to_attr()}}} {{}}")
        printed = text.print_module(module, locations=False)
        assert shown in printed
        assert text.parse_module(printed).operation.attributes["ttg.x"] == encoding.to_attr()


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="powers of two"):
        RotatingShared(3, 1, 8, (1, 0))
    with pytest.raises(ValueError, match="permutation"):
        RotatingShared(4, 1, 8, (0, 0))
    with pytest.raises(ValueError, match="version 4"):
        AmdWmma(4)
    with pytest.raises(ValueError, match="instrShape"):
        AmdWmma(1, instr_shape=(32, 32, 8))
    with pytest.raises(ValueError, match="rank 3"):
        AmdWmma(1, warp=((0, 1),)).linear_layout((2, 16, 16))
