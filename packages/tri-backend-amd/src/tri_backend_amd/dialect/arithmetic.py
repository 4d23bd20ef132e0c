"""Machine ops of ``amdg`` that compute on f32: instructions that LLVM IR has no words for, or surrounds with others."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_core import ring
from tri_core.ir.traits import Pure
from tri_core.mlir import ext
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["DivFixupOp", "Exp2Op", "ReciprocalOp", "ReciprocalRootOp"]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
Array = npt.NDArray[Any]
_LEAST = np.finfo(np.float32).tiny


def _flushed(values: Array) -> Array:
    """Denormals as zeros of their sign."""
    return np.where(np.abs(values) < _LEAST, np.copysign(np.float32(0), values), values)


class Exp2Op(MachineOp, dialect=AMDG, name="exp2", traits=[Pure]):
    """2 to the ``value`` (f32), 1 ulp; a result that would be denormal is zero."""

    computes_floats = True

    value: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[Any]:
        """``v_exp_f32``, whatever the mode says of denormals."""
        return b.intrinsic("llvm.amdgcn.exp2.f32", [self.value], [b.f32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """NumPy's, without denormals."""
        with np.errstate(over="ignore", under="ignore"):
            power = np.exp2(operands[0].astype(np.float64)).astype(np.float32)
        return [_flushed(power)]

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The ring's power."""
        return [ring.function("exp2")(ring.numbers(operands[0])).view(operands[0].dtype)]


class ReciprocalOp(MachineOp, dialect=AMDG, name="rcp", traits=[Pure]):
    """1 over ``value`` (f32), 1 ulp; denormals are zero on both sides."""

    computes_floats = True

    value: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[Any]:
        """``v_rcp_f32``."""
        return b.intrinsic("llvm.amdgcn.rcp.f32", [self.value], [b.f32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """NumPy's, without denormals."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return [_flushed(np.float32(1) / _flushed(operands[0]))]

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The ring's inverse."""
        return [ring.function("rcp")(ring.numbers(operands[0])).view(operands[0].dtype)]


class ReciprocalRootOp(MachineOp, dialect=AMDG, name="rsq", traits=[Pure]):
    """1 over the square root of ``value`` (f32), 1 ulp; a denormal value is zero."""

    computes_floats = True

    value: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[Any]:
        """``v_rsq_f32``."""
        return b.intrinsic("llvm.amdgcn.rsq.f32", [self.value], [b.f32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """NumPy's, without denormals."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return [(1 / np.sqrt(_flushed(operands[0]).astype(np.float64))).astype(np.float32)]

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The inverse of the ring's root."""
        return [ring.function("rsqrt")(ring.numbers(operands[0])).view(operands[0].dtype)]


class DivFixupOp(MachineOp, dialect=AMDG, name="div_fixup", traits=[Pure]):
    """``quotient``, which is about ``dividend / divisor`` (f32), or what that is where one of them is zero, infinite or NaN."""

    computes_floats = True

    quotient: _In
    divisor: _In
    dividend: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[Any]:
        """``v_div_fixup_f32``."""
        operands = [self.quotient, self.divisor, self.dividend]
        return b.intrinsic("llvm.amdgcn.div.fixup.f32", operands, [b.f32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """NumPy's quotient of the special values; the sign is always that of the operands."""
        quotient, divisor, dividend = operands
        special = np.zeros(quotient.shape, bool)
        for value in (divisor, dividend):
            special |= ~np.isfinite(value) | (value == 0)
        with np.errstate(all="ignore"):
            exact = (dividend / divisor).astype(np.float32)
        regular = np.where(np.isnan(quotient), exact, np.copysign(np.abs(quotient), exact))
        return [np.where(special, exact, regular)]

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The ring's quotient: how it was approached is not looked at."""
        _, divisor, dividend = map(ring.numbers, operands)
        return [ring.function("div")(dividend, divisor).view(operands[0].dtype)]
