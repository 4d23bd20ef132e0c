"""Loads that are to be copies have the layout of their buffers; others keep theirs."""

from __future__ import annotations

import re

import pytest

from strided_kernels import compiled, run


def test_loads_have_the_layout_of_their_buffers() -> None:
    """Linear: pieces of a row in the order that the swizzle has them."""
    text = str(compiled("gfx950", "f16", (64, 64, 64), num_stages=3).asm["ttgir"])
    copies = [line for line in text.splitlines() if "ttg.async_copy_global_to_local" in line]
    # of either operand: two ahead of the loop, one in it
    assert len(copies) == 6
    assert all(re.search(r"tensor<64x64x.*#linear", line) for line in copies)
    assert re.search(
        r"#linear\d? = #ttg.linear<.*lane = \[\[0, 8\], \[0, 16\], \[0, 32\], \[1, 0\], \[2, 8\], \[4, 16\]\]",
        text,
    )


def test_addresses_are_computed_in_it_ahead_of_the_loop() -> None:
    text = str(compiled("gfx950", "f16", (64, 64, 64), num_stages=3).asm["ttgir"])
    first = text.index("scf.for")
    assert "ttg.convert_layout" not in text[first : text.index("scf.yield", first)]


@pytest.mark.parametrize("columns", [(False, False), (True, True), (True, False)])
def test_loops_with_an_operand_across_k_keep_theirs(columns: tuple[bool, bool]) -> None:
    _, text = run("gfx950", "f16", columns, (64, 64, 256), (64, 64, 64), num_stages=3)
    assert "#ttg.linear<" not in text


def test_loops_of_two_stages_keep_theirs() -> None:
    assert "#ttg.linear<" not in compiled("gfx950", "f16", (64, 64, 64), num_stages=2).asm["ttgir"]
