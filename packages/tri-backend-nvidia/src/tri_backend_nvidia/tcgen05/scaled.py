"""Block-scaled dots for ``tcgen05.mma``: operands and scales go to shared memory, as the instruction wants them.

    c = dot_scaled(a, sa, b, sb, c0)    ->    c = warp_group_dot(alloc a, alloc b, c0, use_c, scales alloc sa, alloc sb); wait

Where the scales go in tensor memory is a matter of ``allocate-tensor-memory``.
"""

from __future__ import annotations

from tri_backend_nvidia.mma.memory import FourBitShared, NvmmaShared
from tri_backend_nvidia.mma.scaled import as_loaded, bare
from tri_backend_nvidia.mma.scaled_table import ScaledOperands, ScaledRow
from tri_backend_nvidia.tcgen05.accumulators import DOT, WAIT
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, GROUP_WARPS, NARROWEST, WIDEST, TensorMemoryRows
from tri_backend_nvidia.tcgen05.scaled_table import ROWS
from tri_backend_nvidia.tcgen05.scales import ScalesShared
from tri_core.dialects.tt.enums import InputPrecision, ScaleDotElemType
from tri_core.ir.dots import Dot
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import constant, convert, i32_attribute
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.policies.async_dots import WarpGroup
from tri_gpu_dialect.policies.matrix import contiguous_dimension
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["group_dot", "operand_memory"]

Shape = tuple[int, ...]


def operand_memory(
    row: ScaledRow, format_: ScaleDotElemType, index: int, shape: Shape, contiguous: int
) -> SharedEncoding:
    """Encoding in shared memory of operand ``index`` of ``shape`` (e2m1 packed), whose source is contiguous
    along ``contiguous``.

    Rows run along k, those of 8 bits across where their source's do.
    """
    inner = 1 - index
    if format_ == ScaleDotElemType.E2M1 and row.kind == "mxf8f6f4":
        padded = FourBitShared.widest(shape, transposed=inner == 0)
        assert padded is not None
        return padded
    along = contiguous if format_ != ScaleDotElemType.E2M1 else inner
    return NvmmaShared.widest(shape, 8, transposed=along == 0)


def group_dot(op: ir.Operation, warps: int, axes: AxisInfos) -> None:
    """``op``, which :class:`ScaledDots` does not refuse, becomes a dot of buffers, waited for at once."""
    del axes  # its scales are read from memory
    scaled, (m, n) = ScaledOperands.of(op), shape_of(op.results[0].type)
    row = scaled.row(ROWS)
    assert row is not None
    assert scaled.scales is not None
    split = WarpGroup(GROUP_WARPS, BLOCK_M, (NARROWEST, WIDEST)).split((m, n), warps, whole_rows=False)
    encoding = TensorMemoryRows().spread((m, n), split)
    old = encoding_of(op.results[0])
    assert old is not None
    with ir.InsertionPoint(op), op.location:
        buffers = []
        for index, format_ in enumerate((scaled.a, scaled.b)):
            value = as_loaded(op.operands[index])
            shape = shape_of(value.type)
            memory = operand_memory(row, format_, index, shape, contiguous_dimension(value))
            buffers.append(_buffer(value, memory))
        scales = [_buffer(as_loaded(v), ScalesShared.of(shape_of(v.type))) for v in scaled.scales]
        total = convert(bare(Dot(op).c), encoding, ir.InsertionPoint.current, op.location)
        adds = constant(1, 0 if is_zero(bare(Dot(op).c)) else 1)
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


def _buffer(value: ir.Value, encoding: SharedEncoding) -> ir.Value:
    info = tensor_info(value.type)
    assert info is not None
    type_ = MemDescType.of(info.shape, info.element_type, encoding.to_attr())
    return ir.Operation.create("ttg.local_alloc", results=[type_], operands=[value]).results[0]
