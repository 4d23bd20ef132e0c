"""Rules of ops along a dimension: reductions, scans, dots."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tri_core.dialects import tt
from tri_core.ir.rewriting import terminator
from tri_core.ir.views import Named, cast
from tri_core.linalg import build, indices
from tri_core.linalg.state import RULES, Lowering, refuse, shape_of
from tri_core.mlir import arith, bufferization, ir, linalg, memref, scf, tensor

__all__: list[str] = []

#: what changes nothing as an operand, by class of op
_NEUTRAL: dict[str, float] = {
    arith.AddFOp.OPERATION_NAME: -0.0,
    arith.MulFOp.OPERATION_NAME: 1.0,
    arith.MaximumFOp.OPERATION_NAME: -math.inf,
    arith.MinimumFOp.OPERATION_NAME: math.inf,
    arith.MaxNumFOp.OPERATION_NAME: math.nan,
    arith.MinNumFOp.OPERATION_NAME: math.nan,
    arith.AddIOp.OPERATION_NAME: 0,
    arith.OrIOp.OPERATION_NAME: 0,
    arith.XOrIOp.OPERATION_NAME: 0,
    arith.MulIOp.OPERATION_NAME: 1,
    arith.AndIOp.OPERATION_NAME: -1,
}


@RULES.on(tt.ReduceOp)
def _reduce(lowering: Lowering, op: ir.Operation) -> None:
    """A ``linalg.reduce`` from the function's neutral element, or where it has none from the first elements on."""
    axis = ir.IntegerAttr(cast(op, tt.ReduceOp).axis).value
    sources = [lowering.values[value] for value in op.operands]
    sizes = shape_of(sources[0])
    low, count = [0] * len(sizes), [1 if d == axis else size for d, size in enumerate(sizes)]
    neutral = _neutral(op)
    if neutral is not None:
        shape = [size for d, size in enumerate(sizes) if d != axis]
        element = sources[0].type.element_type
        inits = [build.filled(build.scalar_constant(element, neutral), build.tensor_type(shape, element))]
    else:
        inits = [build.extract_slice(source, low, count, dropped=axis) for source in sources]
        if sizes[axis] > 1:
            low[axis], count[axis] = 1, sizes[axis] - 1
            sources = [build.extract_slice(source, low, count) for source in sources]
    found = inits if neutral is None and sizes[axis] == 1 else _reduced(lowering, op, sources, inits, axis)
    for result, value in zip(op.results, found, strict=True):
        lowering.values[result] = (
            value if shape_of(result) or len(sizes) > 1 else tensor.ExtractOp(value, []).result
        )


def _reduced(
    lowering: Lowering, op: ir.Operation, sources: Sequence[ir.Value], inits: Sequence[ir.Value], axis: int
) -> list[ir.Value]:
    """``sources`` combined onto ``inits``; the function takes what is there first."""
    count = len(sources)
    made = linalg.ReduceOp([init.type for init in inits], sources, inits, [axis])
    elements = [value.type.element_type for value in (*sources, *inits)]
    block = made.regions[0].blocks.append(*elements)
    arguments = list(block.arguments)
    with ir.InsertionPoint(block):
        linalg.YieldOp(lowering.inline(op.regions[0].blocks[0], [*arguments[count:], *arguments[:count]]))
    return list(made.results)


def _neutral(op: ir.Operation) -> float | None:
    """The neutral element of the function of ``op``, a reduction; None where it is not known."""
    block = op.regions[0].blocks[0]
    first: Named = next(iter(block.operations)).operation
    if len(op.operands) != 1 or len(block.operations) != 2 or first.name not in _NEUTRAL:
        return None
    (given,) = terminator(block).operands
    made = given.owner
    if isinstance(made, ir.Block) or set(made.operands) != set(block.arguments):
        return None
    return _NEUTRAL[first.name]


@RULES.on(tt.ScanOp)
def _scan(lowering: Lowering, op: ir.Operation) -> None:
    """A loop along the dimension that combines slices."""
    view = cast(op, tt.ScanOp)
    axis, reverse = ir.IntegerAttr(view.axis).value, bool(ir.IntegerAttr(view.reverse).value)
    sources = [lowering.values[value] for value in op.operands]
    sizes = shape_of(sources[0])
    count = [1 if d == axis else size for d, size in enumerate(sizes)]
    last = sizes[axis] - 1

    def part(value: ir.Value, number: indices.Index) -> ir.Value:
        return build.extract_slice(value, _at(number), count)

    def _at(number: indices.Index) -> list[indices.Index]:
        place = indices.subtract(last, number) if reverse else number
        return [place if d == axis else 0 for d in range(len(sizes))]

    if last == 0:
        lowering.values.update(zip(op.results, sources, strict=True))
        return
    one = indices.constant(1)
    loop = scf.ForOp(one, indices.constant(sizes[axis]), one, sources)
    with ir.InsertionPoint(loop.body):
        number, so_far = loop.induction_variable, list(loop.inner_iter_args)
        before = indices.subtract(number, 1)
        inputs = [*(part(value, before) for value in so_far), *(part(value, number) for value in sources)]
        types = [value.type for value in inputs[: len(sources)]]
        block = op.regions[0].blocks[0]
        found = build.generic(inputs, types, lambda elements: lowering.inline(block, elements))
        scf.YieldOp(
            [
                build.insert_slice(new, value, _at(number), count)
                for new, value in zip(found, so_far, strict=True)
            ]
        )
    lowering.values.update(zip(op.results, loop.results, strict=True))


@RULES.on(tt.HistogramOp)
def _histogram(lowering: Lowering, op: ir.Operation) -> None:
    """Memory of counters; a value that has none is not counted."""
    view = cast(op, tt.HistogramOp)
    (result,), source = op.results, lowering.values[view.src]
    mask = None if view.mask is None else lowering.values[view.mask]
    element, shape = result.type.element_type, shape_of(result)
    counters = memref.AllocOp(ir.MemRefType.get(shape, element), [], []).result
    build.fill(build.scalar_constant(element, 0), counters)
    one, size = build.scalar_constant(element, 1), indices.constant(shape[0])
    with build.nest(shape_of(source)) as at:
        place = indices.as_index(tensor.ExtractOp(source, at).result)
        counts = arith.CmpIOp(arith.CmpIPredicate.ult, place, size).result
        if mask is not None:
            counts = arith.AndIOp(counts, tensor.ExtractOp(mask, at).result).result
        with build.when(counts):
            more = arith.AddIOp(memref.LoadOp(counters, [place]).result, one).result
            memref.StoreOp(more, counters, [place])
    lowering.values[result] = bufferization.ToTensorOp(
        result.type, counters, restrict=True, writable=True
    ).result


@RULES.on(tt.DotOp)
def _dot(lowering: Lowering, op: ir.Operation) -> None:
    """Named products, which compute in the type of the accumulator."""
    view = cast(op, tt.DotOp)
    a, b, c = (lowering.values[value] for value in (view.a, view.b, view.c))
    rank = len(shape_of(c))
    if rank not in (2, 3):
        refuse(op, f"dots of {rank} dimensions", "reshape to two dimensions, or three")
    kind = linalg.MatmulOp if rank == 2 else linalg.BatchMatmulOp
    made = kind([c.type], [a, b], [c]).operation
    linalg.fill_builtin_region(made)
    (lowering.values[op.results[0]],) = made.results
