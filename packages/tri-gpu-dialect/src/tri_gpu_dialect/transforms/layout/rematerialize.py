"""The same tensor in another layout, by computing it again: for what is made of numbers in a few cheap ops."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from tri_core.ir.traits import is_rematerializable
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import Kind, LayoutRules, encoding_of
from tri_gpu_dialect.edit import set_encoding
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.types import tensor_info

__all__ = ["can_be_rematerialized", "rematerialized"]

#: ops that are worth computing again
_HORIZON = 32


def can_be_rematerialized(
    value: ir.Value,
    encoding: Encoding,
    rules: LayoutRules,
    there: Collection[ir.Value] = (),
) -> bool:
    """True if ``value``, a tensor, is made of scalars and constants by few ops that by ``rules`` can be in
    ``encoding``.

    Tensors that are ``there`` in ``encoding`` need not be made.
    """
    ahead, count = [(value, encoding)], 0
    while ahead:
        here, wanted = ahead.pop()
        if wanted == encoding and here in there:
            continue
        count += 1
        operands = _operands(here, wanted, rules)
        if operands is None or count > _HORIZON:
            return False
        ahead += [
            (v, e) for v, e in zip(here.owner.operation.operands, operands, strict=True) if e is not None
        ]
    return True


def _operands(value: ir.Value, encoding: Encoding, rules: LayoutRules) -> list[Encoding | None] | None:
    """The layouts in which the operands of the op that makes ``value`` give it in ``encoding``, None for scalars; None: it cannot be."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if not is_rematerializable(op) or len(op.results) != 1 or len(op.regions):
        return None
    rule = rules.of(op)
    if rule.kind is Kind.SOURCE:
        return [None] * len(op.operands)
    found = rule.operands(op, encoding) if rule.kind is Kind.FLOW else None
    if found is None:
        return None
    are_tensors = [tensor_info(v.type) is not None for v in op.operands]
    if any(is_tensor and wanted is None for is_tensor, wanted in zip(are_tensors, found, strict=True)):
        return None
    return [wanted if is_tensor else None for is_tensor, wanted in zip(are_tensors, found, strict=True)]


def rematerialized(
    value: ir.Value,
    encoding: Encoding,
    scalars: Mapping[ir.Value, ir.Value],
    rules: LayoutRules,
    there: Mapping[ir.Value, ir.Value] = MappingProxyType({}),
) -> ir.Value:
    """``value`` in ``encoding``, computed at the ambient insertion point, with ``scalars`` in the place of others.

    It is one of those that :func:`can_be_rematerialized` by the same ``rules``; ``there``: what stands for tensors that are there in ``encoding``.
    """
    if value in there and encoding_of(there[value]) == encoding:
        return there[value]
    op, layouts = value.owner.operation, _operands(value, encoding, rules)
    assert layouts is not None
    operands = [
        scalars.get(v, v) if wanted is None else rematerialized(v, wanted, scalars, rules, there)
        for v, wanted in zip(op.operands, layouts, strict=True)
    ]
    made = op.clone(ip=ir.InsertionPoint.current).operation
    for i, operand in enumerate(operands):
        made.operands[i] = operand
    set_encoding(made.results[0], encoding)
    return made.results[0]
