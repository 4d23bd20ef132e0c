"""Lines that a kernel prints, in the terms of C's ``printf``: what drivers' functions take, and what a simulator writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any

from tri_core.mlir import ir
from tri_core.printing import hexadecimal_float
from tri_gpu_dialect.lowering.builder import Builder

if TYPE_CHECKING:
    from tri_gpu_dialect.lowering.machine import SimulatedCTA

__all__ = ["fill_format", "format_for_c", "print_in_simulator"]


def format_for_c(
    b: Builder, prefix: str, args: Sequence[ir.Value], signed: Sequence[bool], hex_: bool
) -> tuple[str, list[ir.Value]]:
    """C's format of one line, and ``args`` promoted as variadic arguments are.

    ``prefix`` is a format as :func:`tri_core.printing.line_format` makes it: each field is replaced by one of ``args``,
    the rest of them follow it.  The last is hexadecimal if ``hex_``: an integer with all digits of its type, a float as ``%a``.
    """
    digits = [0] * len(args)
    if hex_ and args and isinstance(args[-1].type, ir.IntegerType):
        digits[-1], signed = max(args[-1].type.width // 4, 1), [*signed[:-1], False]
    promoted = [_promote(b, a, s) for a, s in zip(args, signed, strict=True)]
    pieces = [_conversion(b, *each) for each in zip(promoted, signed, digits, strict=True)]
    if hex_ and args and isinstance(args[-1].type, ir.FloatType):
        pieces[-1] = "%a"
    return fill_format(prefix, pieces), promoted


def fill_format(prefix: str, conversions: Sequence[str]) -> str:
    """C's format of a line: the fields of ``prefix`` replaced by ``conversions``, which take their widths; the rest follows."""
    left = list(conversions)
    pieces = []
    for text, name, width, _ in Formatter().parse(prefix):
        pieces.append(text.replace("%", "%%"))
        if name is not None:
            pieces.append(left.pop(0).replace("%", f"%{width}", 1))
    return " ".join(["".join(pieces), *left]) + "\n"


def _promote(b: Builder, value: ir.Value, signed: bool) -> ir.Value:
    if isinstance(value.type, ir.IntegerType):
        return value if value.type.width >= 32 else b.int_cast(value, b.i32, signed and value.type.width > 1)
    if isinstance(value.type, ir.FloatType):
        return value if value.type == b.f64 else b.op("llvm.fpext", (value,), b.f64)
    return b.ptr_to_int(value)


def _conversion(b: Builder, value: ir.Value, signed: bool, digits: int) -> str:
    """C's conversion; hexadecimal with so many ``digits`` unless 0."""
    if value.type == b.f64:
        return "%f"
    letter = "x" if digits else "d" if signed else "u"
    prefix = f"0x%0{digits}" if digits else "%"
    return f"{prefix}{'ll' if value.type.width == 64 else ''}{letter}"


# --- what a simulator writes ------------------------------------------------------------------------------

_CONVERSION = re.compile(r"%(\d+)?(l*)([duxfa%])")


def print_in_simulator(cta: SimulatedCTA, text: str, operands: Sequence[Any]) -> None:
    """Write C's format ``text`` to standard output for every active thread of ``cta``, in order.

    ``operands`` are arrays over the threads: integers (signed, whatever the format says) and floats.
    """
    rows = [[operand[thread].item() for operand in operands] for thread in cta.active.nonzero()[0]]
    bits = [8 * operand.dtype.itemsize for operand in operands]
    sys.stdout.write("".join(_line(text, row, bits) for row in rows))


def _line(text: str, row: Sequence[Any], bits: Sequence[int]) -> str:
    values: Iterator[tuple[Any, int]] = iter(zip(row, bits, strict=True))

    def shown(found: re.Match[str]) -> str:
        width, _, letter = found.groups()
        if letter == "%":
            return "%"
        value, size = next(values)
        if letter in "ux":
            value %= 1 << size
        if letter == "a":
            return f"{hexadecimal_float(value):>{width or 0}}"
        return f"{value:{width or ''}{'d' if letter == 'u' else letter}}"

    return _CONVERSION.sub(shown, text)
