"""The text of ``device_print``."""

from __future__ import annotations

import ctypes
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.printing import hexadecimal, hexadecimal_float, label, line_format


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


@pytest.mark.parametrize(
    ("prefix", "operands", "text"),
    [
        ("", 1, ": "),
        ("x", 1, " x: "),
        ("x:", 2, " x: "),
        (" x: ", 1, " x: "),
        ("x :", 1, " x : "),
        ("x  ", 1, " x : "),
        ("no arg", 0, " no arg"),
        (" no arg", 0, " no arg"),
        ("", 0, ""),
    ],
)
def test_labels_are_as_triton_makes_them(prefix: str, operands: int, text: str) -> None:
    assert label(prefix, operands) == text


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -0.25, 0.1, 5e-324, 1.7976931348623157e308])
def test_hexadecimal_floats_are_those_of_c(value: float) -> None:
    libc, text = ctypes.CDLL(None), ctypes.create_string_buffer(64)
    libc.snprintf(text, ctypes.c_size_t(64), b"%a", ctypes.c_double(value))
    assert hexadecimal_float(value) == text.value.decode()
    assert float.fromhex(hexadecimal_float(value)) == value


def test_hexadecimal_floats_that_are_no_numbers() -> None:
    assert [hexadecimal_float(v) for v in (math.inf, -math.inf, math.nan)] == ["inf", "-inf", "nan"]


@given(st.integers(1, 64), st.data())
def test_hexadecimal_has_all_digits(width: int, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, (1 << width) - 1))
    text = hexadecimal(bits, width)
    assert int(text, 16) == bits
    assert re.fullmatch(rf"0x[0-9a-f]{{{-(-width // 4)}}}", text)
