"""Split over the CTAs of a cluster of the tensors that a kernel loads and stores, such that dots exchange
nothing.

A dot's result is split over the blocks by rows and columns, its left operand by rows, its right one by columns; along the
other dimension blocks hold copies.  What is loaded for an operand, and computed from it element by element, is split so, and
what is as large as a result is split like it: then nothing has to cross blocks.
"""

from __future__ import annotations

from tri_core.dialects.tt import BitcastOp, DescriptorLoadOp, DotOp, FpToFpOp, FuncOp, LoadOp, TransOp
from tri_core.ir.access import access_of
from tri_core.ir.traits import maps_elements, source_of
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import ConvertLayoutOp, WarpGroupDotOp
from tri_gpu_dialect.edit import all_ops, number_of_module
from tri_gpu_dialect.layouts.cluster import ClusterBases, matmul_blocks, operand_blocks, permuted
from tri_gpu_dialect.plans.dot_chains import chained
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["dot_blocks", "wanted_blocks"]

_LOADS = (LoadOp, DescriptorLoadOp)
#: how many values are looked at for one operand
_HORIZON = 256


def dot_blocks(dot: ir.Operation) -> ClusterBases:
    """Split over the CTAs of a cluster of the result of ``dot`` on the matrix unit; empty for one block."""
    num_ctas = number_of_module(dot, "ttg.num-ctas")
    if num_ctas == 1:
        return ()
    function = dot
    while not isa(function, FuncOp):
        function = function.parent.operation
    dots = [op for op in all_ops(function) if isa(op, DotOp, WarpGroupDotOp)]
    shape = shape_of(dot.results[0].type)
    return matmul_blocks(shape, num_ctas, whole_rows=chained(dots)[dots.index(dot)])


def wanted_blocks(function: ir.Operation, num_ctas: int) -> dict[ir.Operation, ClusterBases]:
    """For accesses of ``function`` that dots have to do with: how blocks share the tensor."""
    ops = all_ops(function) if num_ctas > 1 else []
    dots = [op for op in ops if isa(op, DotOp) and _rank(op.results[0]) == 2]
    found: dict[ir.Operation, ClusterBases] = {}
    for dot in dots:
        for index in (0, 1):
            _follow(dot.operands[index], operand_blocks(dot_blocks(dot), index), found)
    results = {tuple(dot.results[0].type.shape): dot_blocks(dot) for dot in reversed(dots)}
    for op in ops:
        access = access_of(op)
        moves_tile = access is not None and (access.stored is not None or isa(op, *_LOADS))
        info = tensor_info(access.value.type) if access is not None and moves_tile else None
        if info is not None and info.shape in results:
            found.setdefault(op, results[info.shape])
    return found


def _rank(value: ir.Value) -> int:
    info = tensor_info(value.type)
    return 0 if info is None else info.rank


def _follow(value: ir.Value, blocks: ClusterBases, found: dict[ir.Operation, ClusterBases]) -> None:
    """Note the loads that ``value`` is made of, element by element, with ``blocks``."""
    ahead, seen = [(value, blocks)], 0
    while ahead and seen < _HORIZON:
        value, blocks = ahead.pop()
        seen += 1
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if isa(op, *_LOADS):
            found.setdefault(op, blocks)
        elif isa(op, TransOp):
            order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
            inverse = [order.index(d) for d in range(len(order))]
            ahead.append((source_of(op), permuted(blocks, inverse)))
        elif isa(op, ConvertLayoutOp, FpToFpOp, BitcastOp) or maps_elements(op.name):
            ahead += [(v, blocks) for v in op.operands if _rank(v) == 2]
