"""Functions of scalars: hardware approximations where they are as good as users expect, libdevice otherwise.

What the approximations promise (f32): ``ex2`` and ``lg2`` 2 ulp near the result, so ``exp`` loses about one
more bit per factor of two of the argument, as in CUDA's ``__expf``; ``exp2`` is ``ex2.approx.ftz``, as in Triton, which takes
subnormal numbers for zeros and gives zero below 2 ** -126 (without ``ftz`` an assembler adds a comparison and two
multiplications to each, to scale subnormal results; ``exp`` keeps those); ``rsqrt`` and ``sqrt`` 1 ulp or so;
``div.full`` 2 ulp.  The ``precise`` ones are correctly rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tri_backend_nvidia import libdevice
from tri_backend_nvidia.machine import ApproximateOp, DivideFullOp
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["function"]

_F32 = Callable[[Builder, Sequence[ir.Value]], ir.Value]


def _approximate(b: Builder, instruction: str, value: ir.Value) -> ir.Value:
    return ApproximateOp.build([value], [b.f32], {"instruction": ir.StringAttr.get(instruction)})[0]


def _instruction(name: str) -> _F32:
    return lambda b, args: _approximate(b, name, args[0])


def _exp(b: Builder, args: Sequence[ir.Value]) -> ir.Value:
    """``2 ** (x * log2(e))``."""
    return _approximate(b, "ex2.approx.f32", b.fmul(args[0], b.float_(math.log2(math.e))))


def _divide(b: Builder, args: Sequence[ir.Value]) -> ir.Value:
    return DivideFullOp.build(list(args), [b.f32])[0]


def _divide_rn(b: Builder, args: Sequence[ir.Value]) -> ir.Value:
    return b.fdiv(*args)


#: functions of f32 by instructions of the hardware
_HARDWARE: dict[str, _F32] = {
    "exp": _exp,
    "exp2": _instruction("ex2.approx.ftz.f32"),
    "rsqrt": _instruction("rsqrt.approx.f32"),
    "sqrt": _instruction("sqrt.approx.f32"),
    "precise_sqrt": _instruction("sqrt.rn.f32"),
    "div": _divide,
    "approx_div": _divide,
    "precise_div": _divide_rn,
}


def function(b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
    """``name`` of scalars of one float type; None where plain LLVM says it best.

    f16 and bf16 go through f32.
    """
    type_ = args[0].type
    if name not in _HARDWARE and name not in libdevice.FUNCTIONS:
        return None
    if type_ in (b.f16, b.bf16):
        return _narrow(b, _single(b, name, _wide(b, args)), type_)
    if type_ == b.f32:
        return _single(b, name, args)
    return _double(b, name, args)


def _wide(b: Builder, args: Sequence[ir.Value]) -> list[ir.Value]:
    return [b.op("llvm.fpext", (a,), b.f32) for a in args]


def _narrow(b: Builder, value: ir.Value, type_: ir.Type) -> ir.Value:
    return b.op("llvm.fptrunc", (value,), type_)


def _single(b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value:
    hardware = _HARDWARE.get(name)
    return hardware(b, args) if hardware is not None else _library(b, name, args, 32)


def _double(b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
    """LLVM's own sqrt and division are correctly rounded; the rest is libdevice's."""
    if libdevice.symbol(name, 64) is None:
        return None
    return _library(b, name, args, 64)


def _library(b: Builder, name: str, args: Sequence[ir.Value], bits: int) -> ir.Value:
    symbol = libdevice.symbol(name, bits)
    assert symbol is not None  # by `function`: the name is in one table or the other
    return b.call(symbol, args, [args[0].type])[0]
