"""Rules of ``amdg``'s ops on tensors that are no other op in disguise."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.dialect.tiles import origins, parts_of
from tri_backend_amd.lowering.primitives import AmdPrimitives
from tri_core.errors import InternalError
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable

__all__ = ["add_rules"]


def _concat(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """The registers of the sources, in the result's order."""
    whole, part = op.results[0].type, op.operands[0].type
    made: dict[int, ir.Value] = {}
    for source, origin in zip(op.operands, origins(whole, part), strict=True):
        for value, register in zip(ctx.registers(source), _parts(whole, part, origin), strict=True):
            made[register] = value
    images = ctx.layout(whole).images("register")
    by_image = {images[register]: value for register, value in made.items()}
    return [[by_image[image] for image in images]]


def _extract_slice(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """Some of the source's registers."""
    origin = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    registers = ctx.registers(op.operands[0])
    return [[registers[r] for r in _parts(op.operands[0].type, op.results[0].type, origin)]]


def _parts(whole: ir.Type, part: ir.Type, origin: Sequence[int]) -> list[int]:
    found = parts_of(whole, part, origin)
    if found is None:
        raise InternalError(f"{part} at {list(origin)} of {whole} was verified")
    return found


def _cond_barrier(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A barrier in a branch."""
    words = ctx.hw
    if not isinstance(words, AmdPrimitives):
        raise InternalError("amdg ops are for AMD targets")
    words.barrier_if(ctx.b, ctx.scalar(op.operands[0]))
    return []


def add_rules(table: LoweringTable) -> None:
    """Register the rules."""
    for name, rule in (
        ("concat", _concat),
        ("extract_slice", _extract_slice),
        ("cond_barrier", _cond_barrier),
    ):
        table.add(f"amdg.{name}", rule, owner=f"{__name__}.{name}")
