"""The lines of ``tl.device_print``: one text for all targets, that of Triton's GPUs.

A line shows one element: ``pid (0, 0, 0) idx ( 3, 12) prefix: (operand 1) value``.  Places are as wide as the largest of
their dimension, floats have six digits behind the point, hexadecimal numbers all digits of their type.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["hexadecimal", "line_format"]

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


def hexadecimal(bits: int, width: int) -> str:
    """The number of ``width`` bits with all its digits."""
    return f"0x{bits:0{max(-(-width // 4), 1)}x}"


def _escaped(prefix: str) -> str:
    return prefix.replace("{", "{{").replace("}", "}}")


def _width(extent: int) -> int:
    """Digits of the largest place in a dimension of so many."""
    return len(str(extent - 1))
