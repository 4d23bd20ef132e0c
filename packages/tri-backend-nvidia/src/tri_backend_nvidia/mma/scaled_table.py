"""Block-scaled dots (``tt.dot_scaled``) decoded, and those that ``mma.sync`` supports."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_nvidia.machine import SCALED_KINDS
from tri_core.api import Target
from tri_core.dialects.tt import DotScaledOp
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import builtin, ir
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = [
    "E2M1",
    "E4M3",
    "E5M2",
    "ROWS",
    "TILE",
    "ScaledOperands",
    "ScaledRow",
    "WarpScaledDots",
    "refused_formats",
    "refused_partitions",
]

Format = ScaleDotElemType
E2M1, E4M3, E5M2 = Format.E2M1, Format.E4M3, Format.E5M2
#: a loop that says whether its warps are specialised
_WARP_SPECIALIZE = "tt.warp_specialize"
#: rows and columns of one instruction's result
TILE = (16, 8)


@dataclass(frozen=True)
class ScaledRow:
    """An instruction: PTX kind, formats of the operands, MLIR's element type of scales and its name in PTX, elements per scale."""

    kind: str
    formats: tuple[Format, ...]
    scale: str
    scale_name: str
    group: int


#: of ``mma.sync``: PTX ISA, section "Multiply-and-Accumulate Instruction: mma", table of ``.kind``, ``.stype`` and
#: ``.scale_vec_size``.  e2m1 beside 8 bits is one number in a byte there, which no tensor has
ROWS: tuple[ScaledRow, ...] = (
    ScaledRow("mxf4nvf4", (E2M1,), "f8E4M3FN", "ue4m3", 16),
    ScaledRow("mxf4", (E2M1,), "i8", "ue8m0", 32),
    ScaledRow("mxf8f6f4", (E4M3, E5M2), "i8", "ue8m0", 32),
)


@dataclass(frozen=True)
class ScaledOperands:
    """Decoded ``tt.dot_scaled``: formats of A and B, sizes with e2m1 unpacked, and its scales, if it has
    both.
    """

    a: Format
    b: Format
    shape: tuple[int, int, int]
    scales: tuple[ir.Value, ir.Value] | None
    packed_along_k: bool

    @classmethod
    def of(cls, op: ir.Operation) -> ScaledOperands:
        """Those of a dot of two dimensions."""
        dot = cast(op, DotScaledOp)
        a, b = (Format(ir.IntegerAttr(op.attributes[f"{n}_elem_type"]).value) for n in "ab")
        m, n = shape_of(op.results[0].type)
        k = shape_of(dot.a.type)[1] * (2 if a == E2M1 and _flag(op, "lhs_k_pack") else 1)
        both = None if dot.a_scale is None or dot.b_scale is None else (dot.a_scale, dot.b_scale)
        packed = all(_flag(op, name) for name in ("lhs_k_pack", "rhs_k_pack"))
        return cls(a, b, (m, n, k), both, packed)

    def row(self, rows: Sequence[ScaledRow]) -> ScaledRow | None:
        """The first instruction of ``rows`` for these formats and scales."""
        if self.scales is None:
            return None
        held = [tensor_info(scale.type) for scale in self.scales]
        types = {str(info.element_type) for info in held if info is not None}
        groups = {self.shape[2] // info.shape[1] for info in held if info is not None}
        return next(
            (
                row
                for row in rows
                if {self.a, self.b} <= set(row.formats) and types == {row.scale} and groups == {row.group}
            ),
            None,
        )


def _flag(op: ir.Operation, name: str) -> bool:
    return name not in op.attributes or bool(ir.IntegerAttr(op.attributes[name]).value)


def refused_formats(scaled: ScaledOperands, rows: Sequence[ScaledRow]) -> str | None:
    """Reason that no instruction of ``rows`` has these formats and scales; None if one has."""
    if scaled.scales is None:
        return "both operands need scales"
    if not scaled.packed_along_k:
        return "e2m1 is packed along k"
    if scaled.row(rows) is None:
        types = " and ".join(str(scale.type) for scale in scaled.scales)
        return f"no instruction has {scaled.a.name.lower()} and {scaled.b.name.lower()} with scales {types}"
    return None


def refused_partitions(op: ir.Operation, specialize: bool | None) -> str | None:
    """Reason that ``op`` does not work with a producer partition; ``specialize`` as the option: None if a
    loop requests it.
    """
    if specialize or (specialize is None and _is_in_special_loop(op)):
        return "warps of their own copy blocks, which do not know scales"
    return None


def _is_in_special_loop(op: ir.Operation) -> bool:
    while not isa(op, builtin.ModuleOp) and op.parent is not None:
        if _WARP_SPECIALIZE in op.attributes and str(op.attributes[_WARP_SPECIALIZE]) != "false":
            return True
        op = op.parent.operation
    return False


@dataclass(frozen=True)
class WarpScaledDots:
    """Block-scaled dots by ``mma.sync`` with ``.block_scale`` in kernels of these options."""

    num_ctas: int
    specialize: bool | None = None

    @classmethod
    def of(
        cls, target: Target, num_warps: int, num_ctas: int, *, specialize: bool | None
    ) -> WarpScaledDots | None:
        """For ``target``; None where it has no such instruction.  Any number of warps will do."""
        del num_warps
        return cls(num_ctas, specialize) if target.has("mma-block-scale") else None

    def refuses(self, op: ir.Operation) -> str | None:
        """Reason that no instruction supports ``op``, a ``tt.dot_scaled``; None if one does."""
        if len(shape_of(op.results[0].type)) != 2:
            return "it has a batch"
        if self.num_ctas > 1:
            return f"it takes one CTA; {self.num_ctas} share a program"
        scaled = ScaledOperands.of(op)
        return refused_partitions(op, self.specialize) or refused_formats(scaled, ROWS) or _sizes(scaled)


def _sizes(scaled: ScaledOperands) -> str | None:
    row = scaled.row(ROWS)
    assert row is not None
    least = (*TILE, SCALED_KINDS[row.kind].k)
    if all(size >= needed for size, needed in zip(scaled.shape, least, strict=True)):
        return None
    have, wanted = (" x ".join(map(str, sizes)) for sizes in (scaled.shape, least))
    return f"{have} is less than {wanted}, one instruction of kind::{row.kind}"
