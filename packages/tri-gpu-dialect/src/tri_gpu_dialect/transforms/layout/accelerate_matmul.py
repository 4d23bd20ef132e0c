"""Gives dots to matrix instructions: the result gets the instruction's encoding, the operands those that it reads.

The backend's policy says which instruction computes a dot (see :mod:`tri_gpu_dialect.policies.matrix`), the pass how warps
share the result.  A dot that no instruction fits is left to multiply-add.

A dot of an instruction that reads operands from memory becomes a ``ttng.warp_group_dot`` of buffers, right before which
they are filled (or right after their sources, where those are outside of the dot's loop), and a wait right after it.

If the buffers of a function's dots may need more memory than there is, its dots read from registers.

Operands of 8-bit floats are widened to f16 where only that has an instruction, which is exact.  A result that is
narrower than the accumulator is accumulated wide and rounded after the dot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DotOp
from tri_core.ir.dots import Dot
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_core.remarks import declined, is_listening
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import all_ops, convert, functions, module_int, unconverted
from tri_gpu_dialect.encodings import Blocked, Encoding, MatrixEncoding, SharedEncoding
from tri_gpu_dialect.layouts.cluster import share
from tri_gpu_dialect.plans.cta_split import dot_blocks
from tri_gpu_dialect.plans.dot_chains import chained
from tri_gpu_dialect.policies.async_dots import AsyncInstruction, OperandSource
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.policies.matrix import MatrixInstruction, choose
from tri_gpu_dialect.types import bitwidth, shape_of, tensor_info, tensor_type

__all__ = ["AccelerateMatmul"]


@dataclass(frozen=True)
class AccelerateMatmul(Pass):
    """See the module; ``policy.mma(dot)`` gives a :class:`MatrixInstruction` or None."""

    name: ClassVar[str] = "accelerate-matmul"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the dots of every function of ``module``."""
        warps = module_int(module, "ttg.num-warps")
        limit = context.target.spec.limits.get("shared") if context is not None else None
        for function in functions(module):
            dots = [op for op in all_ops(function) if isa(op, DotOp)]
            in_chains = chained(dots)
            for dot, in_chain, row in zip(dots, in_chains, self.rows(dots, in_chains, limit), strict=True):
                if not isinstance(encoding_of(dot.results[0]), Blocked):
                    continue
                if row is not None:
                    _rewrite(dot, row, warps, in_chain)
                elif self.policy.dots.instructions and is_listening():
                    kinds = [
                        "x".join([*map(str, v.type.shape), str(v.type.element_type)]) for v in dot.operands
                    ]
                    text = "no matrix instruction computes {2} += {0} * {1}: multiply-add does"
                    declined(self.name, dot, text, *kinds)

    def rows(
        self, dots: Sequence[ir.Operation], chained: Sequence[bool], limit: int | None
    ) -> list[MatrixInstruction | None]:
        """The instruction of each of a function's ``dots``.

        Those ``chained`` to others split rows, which instructions that are transposed do not.  Where the buffers of all
        operands would take more than ``limit`` bytes, none reads its operands from memory.
        """
        found = [self.policy.mma(dot) for dot in dots]
        for i, (dot, row) in enumerate(zip(dots, found, strict=True)):
            if _is_transposed(row) and chained[i]:
                found[i] = self._among(lambda row: not _is_transposed(row), dot)
        if limit is None or _buffer_bytes(dots, found) <= limit:
            return found
        for dot, row in zip(dots, found, strict=True):
            if isinstance(row, AsyncInstruction):
                declined(
                    self.name,
                    dot,
                    "operands come from registers: {} bytes do not hold those of all dots",
                    limit,
                )
        return [
            self._among(lambda row: not isinstance(row, AsyncInstruction), dot)
            if isinstance(row, AsyncInstruction)
            else row
            for dot, row in zip(dots, found, strict=True)
        ]

    def _among(
        self, suits: Callable[[MatrixInstruction], bool], dot: ir.Operation
    ) -> MatrixInstruction | None:
        """The instruction of ``dot`` from those rows of the policy's table that ``suits`` accepts."""
        table = self.policy.dots.instructions
        return choose([row for row in table if suits(row)], dot)


def _is_transposed(row: MatrixInstruction | None) -> bool:
    """True if ``row`` computes the transposed dot."""
    return isinstance(row, AsyncInstruction) and row.transposed


def _buffer_bytes(dots: Sequence[ir.Operation], rows: Sequence[MatrixInstruction | None]) -> int:
    """Bytes of the buffers that may be in use at once.

    Those of operands from outside of a dot's block live long; of the others those of two dots, since a dot may still
    read when the next one's are filled.
    """
    far: dict[tuple[ir.Value, SharedEncoding], int] = {}
    near = []
    for dot, row in zip(dots, rows, strict=True):
        sources = row.sources(dot) if isinstance(row, AsyncInstruction) else None
        if row is None or sources is None:
            continue
        own = 0
        for value, source, element in zip(list(dot.operands)[:2], sources, (row.a, row.b), strict=True):
            if source.encoding is None:
                continue
            size = math.prod(source.encoding.share(shape_of(value.type))) * bitwidth(_element(element)) // 8
            if _block(unconverted(value)) == dot.block:
                own += size
            else:
                far[unconverted(value), source.encoding] = size
        near.append(own)
    return sum(far.values()) + sum(sorted(near)[-2:])


def _rewrite(dot: ir.Operation, row: MatrixInstruction, warps: int, whole_rows: bool) -> None:
    result = dot.results[0]
    shape, old = shape_of(result.type), encoding_of(result)
    assert old is not None
    blocks = dot_blocks(dot)
    own = share(shape, blocks)
    encoding = row.result(own, row.split(own, warps, whole_rows=whole_rows))
    if blocks:
        encoding = replace(encoding, cga_layout=blocks)  # type: ignore[type-var]  # of a vendor that has clusters
    sources = row.sources(dot) if isinstance(row, AsyncInstruction) else None
    with ir.InsertionPoint(dot), dot.location:
        total = _operand(Dot(dot).c, row.accumulator, encoding)
        if sources is None:
            made = _dot(dot, row, encoding, total)
        else:
            made = _group_dot(dot, row, encoding, total, sources)
        made = _cast(made, str(result.type.element_type))
        back = convert(made, old, ir.InsertionPoint(dot), dot.location)
    result.replace_all_uses_with(back)
    dot.erase()


def _dot(dot: ir.Operation, row: MatrixInstruction, encoding: MatrixEncoding, total: ir.Value) -> ir.Value:
    """``dot`` from registers, with its operands in the instruction's layouts."""
    given = Dot(dot)
    operands = [
        _operand(given.a, row.a, row.operand(0, encoding)),
        _operand(given.b, row.b, row.operand(1, encoding)),
        total,
    ]
    made = ir.Operation.create(
        "tt.dot", results=[total.type], operands=operands, attributes=attributes_of(dot)
    )
    return made.results[0]


def _group_dot(
    dot: ir.Operation,
    row: MatrixInstruction,
    encoding: MatrixEncoding,
    total: ir.Value,
    sources: Sequence[OperandSource],
) -> ir.Value:
    """``dot`` as one that runs on its own, and is waited for at once."""
    operands, buffers = [], []
    for index, (source, element) in enumerate(zip(sources, (row.a, row.b), strict=True)):
        value = unconverted(dot.operands[index])
        if source.encoding is None:
            operands.append(_operand(value, element, row.operand(index, encoding)))
        else:
            buffer, is_near = _buffer(value, element, source.encoding, dot)
            operands.append(buffer)
            buffers += [buffer] if is_near else []
    operands.append(total)
    if is_zero(unconverted(Dot(dot).c)):
        bit = ir.IntegerType.get_signless(1)
        operands.append(_constant(bit, 0))
    made = ir.Operation.create(
        "ttg.warp_group_dot", results=[total.type], operands=operands, attributes=attributes_of(dot)
    ).results[0]
    done = ir.Operation.create(
        "ttg.warp_group_dot_wait",
        results=[total.type],
        operands=[made],
        attributes={"pendings": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)},
    )
    for buffer in buffers:
        ir.Operation.create("ttg.local_dealloc", operands=[buffer])
    return done.results[0]


def _buffer(
    value: ir.Value, element: str, encoding: SharedEncoding, dot: ir.Operation
) -> tuple[ir.Value, bool]:
    """A buffer of ``value`` widened to ``element``, and whether it is made in the block of ``dot``."""
    is_near = _block(value) == dot.block
    with ir.InsertionPoint.current if is_near else _after(value):
        wide = _cast(value, element)
        info = tensor_info(wide.type)
        assert info is not None
        type_ = MemDescType.of(info.shape, info.element_type, encoding.to_attr())
        return ir.Operation.create("ttg.local_alloc", results=[type_], operands=[wide]).results[0], is_near


def _block(value: ir.Value) -> ir.Block:
    return value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block


def _after(value: ir.Value) -> ir.InsertionPoint:
    if isinstance(value.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(value.owner)
    return ir.InsertionPoint.after(value.owner.operation)


def _constant(type_: ir.Type, value: int) -> ir.Value:
    attributes = {"value": ir.IntegerAttr.get(type_, value)}
    return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).results[0]


def _element(name: str) -> ir.Type:
    return ir.Type.parse(name)


def _operand(value: ir.Value, element: str, encoding: Encoding) -> ir.Value:
    """``value`` without conversions of its layout, widened to ``element``, in ``encoding``."""
    return convert(
        _cast(unconverted(value), element), encoding, ir.InsertionPoint.current, ir.Location.current
    )


def _cast(value: ir.Value, element: str) -> ir.Value:
    """``value`` with elements of the float type ``element``."""
    info = tensor_info(value.type)
    assert info is not None
    if str(info.element_type) == element:
        return value
    type_ = tensor_type(info.shape, _element(element), info.encoding)
    if info.bitwidth == 8:
        name = "tt.fp_to_fp"
    else:
        name = "arith.extf" if info.bitwidth < type_.element_type.width else "arith.truncf"
    return ir.Operation.create(name, results=[type_], operands=[value]).results[0]


# --- chains -----------------------------------------------------------------------------------------------
