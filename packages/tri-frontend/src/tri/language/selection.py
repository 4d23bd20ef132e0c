"""Choices between values: where, minimum, maximum, clamp."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.arithmetic import operands, operands_of_three
from tri.language.builtin import builtin
from tri.language.casts import convert, value_of
from tri.language.shapes import broadcast_pair, stretch
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["PropagateNan", "clamp", "maximum", "minimum", "where"]


class PropagateNan(enum.IntEnum):
    """Propagation of NaN by minimum, maximum and clamp."""

    NONE = 0
    ALL = 0xFFFF


#: (maximum?, kind) -> op; floats with and without propagation of NaN
_EXTREMA = {
    ("max", "nan"): "arith.maximumf",
    ("max", "number"): "arith.maxnumf",
    ("max", "signed"): "arith.maxsi",
    ("max", "unsigned"): "arith.maxui",
    ("min", "nan"): "arith.minimumf",
    ("min", "number"): "arith.minnumf",
    ("min", "signed"): "arith.minsi",
    ("min", "unsigned"): "arith.minui",
}


def _check_nan(propagate_nan: object) -> PropagateNan:
    if not isinstance(propagate_nan, PropagateNan):
        raise CompilationError(
            f"propagate_nan is {propagate_nan!r}", remedy="use tl.PropagateNan.ALL or .NONE"
        )
    return propagate_nan


def _extremum(b: Builder, which: str, x: Any, y: Any, propagate_nan: object) -> tensor:
    name = f"{which}imum"
    left, right = operands(b, name, x, y)
    scalar = left.dtype
    nan = _check_nan(propagate_nan) is PropagateNan.ALL
    if scalar.is_floating():
        kind = "nan" if nan else "number"
    else:
        kind = "signed" if scalar.is_int_signed() else "unsigned"
    return b.value(_EXTREMA[which, kind], left.type, left, right)


@builtin
def maximum(x: Any, y: Any, propagate_nan: PropagateNan = PropagateNan.NONE, *, _semantic: Builder) -> tensor:
    """The larger of ``x`` and ``y``, elementwise: promoted to one dtype, broadcast to one shape.

    Of a NaN and a number it gives the number, with ``propagate_nan=PropagateNan.ALL`` NaN.  CompilationError for pointers and
    for shapes that do not broadcast.
    """
    return _extremum(_semantic, "max", x, y, propagate_nan)


@builtin
def minimum(x: Any, y: Any, propagate_nan: PropagateNan = PropagateNan.NONE, *, _semantic: Builder) -> tensor:
    """The smaller of ``x`` and ``y``, elementwise: promoted to one dtype, broadcast to one shape.

    Of a NaN and a number it gives the number, with ``propagate_nan=PropagateNan.ALL`` NaN.  CompilationError for pointers and
    for shapes that do not broadcast.
    """
    return _extremum(_semantic, "min", x, y, propagate_nan)


@builtin
def clamp(
    x: Any, min: Any, max: Any, propagate_nan: PropagateNan = PropagateNan.NONE, *, _semantic: Builder
) -> tensor:
    """``x`` held between ``min`` and ``max``, elementwise: promoted to one dtype, broadcast to one shape; undefined when ``min > max``.

    ``propagate_nan``: as for :func:`maximum`.  CompilationError for pointers and for shapes that do not broadcast.
    """
    b = _semantic
    nan = _check_nan(propagate_nan)
    x, low, high = operands_of_three(b, "clamp", x, min, max)
    if not x.dtype.is_floating():
        return _extremum(b, "min", _extremum(b, "max", x, low, nan), high, nan)
    return b.value("tt.clampf", x.type, x, low, high, attributes={"propagateNan": b.i32(int(nan))})


@builtin
def where(condition: Any, x: Any, y: Any, *, _semantic: Builder) -> tensor:
    """``x`` where ``condition`` (compared with 0 if it is not int1) is true, else ``y``, elementwise; both are computed everywhere.

    ``x`` and ``y`` are numbers promoted to one dtype, or pointers of one type; all three are broadcast to one shape.
    CompilationError for a pointer beside another type, and for shapes that do not broadcast.
    """
    b = _semantic
    truth = convert(b, value_of(b, condition), t.int1)
    x, y = operands(b, "where", x, y, pointers=True)
    if dimensions(truth):
        truth, x = broadcast_pair(b, truth, x)
        x, y = broadcast_pair(b, x, y)
        truth = stretch(b, truth, dimensions(x))
    return b.value("arith.select", x.type, truth, x, y)
