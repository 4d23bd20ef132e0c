"""The text of ``device_print``."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.printing import hexadecimal, line_format


@pytest.mark.parametrize(
    ("shape", "place", "text"),
    [
        ((), (), ""),
        ((128,), (7,), "  7"),
        ((64, 128), (3, 100), " 3, 100"),
        ((1, 10), (0, 9), "0, 9"),
        ((16,), (3,), " 3"),
    ],
)
def test_a_line(shape: tuple[int, ...], place: tuple[int, ...], text: str) -> None:
    assert line_format(" x: ", 1, 0, shape).format(1, 2, 3, *place, "v") == f"pid (1, 2, 3) idx ({text}) x: v"
    assert (
        line_format(": ", 2, 1, shape).format(0, 0, 0, *place, 5)
        == f"pid (0, 0, 0) idx ({text}): (operand 1) 5"
    )


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_any_prefix_is_kept(prefix: str) -> None:
    assert line_format(prefix, 0).format(0, 1, 0) == f"pid (0, 1, 0){prefix}"
    assert line_format(prefix, 1, 0, (8,)).format(0, 1, 0, 2, "v") == f"pid (0, 1, 0) idx (2){prefix}v"


@given(st.integers(1, 64), st.data())
def test_hexadecimal_has_all_digits(width: int, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, (1 << width) - 1))
    text = hexadecimal(bits, width)
    assert int(text, 16) == bits
    assert re.fullmatch(rf"0x[0-9a-f]{{{-(-width // 4)}}}", text)
