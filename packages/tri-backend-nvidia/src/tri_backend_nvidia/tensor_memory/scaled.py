"""Gives block-scaled products to ``tcgen05.mma``: factors and scales go to shared memory, as the instruction wants them.

    c = dot_scaled(a, sa, b, sb, c0)    ->    c = warp_group_dot(alloc a, alloc b, c0, use_c, scales alloc sa, alloc sb); wait

What :class:`ScaledProducts` refuses is gone by now.  Where the scales go in tensor memory is a matter of
``place-accumulators``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tri_backend_nvidia.matrix.memory import FourBitShared, NvmmaShared
from tri_backend_nvidia.tensor_memory.cells import DOT, WAIT
from tri_backend_nvidia.tensor_memory.encoding import BLOCK_M, GROUP_WARPS, TensorMemoryRows
from tri_backend_nvidia.tensor_memory.scaled_table import Factors, ScaledRow
from tri_backend_nvidia.tensor_memory.scales import ScalesShared
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt.enums import InputPrecision, ScaleDotElemType
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import all_ops, constant, convert, functions, i32_attribute, module_int
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.matrix import contiguous_dimension, split_groups
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["AccelerateDotScaled", "factor_memory"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class AccelerateDotScaled(Pass):
    """See the module; runs behind ``accelerate-matmul``."""

    name: ClassVar[str] = "accelerate-dot-scaled"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the scaled products of every function of ``module``."""
        for function in functions(module):
            for op in [op for op in all_ops(function) if op.name == "tt.dot_scaled"]:
                _rewrite(op, module_int(module, "ttg.num-warps"))


def factor_memory(
    row: ScaledRow, format_: ScaleDotElemType, index: int, shape: Shape, contiguous: int
) -> SharedEncoding:
    """How operand ``index`` of ``shape`` (e2m1 packed) lies in shared memory, whose source has neighbours along ``contiguous``.

    Rows run along k, those of 8 bits across where their source's do.
    """
    inner = 1 - index
    if format_ == ScaleDotElemType.E2M1 and row.kind == "mxf8f6f4":
        padded = FourBitShared.widest(shape, transposed=inner == 0)
        assert padded is not None
        return padded
    along = contiguous if format_ != ScaleDotElemType.E2M1 else inner
    return NvmmaShared.widest(shape, 8, transposed=along == 0)


def _rewrite(op: ir.Operation, warps: int) -> None:
    factors, (m, n) = Factors.of(op), shape_of(op.results[0].type)
    row = factors.row()
    assert row is not None
    assert factors.scales is not None
    split = split_groups((m, n), BLOCK_M, warps, GROUP_WARPS, whole_rows=False)
    encoding = TensorMemoryRows().spread((m, n), split)
    old = encoding_of(op.results[0])
    assert old is not None
    with ir.InsertionPoint(op), op.location:
        buffers = []
        for index, format_ in enumerate((factors.a, factors.b)):
            value = _bytes(op.operands[index])
            shape = shape_of(value.type)
            memory = factor_memory(row, format_, index, shape, contiguous_dimension(value))
            buffers.append(_buffer(value, memory))
        scales = [_buffer(_bytes(v), ScalesShared.of(shape_of(v.type))) for v in factors.scales]
        total = convert(_bare(op.operands[2]), encoding, ir.InsertionPoint.current, op.location)
        adds = constant(1, 0 if is_zero(_bare(op.operands[2])) else 1)
        made = ir.Operation.create(
            DOT,
            results=[total.type],
            operands=[*buffers, total, adds, *scales],
            attributes={
                "inputPrecision": i32_attribute(int(InputPrecision.IEEE)),
                "a_elem_type": op.attributes["a_elem_type"],
                "b_elem_type": op.attributes["b_elem_type"],
            },
        )
        done = ir.Operation.create(
            WAIT, results=[total.type], operands=made.results, attributes={"pendings": i32_attribute(0)}
        ).results[0]
        for buffer in (*buffers, *scales):
            ir.Operation.create("ttg.local_dealloc", operands=[buffer])
        back = convert(done, old, ir.InsertionPoint.current, op.location)
    op.results[0].replace_all_uses_with(back)
    op.erase()


def _bare(value: ir.Value, *through: str) -> ir.Value:
    """``value`` without conversions of its layout, and what ops called ``through`` make of it."""
    names = ("ttg.convert_layout", *through)
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in names:
        value = value.owner.operation.operands[0]
    return value


def _bytes(value: ir.Value) -> ir.Value:
    """``value`` as it was loaded: what its bits mean is the instruction's matter, not the buffer's."""
    return _bare(value, "tt.bitcast")


def _buffer(value: ir.Value, encoding: SharedEncoding) -> ir.Value:
    info = tensor_info(value.type)
    assert info is not None
    type_ = MemDescType.of(info.shape, info.element_type, encoding.to_attr())
    return ir.Operation.create("ttg.local_alloc", results=[type_], operands=[value]).results[0]
