"""Dead code of a loop whose loads run ahead: their addresses, and the iter_args for them."""

from __future__ import annotations

from tri_core.ir.rewriting import terminator
from tri_core.ir.traits import is_rematerializable
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops

__all__ = ["drop_dead"]


def drop_dead(loop: ir.Operation) -> None:
    """Remove ops of the loop's body that only computed what the loads needed, and carried values for them."""
    body = loop.regions[0].blocks[0]
    end = terminator(body)
    live = _live(loop, body, end)
    for op in reversed(block_ops(body)[:-1]):
        if is_rematerializable(op) and not any(r in live for r in op.results):
            for i, value in enumerate(list(end.operands)):
                if value in op.results:
                    end.operands[i] = body.arguments[1 + i]
            op.erase()
    for i, argument in enumerate(list(body.arguments)[1:]):
        if argument not in live:
            end.operands[i] = argument


def _live(loop: ir.Operation, body: ir.Block, end: ir.Operation) -> set[ir.Value]:
    """Values of the body that something depends on."""
    live: set[ir.Value] = set()
    arguments = {a: i - 1 for i, a in enumerate(body.arguments)}
    own = {r: op for op in block_ops(body) for r in op.results}
    ahead = [end.operands[i] for i, r in enumerate(loop.results) if next(iter(r.uses), None) is not None]
    for op in block_ops(body)[:-1]:
        if not is_rematerializable(op):
            ahead += [v for inner in all_ops(op) for v in inner.operands]
    while ahead:
        value = ahead.pop()
        if value in live:
            continue
        live.add(value)
        if (index := arguments.get(value, -1)) >= 0:
            ahead.append(end.operands[index])
        elif (op := own.get(value)) is not None:
            ahead += op.operands
    return live
