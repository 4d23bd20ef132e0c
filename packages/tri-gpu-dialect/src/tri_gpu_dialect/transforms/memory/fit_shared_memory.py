"""Takes back what ``stage-dot-operands`` did where the target has too little shared memory for it.

First, buffers that were made early are made right before the dot that reads them, so that they live
shortly.  If that is not enough, the dots with the largest buffers are cut in two along k, one after the other:
the second half's buffers take the place of the first's.  A dot that is too short to be cut reads its operands
from registers again.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.dots import Dot
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import LocalAllocOp, LocalDotOp
from tri_gpu_dialect.edit import all_ops, convert, functions, module_int
from tri_gpu_dialect.encodings import Blocked, DotOperand, transform
from tri_gpu_dialect.plans.scratch import SHARED, ScratchMeasures
from tri_gpu_dialect.remarks import add_remark
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes, bytes_needed
from tri_gpu_dialect.transforms.memory.stage_dot_operands import allocated
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["FitSharedMemory"]


@dataclass(frozen=True)
class FitSharedMemory(Pass):
    """See the module; runs right before ``allocate-shared-memory``, with the same ``measures`` of scratch memory.

    No part of a dot has k below ``shortest``.
    """

    name: ClassVar[str] = "fit-shared-memory"

    shortest: int = 16
    measures: ScratchMeasures = SHARED

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Edit the dots of functions that need more than the target has."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        if limit is None:
            return
        for function in functions(module):
            dots = [op for op in all_ops(function) if isa(op, LocalDotOp)]
            if dots and bytes_needed(function, self.measures) > limit:
                threads = (module_int(module, "ttg.num-warps"), module_int(module, "ttg.threads-per-warp"))
                self.shrink(function, dots, limit, threads)

    def shrink(
        self, function: ir.Operation, dots: list[ir.Operation], limit: int, threads: tuple[int, int]
    ) -> None:
        """Make ``function`` need at most ``limit`` bytes, as far as its ``dots`` can help.

        ``threads``: warps, and lanes per warp.
        """
        for dot in dots:
            _bring_near(dot)
        left = sorted(dots, key=_bytes)
        while left and bytes_needed(function, self.measures) > limit:
            dot = left.pop()
            add_remark(
                self.name,
                dot,
                f"the dot reads its operands in parts: {limit} bytes of shared memory do not hold them",
            )
            if Dot(dot).a.type.shape[-1] >= 2 * self.shortest:
                left = sorted([*left, *_cut(dot, *threads)], key=_bytes)
            else:
                _to_registers(dot)


def _bytes(dot: ir.Operation) -> int:
    return sum(buffer_bytes(v.type) for v in list(dot.operands)[:2])


def _bring_near(dot: ir.Operation) -> None:
    """Give ``dot`` buffers of its own, made right before it."""
    for i in (0, 1):
        buffer = dot.operands[i]
        made = ir.Operation.create(
            "ttg.local_alloc",
            results=[buffer.type],
            operands=list(buffer.owner.operation.operands),
            loc=dot.location,
            ip=ir.InsertionPoint(dot),
        )
        dot.operands[i] = made.results[0]
        _erase_unused(buffer)


def _erase_unused(buffer: ir.Value) -> None:
    if next(iter(buffer.uses), None) is None:
        buffer.owner.operation.erase()


def _cut(dot: ir.Operation, num_warps: int, lanes: int) -> list[ir.Operation]:
    """Two dots, of the halves along k of the operands of ``dot``, whose buffers are its own."""
    buffers = list(dot.operands)[:2]
    made: list[ir.Operation] = []
    with ir.InsertionPoint(dot), dot.location:
        sources = [cast(b.owner.operation, LocalAllocOp).src for b in buffers]
        rank = len(buffers[0].type.shape)
        halves = [_halves(v, rank - 1 - i, num_warps, lanes) for i, v in enumerate(sources)]
        total = Dot(dot).c
        for left, right in zip(*halves, strict=True):
            attributes = {"inputPrecision": dot.attributes["inputPrecision"]}
            operands = [allocated(left), allocated(right), total]
            made.append(
                ir.Operation.create(
                    "ttg.local_dot", results=[dot.results[0].type], operands=operands, attributes=attributes
                )
            )
            total = made[-1].results[0]
    dot.results[0].replace_all_uses_with(total)
    dot.erase()
    for buffer in buffers:
        _erase_unused(buffer)
    return made


def _halves(value: ir.Value, axis: int, num_warps: int, lanes: int) -> list[ir.Value]:
    """The first and the second half of a tensor along ``axis``."""
    info = tensor_info(value.type)
    assert info is not None
    assert info.encoding is not None
    shape = info.shape
    half = (*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])
    apart = (*shape[:axis], 2, *half[axis:])
    order = (*(d for d in range(len(apart)) if d != axis), axis)
    paired = (*half, 2)
    seen = transform.reshaped(info.encoding, shape, apart)
    transposed = transform.transposed(seen, order, apart)
    # each thread holds both halves of its pairs: the layout of two tensors joined
    each = Blocked.default(half, num_warps, lanes)
    element = info.element_type
    create = ir.Operation.create
    split_apart = create("tt.reshape", results=[tensor_type(apart, element, seen)], operands=[value])
    last = create(
        "tt.trans",
        results=[tensor_type(paired, element, transposed)],
        operands=[split_apart.results[0]],
        attributes={"order": ir.DenseI32ArrayAttr.get(list(order))},
    )
    together = tensor_type(paired, element, transform.joined(each, half))
    moved = create("ttg.convert_layout", results=[together], operands=[last.results[0]])
    kinds = [tensor_type(half, element, each)] * 2
    return list(create("tt.split", results=kinds, operands=[moved.results[0]]).results)


def _to_registers(dot: ir.Operation) -> None:
    """Make ``dot``, whose buffers are its own, a ``tt.dot`` again."""
    parent = encoding_of(dot.results[0])
    assert parent is not None
    ip = ir.InsertionPoint(dot)
    buffers = list(dot.operands)[:2]
    sources = [cast(b.owner.operation, LocalAllocOp).src for b in buffers]
    operands = [convert(v, DotOperand(i, parent), ip, dot.location) for i, v in enumerate(sources)]
    made = ir.Operation.create(
        "tt.dot",
        results=[dot.results[0].type],
        operands=[*operands, Dot(dot).c],
        attributes={"inputPrecision": dot.attributes["inputPrecision"]},
        loc=dot.location,
        ip=ip,
    )
    dot.results[0].replace_all_uses_with(made.results[0])
    dot.erase()
    for buffer in buffers:
        _erase_unused(buffer)
