"""Reductions inside a sub-group: pieces by pieces, then rows, then lanes.

Pieces and rows are combined by the source's own function, on vectors.  Lanes are XeGPU's ``vector.multi_reduction``, which becomes
shuffles; it has one op, or, where indices go along, finds the extreme first and the lowest index that has it then.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from tri_backend_intel.xegpu.conversion import Conversion, Known, Pieces, element_of
from tri_backend_intel.xegpu.layouts import refusal
from tri_backend_intel.xegpu.shares import Share
from tri_core.dialects.tt import ReduceOp
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["combines", "reduce"]

Tuple = tuple[ir.Value, ...]

#: the kind of a vector's reduction, by the op of arithmetic that combines two
_KINDS = {
    "addf": "add", "addi": "add", "mulf": "mul", "muli": "mul",
    "maxnumf": "maxnumf", "minnumf": "minnumf", "maximumf": "maximumf", "minimumf": "minimumf",
    "maxsi": "maxsi", "maxui": "maxui", "minsi": "minsi", "minui": "minui",
    "andi": "and", "ori": "or", "xori": "xor",
}  # fmt: skip

#: comparisons of floats and of integers that hold for the left of two: what is kept, and what equals it or is no number
_FLOATS = {2: ("maxnumf", 10), 4: ("minnumf", 12)}  # ogt: uge, olt: ule
_INTEGERS = {4: ("maxsi", 5), 2: ("minsi", 3), 8: ("maxui", 9), 6: ("minui", 7)}  # sgt: sge, slt: sle, ...


def reduce(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Each result has one dimension less, or is a number."""
    axis = cast(op, ReduceOp).axis.value
    sources = [ctx.pieces_of(v) for v in op.operands]
    share, function = sources[0].share, _Function(ctx, op)
    target = share.without(axis)
    found = []
    for index in target.indices():
        along = [(*index[:axis], i, *index[axis:]) for i in range(share.counts[axis])]
        joined = function.tree([tuple(source.at(i) for source in sources) for i in along])
        found.append(_inside(ctx, function, joined, share, axis))
    if not target.dims:
        return list(found[0])
    return [Pieces(target, tuple(values)) for values in zip(*found, strict=True)]


def combines(op: ir.Operation, share: Share) -> bool:
    """True if ``op`` is a supported reduction: arithmetic alone, and over lanes one op or an extreme with its
    index.
    """
    *inner, _ = (view.operation for view in op.regions[0].blocks[0].operations)
    if any(not each.name.startswith(("arith.", "math.")) or len(each.regions) for each in inner):
        return False
    axis = cast(op, ReduceOp).axis.value
    return (
        axis != share.along
        or _kind(op.regions[0].blocks[0]) is not None
        or _extreme(op.regions[0].blocks[0]) is not None
    )


def _inside(ctx: Conversion, function: _Function, values: Tuple, share: Share, axis: int) -> Tuple:
    """A piece along ``axis`` of its own dimension."""
    if share.dims[axis].extent == 1:
        return values
    if axis == share.along:
        return function.lanes(values)
    if len(share.piece) == 2:
        return function.rows(values)
    return function.column(values)


@dataclass(frozen=True)
class _Function:
    """Combining function of an op."""

    ctx: Conversion
    op: ir.Operation

    @property
    def block(self) -> ir.Block:
        """Its arguments are the left elements, then the right ones."""
        return self.op.regions[0].blocks[0]

    def __call__(self, left: Tuple, right: Tuple) -> Tuple:
        """Of vectors or numbers, element by element."""
        known = dict(zip(self.block.arguments, (*left, *right), strict=True))
        *ops, last = (view.operation for view in self.block.operations)
        shape = left[0].type.shape if isinstance(left[0].type, ir.VectorType) else None
        for op in ops:
            if not op.name.startswith(("arith.", "math.")) or len(op.regions):
                raise refusal(op, "a reduction combines by arithmetic alone")
            if op.name == "arith.constant":
                known[op.results[0]] = self._constant(op, shape)
                continue
            types = [ir.VectorType.get(shape, r.type) if shape is not None else r.type for r in op.results]
            attributes = {name: op.attributes[name] for name in op.attributes}
            made = self.ctx.make(
                op.name, [self._of(known, v, shape) for v in op.operands], *types, **attributes
            )
            known.update(zip(op.results, made, strict=True))
        return tuple(self._of(known, v, shape) for v in last.operands)

    def _of(self, known: dict[ir.Value, ir.Value], value: ir.Value, shape: Sequence[int] | None) -> ir.Value:
        """A number from outside is one everywhere."""
        if value in known:
            return known[value]
        own = self.ctx.number_of(value)
        return own if shape is None else self.ctx.everywhere(own, ir.VectorType.get(shape, own.type))

    def _constant(self, op: ir.Operation, shape: Sequence[int] | None) -> ir.Value:
        type_, value = op.results[0].type, op.attributes["value"]
        if shape is not None:
            type_ = ir.VectorType.get(shape, type_)
            value = ir.DenseElementsAttr.get_splat(type_, value)
        return self.ctx.one("arith.constant", (), type_, value=value)

    def tree(self, values: Sequence[Tuple]) -> Tuple:
        """All of ``values``, neighbours first."""
        while len(values) > 1:
            pairs = [self(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
            values = [*pairs, *values[len(pairs) * 2 :]]
        return values[0]

    def rows(self, values: Tuple) -> Tuple:
        """Rows of lanes into one row."""
        while (tall := values[0].type.shape[0]) > 1:
            upper = tuple(self.ctx.rows(v, 0, tall // 2) for v in values)
            lower = tuple(self.ctx.rows(v, tall // 2, tall // 2) for v in values)
            values = self(upper, lower)
        flat = [ir.VectorType.get(v.type.shape[1:], element_of(v)) for v in values]
        return tuple(self.ctx.one("vector.shape_cast", [v], t) for v, t in zip(values, flat, strict=True))

    def column(self, values: Tuple) -> Tuple:
        """Numbers that all lanes have, one after the other, into one."""
        (count,) = values[0].type.shape
        position = [ir.DenseI64ArrayAttr.get([i]) for i in range(count)]
        return self.tree(
            [
                tuple(self.ctx.one("vector.extract", [v], element_of(v), static_position=at) for v in values)
                for at in position
            ]
        )

    def lanes(self, values: Tuple) -> Tuple:
        """Over the lanes of each row, or of one."""
        if (kind := _kind(self.block)) is not None:
            return (self._over_lanes(kind, values[0]),)
        return self._with_index(values)

    def _with_index(self, values: Tuple) -> Tuple:
        """The extreme, and the lowest index of those that have it; where there are numbers that are none, of those too."""
        extreme = _extreme(self.block)
        if extreme is None or len(values) != 2:
            raise refusal(
                self.op,
                "its function is neither one op nor an extreme with its index, so lanes cannot be combined",
            )
        kind, equal = extreme
        ctx, (value, number) = self.ctx, values
        best = self._over_lanes(kind, value)
        everywhere = best
        if isinstance(best.type, ir.VectorType):
            tall, wide = value.type.shape
            column = ctx.one("vector.shape_cast", [best], ir.VectorType.get([tall, 1], element_of(best)))
            everywhere = ctx.one(
                "vector.broadcast", [column], ir.VectorType.get([tall, wide], element_of(best))
            )
        else:
            everywhere = ctx.everywhere(best, value.type)
        compare = "arith.cmpf" if isinstance(element_of(value), ir.FloatType) else "arith.cmpi"
        bits = ir.VectorType.get(value.type.shape, ctx.i1)
        has = ctx.one(compare, [value, everywhere], bits, predicate=ir.IntegerAttr.get(ctx.i64, equal))
        most = ctx.number(number.type, (1 << (element_of(number).width - 1)) - 1)
        found = ctx.one("arith.select", [has, number, most], number.type)
        return best, self._over_lanes("minsi", found)

    def _over_lanes(self, kind: str, value: ir.Value) -> ir.Value:
        if len(value.type.shape) == 2:
            return self.ctx.pinned(self._over_columns(kind, value), lanes=False)
        value = self.ctx.pinned(value, rows=False)
        attribute = ir.Attribute.parse(f"#vector.kind<{kind}>")
        return self.ctx.one("vector.reduction", [value], element_of(value), kind=attribute)

    def _over_columns(self, kind: str, value: ir.Value) -> ir.Value:
        type_ = ir.VectorType.get(value.type.shape[:1], element_of(value))
        neutral = self.ctx.number(type_, _neutral(kind, element_of(value)))
        return self.ctx.one(
            "vector.multi_reduction", [value, neutral], type_,
            kind=ir.Attribute.parse(f"#vector.kind<{kind}>"), reduction_dims=ir.DenseI64ArrayAttr.get([1]),
        )  # fmt: skip


def _kind(block: ir.Block) -> str | None:
    """If it combines one element by one op."""
    ops = [view.operation for view in block.operations]
    if len(ops) != 2 or len(block.arguments) != 2:
        return None
    if set(ops[0].operands) != set(block.arguments) or list(ops[1].operands) != list(ops[0].results):
        return None
    return _KINDS.get(ops[0].name.removeprefix("arith."))


def _extreme(block: ir.Block) -> tuple[str, int] | None:
    """If both results are chosen by one comparison of the first elements, or by it and the lower index of equals."""
    *_, last = (view.operation for view in block.operations)
    if len(block.arguments) != 4:
        return None
    left, index, right, other = block.arguments
    chosen = [_maker(v) for v in last.operands]
    if any(c is None or c.name != "arith.select" for c in chosen):
        return None
    if [list(c.operands)[1:] for c in chosen if c is not None] != [[left, right], [index, other]]:
        return None
    conditions = {c.operands[0] for c in chosen if c is not None}
    return _compared(conditions.pop(), left, right, index, other) if len(conditions) == 1 else None


def _compared(
    condition: ir.Value, left: ir.Value, right: ir.Value, index: ir.Value, other: ir.Value
) -> tuple[str, int] | None:
    """Comparison that ``condition`` makes: ``left > right``, or that or (``left == right`` and ``index <
    other``); None for others.
    """
    op = _maker(condition)
    if op is not None and op.name == "arith.ori":
        first, ties = (_maker(v) for v in op.operands)
        if ties is None or ties.name != "arith.andi":
            return None
        equal, lower = (_maker(v) for v in ties.operands)
        if not _is_comparison(equal, left, right, (0, 1)) or not _is_comparison(lower, index, other, (2,)):
            return None
        op = first
    if op is None or not _is_comparison(op, left, right, None):
        return None
    table = _FLOATS if op.name == "arith.cmpf" else _INTEGERS
    return table.get(ir.IntegerAttr(op.attributes["predicate"]).value)


def _is_comparison(
    op: ir.Operation | None, left: ir.Value, right: ir.Value, predicates: tuple[int, ...] | None
) -> bool:
    if op is None or op.name not in ("arith.cmpf", "arith.cmpi") or list(op.operands) != [left, right]:
        return False
    return predicates is None or ir.IntegerAttr(op.attributes["predicate"]).value in predicates


def _maker(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _neutral(kind: str, element: ir.Type) -> float:
    """Identity element of ``kind``."""
    if isinstance(element, ir.FloatType):
        numbers = {
            "add": -0.0,
            "mul": 1.0,
            "maxnumf": -inf,
            "maximumf": -inf,
            "minnumf": inf,
            "minimumf": inf,
        }
        return numbers[kind]
    top = 1 << (element.width - 1)
    wide = {"minui": -1, "and": -1, "mul": 1, "maxsi": -top, "minsi": top - 1}
    return wide.get(kind, 0)
