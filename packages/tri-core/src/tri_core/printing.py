"""The lines of ``tl.device_print``: one text for all targets, that of Triton's GPUs.

A line shows one element: ``pid (0, 0, 0) idx ( 3, 12) prefix: (operand 1) value``.  Places are as wide as the largest of
their dimension, floats have six digits behind the point, hexadecimal integers all digits of their type, and floats of 16 bits
and more are as C's ``%a`` writes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["NARROWEST_FLOAT", "hexadecimal", "hexadecimal_float", "label", "line_format"]

#: bits of the narrowest floats that are printed as such in hexadecimal; of narrower ones the bits are
NARROWEST_FLOAT = 16
_PROGRAM = "pid ({}, {}, {})"


def line_format(prefix: str, operands: int, operand: int = 0, shape: Sequence[int] | None = None) -> str:
    """A format (as :meth:`str.format` takes it) of the program's three ids, the place, and the text of the value.

    ``operands``: how many the print has; with none of them, the line ends with ``prefix``.  ``shape`` is that of
    ``operand``, None or empty for a scalar.
    """
    if not operands:
        return f"{_PROGRAM}{_escaped(prefix)}"
    place = ", ".join(f"{{:{_width(extent)}}}" for extent in shape or ())
    which = f"(operand {operand}) " if operands > 1 else ""
    return f"{_PROGRAM} idx ({place}){_escaped(prefix)}{which}{{}}"


def label(prefix: str, operands: int) -> str:
    """``prefix`` as it stands between the place and the value: behind a blank, and before values with a colon."""
    if operands:
        prefix = f"{prefix.removesuffix(' ').removesuffix(':')}: "
    return prefix if prefix == ": " or not prefix or prefix.startswith(" ") else f" {prefix}"


def hexadecimal(bits: int, width: int) -> str:
    """The number of ``width`` bits with all its digits."""
    return f"0x{bits:0{max(-(-width // 4), 1)}x}"


def hexadecimal_float(value: float) -> str:
    """``value`` as C's ``%a`` writes it: its digits, without zeros at the end, and a power of two."""
    if not math.isfinite(value):
        return f"{value:f}"
    digits, power = value.hex().split("p")
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}{'.' * bool(fraction)}{fraction}p{power}"


def _escaped(prefix: str) -> str:
    return prefix.replace("{", "{{").replace("}", "}}")


def _width(extent: int) -> int:
    """Digits of the largest place in a dimension of so many."""
    return len(str(extent - 1))
