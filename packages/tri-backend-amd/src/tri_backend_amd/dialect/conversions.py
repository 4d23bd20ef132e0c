"""Small floats with scales of powers of two (OCP's microscaling formats, MX) as f16 or bf16: ops on tensors, and the instruction of gfx950.

A scale is what the exponent bits of a bf16 say, as e8m0 has them: 0 is 2**-127, 255 is NaN; its sign and mantissa are not looked at.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect import bf16, verify
from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.dialect.microscaling import SOURCES, Layouts, scales_like
from tri_core.ir.traits import Decomposable, Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.encodings import Linear
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA
from tri_gpu_dialect.plans.scratch import NeedsScratch, conversion_scratch_bytes

__all__ = ["ConvertScaledOp", "ScaledUpcastFp4Op", "ScaledUpcastFp8Op", "UpcastMxfpOp"]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
Array = npt.NDArray[Any]


class ScaledUpcastFp4Op(AMDG.Operation, name="scaled_upcast_fp4", traits=[Pure]):
    """Two e2m1 per i8 of ``input``, unpacked along ``axis``, times ``scale``, which has the result's shape and layout."""

    input: _In
    scale: _In
    axis: ir.IntegerAttr
    output: _Out
    verify_invariants = verify.rule(verify.unpacks_scaled)


class ScaledUpcastFp8Op(AMDG.Operation, name="scaled_upcast_fp8", traits=[Pure]):
    """e4m3 or e5m2 of ``input`` times ``scale``, all of one shape and layout."""

    input: _In
    scale: _In
    output: _Out
    verify_invariants = verify.rule(verify.widens_scaled)


class UpcastMxfpOp(AMDG.Operation, name="upcast_mxfp", traits=[Pure, NeedsScratch, Decomposable]):
    """Elements of ``src`` (``fp_type`` e2m1, packed along k, e4m3 or e5m2) times e8m0 ``scale``s, one for 32 along k.

    The result is an operand of a dot, or any tensor, whose last dimension is k then.  ``scale`` has k last, as rows of 32.
    """

    src: _In
    scale: _In
    fp_type: ir.IntegerAttr
    result: _Out
    verify_invariants = verify.rule(verify.upcasts)

    def decompose(self) -> Sequence[ir.Value]:
        """The same op, with the scales where they are needed."""
        op = self.operation
        type_ = self.scale.type
        encoding = Linear.of(scales_like(Layouts.of(op))).to_attr()
        given = (
            {"allocation.offset": op.attributes["allocation.offset"]}
            if "allocation.offset" in op.attributes
            else {}
        )
        moved = ir.RankedTensorType.get(type_.shape, type_.element_type, encoding)
        scale = ir.Operation.create(
            "ttg.convert_layout", results=[moved], operands=[self.scale], attributes=given
        ).result
        rest = {name: op.attributes[name] for name in op.attributes if name != "allocation.offset"}
        return [
            ir.Operation.create(
                op.name, results=[self.result.type], operands=[self.src, scale], attributes=rest
            ).result
        ]

    def scratch_bytes(self) -> int:
        """Bytes of scratch memory to move the scales."""
        op = self.operation
        return conversion_scratch_bytes(op, layouts.of(self.scale.type), scales_like(Layouts.of(op)), 8)


class ConvertScaledOp(MachineOp, dialect=AMDG, name="cvt_scalef32_pk", traits=[Pure]):
    """Two small floats of format ``source`` in the low bits of ``word`` (i32), times the scale in the exponent of ``scale`` (f32).

    If ``high`` they are in the upper half of the word (8-bit floats only).

    Of gfx950 (AMD's guide of CDNA4: ``v_cvt_scalef32_pk_bf16_fp4`` and its like).
    """

    computes_floats = True

    word: _In
    scale: _In
    source: ir.StringAttr
    high: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic; of the word the first byte, or a half."""
        type_, source = self.result.type, self.source.value
        first = b.int_(0) if source == "fp4" else b.const(b.int_type(1), self.high.value)
        name = f"llvm.amdgcn.cvt.scalef32.pk.{type_.element_type}.{source}"
        return b.intrinsic(name, [self.word, self.scale, first], [type_])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """By a table of the format's numbers."""
        word = operands[0].astype(np.uint32) >> (16 if self.high.value else 0)
        scale = operands[1].view(np.uint32)
        source = SOURCES[self.source.value]
        mask, bits = (1 << source.bits) - 1, source.bits
        exponent = (scale >> 23 & 0xFF).astype(np.int64)
        factor = np.where(exponent == 255, np.nan, np.ldexp(1.0, exponent - 127))
        values = np.stack([source.table()[word & mask], source.table()[word >> bits & mask]], axis=1)
        return [_rounded(values * factor[:, None], str(self.result.type.element_type))]


def _rounded(values: Array, kind: str) -> Array:
    """To the nearest f16, or bf16 (as bits), ties to even."""
    with np.errstate(over="ignore"):
        if kind == "f16":
            return values.astype(np.float16)
        return bf16.from_f32(values.astype(np.float32))
