"""Ops of lanes that hold a function of TTIR: lowered by the SIMT path's table, from layouts on.

Their shared memory begins at the same place, for none of it outlives its op: a barrier stands before each op that uses some.
"""

from __future__ import annotations

from collections.abc import Iterator

from tri_backend_intel.dialect import LanesOp
from tri_backend_intel.lowering.tables import make_table
from tri_backend_intel.xegpu.layouts import LANES
from tri_backend_intel.xegpu.simt_ops import SIMT
from tri_core.api import StageContext
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, parse
from tri_gpu_dialect.analysis import axis_info
from tri_gpu_dialect.analysis.layout_rules import Kind, encoding_of
from tri_gpu_dialect.edit import SHARED, all_ops, barrier, convert, functions, module_int, set_encoding
from tri_gpu_dialect.encodings import Encoding, decode
from tri_gpu_dialect.lowering import Builder, Lowering, Primitives
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY
from tri_gpu_dialect.transforms.layout.convert_triton_to_tritongpu import ConvertTritonToTritonGPU
from tri_gpu_dialect.transforms.memory.allocate_shared_memory import AllocateSharedMemory
from tri_gpu_dialect.transforms.memory.insert_barriers import InsertBarriers

__all__ = ["SimtOps", "is_simt"]


#: an attribute: which of the kernel's functions an op holds
_NUMBER = "number"


def is_simt(op: ir.Operation) -> bool:
    """True if ``op`` is an op of lanes that holds a function of TTIR."""
    return isa(op, LanesOp) and ir.StringAttr(op.attributes["does"]).value == SIMT


@dataclass
class _Function:
    """One op's function with layouts; ``module`` keeps it alive."""

    module: ir.Module
    block: ir.Block
    operation: ir.Operation


class SimtOps:
    """Those of one kernel, by one lowering."""

    def __init__(self, kernel: ir.Operation, b: Builder, words: Primitives, context: StageContext) -> None:
        """Unsupported or OutOfResources, located, for what the SIMT path refuses too."""
        self.b = b
        self.functions: list[_Function] = []
        for op in [op for op in all_ops(kernel) if is_simt(op)]:
            # what stands for an op in dictionaries may not change with it
            op.attributes[_NUMBER] = ir.IntegerAttr.get(b.i32, len(self.functions))
            self.functions.append(_prepared(op, context))
        #: bytes of shared memory that the kernel needs
        self.shared = max((module_int(f.module, "ttg.shared") for f in self.functions), default=0)
        self.lowering: Lowering | None = None
        if not self.functions:
            return
        table = make_table(context.target, context.options)
        first = self.functions[0]
        with ir.InsertionPoint.at_block_begin(kernel.regions[0].blocks[0]), kernel.location:
            self.lowering = Lowering(
                b, words, table, context.target, context.options,
                axis_info(first.operation, table.axis_rules), context.options.num_warps,
            )  # fmt: skip
        self.rules = table.axis_rules
        self.lowering.shared_bytes = self.shared

    def lower(self, op: ir.Operation) -> list[ir.Value]:
        """The results of ``op``, one of them."""
        function = self.functions[ir.IntegerAttr(op.attributes[_NUMBER]).value]
        lowering = self.lowering
        assert lowering is not None
        lowering.axes = axis_info(function.operation, self.rules)
        operands, arguments = list(op.operands), []
        counts = ir.DenseI32ArrayAttr(op.attributes["operand_parts"])
        for argument, count in zip(function.block.arguments, counts, strict=True):
            own, operands = operands[:count], operands[count:]
            storage = lowering.storage(argument.type)
            arguments.append([self._held(v, storage) for part in own for v in self._elements(part)])
        given = lowering.lower_block(function.block, arguments)
        registers = iter([v for each in given for v in _list(each)])
        return [self._given(registers, result.type) for result in op.results]

    def _elements(self, part: ir.Value) -> list[ir.Value]:
        return self.b.unpack(part) if isinstance(part.type, ir.VectorType) else [part]

    def _held(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """``value`` as the SIMT path holds it: addresses are pointers, bf16 is bits."""
        if isinstance(value.type, ir.IntegerType) and not isinstance(type_, ir.IntegerType | ir.FloatType):
            return self.b.int_to_ptr(value, type_)
        return self.b.bitcast(value, type_)

    def _given(self, registers: Iterator[ir.Value], type_: ir.Type) -> ir.Value:
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        count = type_.shape[0] if isinstance(type_, ir.VectorType) else 1
        values = [self._back(next(registers), element) for _ in range(count)]
        return self.b.pack(values) if isinstance(type_, ir.VectorType) else values[0]

    def _back(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        if isinstance(type_, ir.IntegerType) and not isinstance(value.type, ir.IntegerType | ir.FloatType):
            return self.b.ptr_to_int(value)
        return self.b.bitcast(value, type_)


def _list(lowered: object) -> list[ir.Value]:
    assert isinstance(lowered, list)
    return lowered


# --- layouts ----------------------------------------------------------------------------------------------


def _prepared(op: ir.Operation, context: StageContext) -> _Function:
    """The function that ``op`` holds as TTGIR, from its operands' layouts to its results'."""
    module = parse(ir.StringAttr(op.attributes["function"]).value)
    (function,) = functions(module)
    block = function.regions[0].blocks[0]
    inner, last = (view.operation for view in block.operations)
    before, after = (
        [
            None if isinstance(a, ir.UnitAttr) else decode(a)
            for a in ir.ArrayAttr(op.attributes[f"{name}_layouts"])
        ]
        for name in ("operand", "result")
    )
    for argument, encoding in zip(block.arguments, before, strict=True):
        if encoding is not None:
            set_encoding(argument, encoding)
    _prefer(inner, after)
    ConvertTritonToTritonGPU(
        target=str(context.target.key), num_warps=context.options.num_warps, threads_per_warp=LANES
    ).apply(module, context)
    for i, (value, encoding) in enumerate(zip(last.operands, after, strict=True)):
        if encoding is not None and encoding_of(value) != encoding:
            last.operands[i] = convert(value, encoding, ir.InsertionPoint(last), last.location)
    AllocateSharedMemory().apply(module, context)
    InsertBarriers().apply(module, context)
    if module_int(module, "ttg.shared"):
        barrier(ir.InsertionPoint.at_block_begin(block), op.location, SHARED)
    return _Function(module, block, function)


def _prefer(op: ir.Operation, encodings: list[Encoding | None]) -> None:
    """An op that works in any layout works in that of its results."""
    wanted = {e for e in encodings if e is not None}
    kind = DEFAULT_POLICY.layout_rules.of(op).kind
    if len(wanted) == 1 and None not in encodings and kind in (Kind.FLOW, Kind.SOURCE, Kind.ANCHOR):
        for result in op.results:
            set_encoding(result, next(iter(wanted)))
