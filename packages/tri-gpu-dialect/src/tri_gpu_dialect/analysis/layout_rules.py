"""Relations between the encodings of an op's operands and results: a table by op name.

Passes that give or change layouts ask this table and know no op by name.  A rule says of which *kind* its
op is, and translates encodings across it in both directions.  The table is a target's: :data:`SHARED`, and what
its backend adds in ``DefaultPolicy.layout_rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from tri_core.dialects.tt import BroadcastOp, CatOp, GatherOp, JoinOp, SplitOp
from tri_core.ir.traits import maps_elements, source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.encodings import Blocked, DotOperand, Encoding, Slice, transform
from tri_gpu_dialect.layouts import BLOCK, LANE, WARP
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["SHARED", "Kind", "LayoutRule", "LayoutRules", "Operands", "encoding_of", "pack_of"]

#: values that are looked at for what a result is broadcast to
_FOLLOWED = 16
#: one encoding per operand; None where the operand is a scalar, or may have any layout
Operands = Sequence[Encoding | None]


class Kind(Enum):
    """Category of an op in layout propagation."""

    SOURCE = "makes a tensor in whatever layout is wanted, at no cost"
    FLOW = "its result has the layout that follows from its operands, and the other way round"
    REDUCTION = "as FLOW, but too expensive to be done twice"
    ANCHOR = "its layout was chosen for it, and its operands follow"
    SINK = "takes its tensors in any layout"
    FIXED = "its types stay as they are"


@dataclass(frozen=True)
class LayoutRule:
    """``results(op, operands)`` and ``operands(op, result)`` translate encodings across the op.

    ``results`` gives the one encoding of all tensor results, None when it does not follow; ``operands``
    gives one entry per operand, or None when no operands can give that result.
    """

    kind: Kind
    results: Callable[[ir.Operation, Operands], Encoding | None]
    operands: Callable[[ir.Operation, Encoding], Operands | None]


@dataclass(frozen=True, eq=False)
class LayoutRules:
    """The rules of a target, by names of ops."""

    by_name: Mapping[str, LayoutRule]

    def with_rules(self, rules: Mapping[str, LayoutRule]) -> LayoutRules:
        """These rules and ``rules``, which go before them."""
        return LayoutRules(MappingProxyType({**self.by_name, **rules}))

    def of(self, op: ir.Operation) -> LayoutRule:
        """The rule of ``op``; ``FIXED`` for one that nobody described.

        A function that is mapped over several neighbouring elements at a time has a layout for that.
        """
        name = op.name
        found = self.by_name.get(name)
        if found is not None:
            return found
        if not maps_elements(name):
            return _FIXED
        return _PACKED if name in _PACKING and pack_of(op) > 1 else _ELEMENTWISE


_RULES: dict[str, LayoutRule] = {}

#: the rules of the ops that all targets have
SHARED = LayoutRules(MappingProxyType(_RULES))


def _add(rule: LayoutRule, *names: str) -> None:
    """Put ``rule`` of the ops called ``names`` in the shared table."""
    _RULES.update(dict.fromkeys(names, rule))


def pack_of(op: ir.Operation) -> int:
    """Number of neighbouring elements that ``op``, a function mapped over tensors, processes per call."""
    attribute = _PACKING.get(op.name)
    return 1 if attribute is None else int(ir.IntegerAttr(op.attributes[attribute]).value)


def encoding_of(value: ir.Value) -> Encoding | None:
    """The encoding of a tensor; None for a scalar, or a tensor without one."""
    info = tensor_info(value.type)
    return None if info is None else info.encoding


def _is_tensor(value: ir.Value) -> bool:
    return tensor_info(value.type) is not None


# --- all operands and results alike ---------------------------------------------------------------------


def _first(_: ir.Operation, operands: Operands) -> Encoding | None:
    return next((e for e in operands if e is not None), None)


def _all(op: ir.Operation, result: Encoding) -> Operands:
    return [result if _is_tensor(v) else None for v in op.operands]


def _none(op: ir.Operation, _: object) -> None:
    return None


def _any(op: ir.Operation, _: object) -> Operands:
    return [None] * len(op.operands)


def _present(op: ir.Operation, _: object) -> Operands:
    return [encoding_of(v) for v in op.operands]


_ELEMENTWISE = LayoutRule(Kind.FLOW, _first, _all)
_FIXED = LayoutRule(Kind.FIXED, _none, _present)
_PACKED = LayoutRule(Kind.ANCHOR, _first, _all)

#: the attribute that says how many elements an op works on at a time
_PACKING = {"tt.map_elementwise": "pack"}

_add(LayoutRule(Kind.SOURCE, _none, _any), "arith.constant", "tt.splat", "tt.make_range", "ub.poison")
_add(_ELEMENTWISE, "tt.broadcast")
_add(LayoutRule(Kind.REDUCTION, _first, _all), "tt.scan")
# the counts have nothing to do with what is counted; only mask and source go together
_add(LayoutRule(Kind.REDUCTION, _none, _present), "tt.histogram")
_add(
    LayoutRule(Kind.ANCHOR, _first, _all),
    "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_store", "tt.atomic_poll",
)  # fmt: skip
_add(
    LayoutRule(Kind.SINK, _none, _any),
    "tt.print", "tt.assert", "tt.unsplat", "ttg.local_alloc", "ttg.local_store",
)  # fmt: skip


# --- results of other shapes ----------------------------------------------------------------------------


def _axis(op: ir.Operation) -> int:
    return ir.IntegerAttr(op.attributes["axis"]).value


def _expand_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    return None if operands[0] is None else transform.expanded(operands[0], _axis(op))


def _expand_operand(op: ir.Operation, result: Encoding) -> Operands:
    return [Slice(_axis(op), result)]


_add(LayoutRule(Kind.FLOW, _expand_result, _expand_operand), "tt.expand_dims")


def _reduce_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    source = _first(op, operands)
    return None if source is None else Slice(_axis(op), source)


def _reduce_operands(op: ir.Operation, result: Encoding) -> Operands | None:
    parent = transform.expanded(result, _axis(op))
    return None if parent is None else _all(op, parent)


_add(LayoutRule(Kind.REDUCTION, _reduce_result, _reduce_operands), "tt.reduce")


def _order(op: ir.Operation) -> tuple[int, ...]:
    return tuple(int(d) for d in op.attributes["order"].maybe_downcast())


def _trans_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    if operands[0] is None:
        return None
    return transform.transposed(operands[0], _order(op), shape_of(source_of(op).type))


def _trans_operand(op: ir.Operation, result: Encoding) -> Operands:
    order = _order(op)
    inverse = tuple(order.index(d) for d in range(len(order)))
    return [transform.transposed(result, inverse, shape_of(op.results[0].type))]


_add(LayoutRule(Kind.FLOW, _trans_result, _trans_operand), "tt.trans")


def _reshape_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    if operands[0] is None:
        return None
    return transform.reshaped(operands[0], shape_of(source_of(op).type), shape_of(op.results[0].type))


def _reshape_operand(op: ir.Operation, result: Encoding) -> Operands:
    return [transform.reshaped(result, shape_of(op.results[0].type), shape_of(source_of(op).type))]


_add(LayoutRule(Kind.FLOW, _reshape_result, _reshape_operand), "tt.reshape")


def _join_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    source = _first(op, operands)
    return None if source is None else transform.joined(source, shape_of(cast(op, JoinOp).lhs.type))


def _join_operands(op: ir.Operation, result: Encoding) -> Operands | None:
    half = transform.split(result, shape_of(op.results[0].type))
    return None if half is None else [half, half]


_add(LayoutRule(Kind.FLOW, _join_result, _join_operands), "tt.join")


def _split_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    return None if operands[0] is None else transform.split(operands[0], shape_of(cast(op, SplitOp).src.type))


def _split_operand(op: ir.Operation, result: Encoding) -> Operands:
    return [transform.joined(result, shape_of(op.results[0].type))]


_add(LayoutRule(Kind.FLOW, _split_result, _split_operand), "tt.split")


def _cat_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    source = _first(op, operands)
    return None if source is None else transform.concatenated(source, shape_of(cast(op, CatOp).lhs.type))


_add(LayoutRule(Kind.REDUCTION, _cat_result, _none), "tt.cat")


def _gather_result(op: ir.Operation, operands: Operands) -> Encoding | None:
    if operands[1] is not None:
        return operands[1]
    gather = cast(op, GatherOp)
    spread = _broadcast_to(op)
    present = encoding_of(gather.indices)
    if spread is None or present is None:
        return present
    shape = shape_of(spread.type)
    if operands[0] is not None and shape == shape_of(gather.src.type):
        return operands[0]
    lanes, warps, blocks = map(layouts.of(gather.indices.type).in_size, (LANE, WARP, BLOCK))
    return Blocked.default(shape, warps, lanes, blocks)


def _broadcast_to(op: ir.Operation) -> ir.Value | None:
    """First value that ``op``'s result is broadcast to, through elementwise ops; None if it is not broadcast.

    A layout for that is the one to compute in: that of a row or a column by itself leaves copies in most threads.
    """
    ahead, seen = [op.results[0]], 0
    while ahead and seen < _FOLLOWED:
        value, seen = ahead.pop(0), seen + 1
        for user in (use.owner.operation for use in value.uses):
            if isa(user, BroadcastOp):
                return user.results[0]
            if maps_elements(user.name) or isa(user, ConvertLayoutOp):
                ahead += user.results
    return None


def _gather_operands(_: ir.Operation, result: Encoding) -> Operands:
    # the source goes through shared memory, or shuffles if its layout allows: any will do
    return [None, result]


_add(LayoutRule(Kind.REDUCTION, _gather_result, _gather_operands), "tt.gather")


# --- dots -----------------------------------------------------------------------------------------------


def _dot_operands(op: ir.Operation, result: Encoding) -> Operands:
    return [DotOperand(i, result, _k_width(op.operands[i])) for i in (0, 1)] + [result]


def _k_width(operand: ir.Value) -> int:
    """The width that a matrix instruction wants of its operand: that stays, whatever the result's layout."""
    present = encoding_of(operand)
    return present.k_width if isinstance(present, DotOperand) else 0


def _dot_result(_: ir.Operation, operands: Operands) -> Encoding | None:
    return operands[2]


_add(LayoutRule(Kind.ANCHOR, _dot_result, _dot_operands), "tt.dot")


def _local_dot_operands(_: ir.Operation, result: Encoding) -> Operands:
    return [None, None, result]


_add(LayoutRule(Kind.ANCHOR, _dot_result, _local_dot_operands), "ttg.local_dot")


def _group_dot_operands(op: ir.Operation, result: Encoding) -> Operands:
    operands = [
        DotOperand(i, result, _k_width(op.operands[i])) if _is_tensor(op.operands[i]) else None
        for i in (0, 1)
    ]
    return [*operands, result, *[None for _ in list(op.operands)[3:]]]


_add(LayoutRule(Kind.ANCHOR, _dot_result, _group_dot_operands), "ttg.warp_group_dot")


def _scaled_dot_operands(op: ir.Operation, result: Encoding) -> Operands:
    # a backend that keeps the op puts operands and scales where its instruction wants them
    return [None, None, result, *[None for _ in list(op.operands)[3:]]]


_add(LayoutRule(Kind.ANCHOR, _dot_result, _scaled_dot_operands), "tt.dot_scaled")
_add(LayoutRule(Kind.ANCHOR, _first, _all), "ttg.warp_group_dot_wait")
