"""Checks and prints, while compiling and on the device; hints to the compiler; barriers."""

from __future__ import annotations

import logging
import string
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.arithmetic import logical_not, operands
from tri.language.builtin import builtin
from tri.language.casts import convert, value_of
from tri.language.shapes import CONSTEXPR_REMEDY
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError, CompileTimeAssertionFailure
from tri_core.printing import label

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "assume",
    "debug_barrier",
    "device_assert",
    "device_print",
    "max_constancy",
    "max_contiguous",
    "multiple_of",
    "static_assert",
    "static_print",
]

logger = logging.getLogger(__name__)


@builtin
def static_assert(cond: Any, msg: Any = "", *, _semantic: Builder) -> None:
    """Refuse to compile when the constexpr ``cond`` is false: CompileTimeAssertionFailure with ``msg``.

    CompilationError for a run-time ``cond``.
    """
    if isinstance(cond, tensor):
        raise CompilationError(
            "static_assert needs a constexpr condition, got a run-time value",
            remedy=f"use tl.device_assert for run-time values, or {CONSTEXPR_REMEDY}",
        )
    if not cond:
        raise CompileTimeAssertionFailure(f"static_assert failed: {msg}" if msg else "static_assert failed")


@builtin
def static_print(
    *values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False, _semantic: Builder
) -> None:
    """Print constexprs, types and such while compiling, as Python's ``print`` and with its errors: to ``file``, or to standard output."""
    print(*values, sep=sep, end=end, file=file, flush=flush)


@builtin
def device_print(prefix: str, *args: Any, hex: bool = False, _semantic: Builder) -> None:
    """Print ``prefix`` (a constexpr string) and the elements of ``args``, of any shape and dtype, from the kernel, a line for each.

    ``hex``: integers and pointers with all their hexadecimal digits, floats as C's ``%a`` (those of 8 bits as integers).
    CompilationError for a prefix that is not printable ASCII.
    """
    b = _semantic
    if not isinstance(prefix, str):
        raise CompilationError(
            "device_print's prefix is a constexpr string", remedy='e.g. device_print("x", x)'
        )
    if not set(prefix) <= set(string.printable):
        raise CompilationError(f"device_print's prefix {prefix!r} is not printable ASCII")
    values = [value_of(b, a) for a in args]
    attributes = {
        "prefix": b.string(label(prefix, len(args))),
        "hex": b.boolean(bool(hex)),
        "isSigned": b.i32_array([int(v.dtype.is_int_signed()) for v in values]),
    }
    b.create("tt.print", operands=values, attributes=attributes)


@builtin
def device_assert(cond: Any, msg: str = "", mask: Any = None, *, _semantic: Builder) -> None:
    """Fail the kernel with ``msg`` where ``cond`` is false and ``mask``, broadcast to one shape with it, true; only with debug=True.

    Both are int1, or numbers that are compared with 0.  Where it fails a later wait for the device raises KernelFault.
    """
    b = _semantic
    if not b.options.debug:
        return
    truth = convert(b, value_of(b, cond), t.int1)
    if mask is not None:
        allowed = logical_not(b, value_of(b, mask))
        x, y = operands(b, "|", truth, allowed)
        truth = b.value("arith.ori", x.type, x, y)
    b.create("tt.assert", operands=[truth], attributes={"message": b.string(str(msg))})


@builtin
def assume(cond: Any, *, _semantic: Builder) -> None:
    """Let the compiler rely on the scalar ``cond`` (int1, or a number that is compared with 0); undefined behaviour when it is false.

    CompilationError for a block.
    """
    b = _semantic
    if not isinstance(cond, tensor):
        return
    truth = convert(b, cond, t.int1)
    if dimensions(truth):
        raise CompilationError(f"assume takes a scalar condition, got {cond.type}")
    b.create("llvm.intr.assume", operands=[truth], attributes={"op_bundle_sizes": b.i32_array([])})


@builtin
def debug_barrier(*, _semantic: Builder) -> None:
    """Barrier: all threads of a program wait for each other, and see each other's memory; undefined where only some reach it."""
    _semantic.create("tt.barrier")


def _hint(b: Builder, name: str, attribute: str, input: Any, values: Any) -> tensor:
    given = list(values) if isinstance(values, (tuple, list)) else [values]
    if not all(isinstance(v, int) for v in given):
        raise CompilationError(f"{name} takes constexpr ints, got {values!r}")
    if not isinstance(input, tensor):
        return value_of(b, input)
    rank = max(len(dimensions(input)), 1)
    if len(given) != rank:
        raise CompilationError(
            f"{name} takes one value per dimension: {rank} for {input.type}, got {len(given)}"
        )
    b.annotate(input, attribute, b.i32_dense(given))
    return input


@builtin
def multiple_of(input: Any, values: Any, *, _semantic: Builder) -> tensor:
    """``input`` (integers or pointers), said to be divisible by ``values``, constexpr ints, one per dimension: of the first in each run.

    What follows from a false hint is undefined.  CompilationError for values that are no constexpr ints, or not one per dimension.
    """
    return _hint(_semantic, "multiple_of", "tt.divisibility", input, values)


@builtin
def max_contiguous(input: Any, values: Any, *, _semantic: Builder) -> tensor:
    """``input`` (integers or pointers), said to hold runs of ``values`` consecutive ones, constexpr ints, one per dimension.

    What follows from a false hint is undefined.  CompilationError for values that are no constexpr ints, or not one per dimension.
    """
    return _hint(_semantic, "max_contiguous", "tt.contiguity", input, values)


@builtin
def max_constancy(input: Any, values: Any, *, _semantic: Builder) -> tensor:
    """``input`` (any dtype), said to hold runs of ``values`` equal elements, constexpr ints, one per dimension.

    What follows from a false hint is undefined.  CompilationError for values that are no constexpr ints, or not one per dimension.
    """
    return _hint(_semantic, "max_constancy", "tt.constancy", input, values)
