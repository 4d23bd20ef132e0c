"""Element ownership of a kernel's tensors: a :class:`Share` for every value, from the ties of its ops and the
requirements of dots.

Dimensions that must be shared alike are one class: those of an elementwise op's operands and result, of what a loop carries, of a
tensor and its transpose.  Dots pin classes: rows of the result to the grid's rows, columns to its columns and to the lanes, k is
whole.  A reduction's dimension is whole too, for it stays inside of a sub-group.  The grid is the one that contradicts no pin and
leaves the fewest sub-groups doing what others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from tri_backend_intel.lowering.small_floats import SMALL_FLOATS
from tri_backend_intel.xegpu.layouts import refusal
from tri_backend_intel.xegpu.shares import COLUMNS, LANES, ROWS, TALL, Dim, Grid, Share
from tri_core.dialects.tt import ReduceOp
from tri_core.dialects.tt.enums import InputPrecision
from tri_core.ir.regions import edges_of, is_control
from tri_core.ir.traits import is_elementwise
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.policies.matrix import split_warps

__all__ = ["Assignment", "assign"]

#: bits of k that an instruction takes
_DEPTH_BITS = 256

#: one dimension of one value
Key = tuple[ir.Value, int]


@dataclass
class _Class:
    """Dimensions that are shared alike, and what is pinned of them, by the op that did."""

    extent: int
    axes: dict[int | None, ir.Operation] = field(default_factory=dict)
    lanes: dict[bool, ir.Operation] = field(default_factory=dict)
    tall: dict[int, ir.Operation] = field(default_factory=dict)

    def take(self, other: _Class) -> None:
        self.axes = other.axes | self.axes
        self.lanes = other.lanes | self.lanes
        self.tall = other.tall | self.tall


@dataclass(frozen=True)
class Assignment:
    """The grid of a kernel, and the share of each of its tensors."""

    grid: Grid
    dims: Callable[[ir.Value, int], Dim]

    def share(self, value: ir.Value) -> Share:
        """Share of a sub-group in ``value``, a tensor."""
        return Share(tuple(self.dims(value, i) for i in range(value.type.rank)))


def assign(kernel: ir.Operation, warps: int) -> Assignment:
    """Unsupported, located, where dots, reductions and lanes contradict each other, or a tensor of dots has no whole pieces.

    Other tensors may have none: the grid with the fewest of them is taken.
    """
    ties = _Ties()
    ops = all_ops(kernel)
    for op in ops:
        ties.op(op)
    ties.default_lanes(ops)
    found: list[tuple[tuple[int, int], Grid]] = []
    why: tuple[ir.Operation, str] | None = None
    for grid in _grids(ops, warps):
        wrong = ties.contradiction(grid, ops)
        if wrong is None:
            shares = ties.under(grid)
            found.append(((-_without_pieces(shares, ops), _useful(shares, ops)), grid))
        elif why is None:
            why = wrong
    if not found:
        assert why is not None
        raise refusal(*why)
    best = max(score for score, _ in found)
    return ties.under(next(grid for score, grid in found if score == best))


def _grids(ops: Sequence[ir.Operation], warps: int) -> Iterator[Grid]:
    """That of the first dot before all others."""
    for op in ops:
        if op.name == "tt.dot":
            shape = tuple(op.results[0].type.shape)
            rows, columns = split_warps(shape, (TALL, LANES), warps, whole_rows=False)
            yield Grid(rows, columns, warps)
            break
    yield from Grid.all(warps)


def _without_pieces(assignment: Assignment, ops: Sequence[ir.Operation]) -> int:
    """Number of tensors without whole pieces."""
    return sum(not assignment.share(value).fits for _, value in _tensors(ops))


def _useful(assignment: Assignment, ops: Sequence[ir.Operation]) -> int:
    """Number of sub-groups that do distinct work, over dots, reductions and stores."""
    total = 0
    for op in ops:
        values = list(op.operands)[1:2] if op.name == "tt.store" else list(op.results)[:1]
        if op.name not in ("tt.store", "tt.dot", "tt.reduce") or not isinstance(
            values[0].type, ir.RankedTensorType
        ):
            continue
        value = op.operands[0] if op.name == "tt.reduce" else values[0]
        if not assignment.share(value).fits:
            continue
        total += assignment.grid.warps // assignment.share(value).replicas(assignment.grid)
    return total


class _Ties:
    """Classes of dimensions; extents of 1 are in none."""

    def __init__(self) -> None:
        self.leader: dict[Key, Key] = {}
        self.classes: dict[Key, _Class] = {}

    # --- classes ------------------------------------------------------------------------------------------

    def of(self, value: ir.Value, dim: int) -> _Class | None:
        """The class of a dimension; None where its extent is 1."""
        extent = value.type.shape[dim]
        if extent == 1:
            return None
        root = self._root((value, dim))
        return self.classes.setdefault(root, _Class(extent))

    def _root(self, key: Key) -> Key:
        while (up := self.leader.get(key)) is not None:
            key = up
        return key

    def tie(self, left: ir.Value, i: int, right: ir.Value, j: int) -> None:
        """Both dimensions are shared alike, unless one of them is 1."""
        if self.of(left, i) is None or self.of(right, j) is None:
            return
        a, b = self._root((left, i)), self._root((right, j))
        if a != b:
            self.classes[a].take(self.classes.pop(b))
            self.leader[b] = a

    def same(self, values: Sequence[ir.Value]) -> None:
        """Tensors among ``values`` are shared alike, dimension by dimension."""
        tensors = [v for v in values if isinstance(v.type, ir.RankedTensorType)]
        for other in tensors[1:]:
            for i in range(tensors[0].type.rank):
                self.tie(tensors[0], i, other, i)

    # --- ops ----------------------------------------------------------------------------------------------

    def op(self, op: ir.Operation) -> None:
        """Add the ties and requirements of ``op``."""
        if is_control(op):
            for edge in edges_of(op):
                for value, target in zip(edge.values, edge.targets, strict=True):
                    self.same([value, target])
        elif (rule := _RULES.get(op.name)) is not None:
            rule(self, op)
        elif is_elementwise(op):
            self.same([*op.operands, *op.results])

    def expand(self, op: ir.Operation) -> None:
        """Dimensions behind the new one move up."""
        axis = ir.IntegerAttr(op.attributes["axis"]).value
        (source,), (result,) = op.operands, op.results
        for i in range(source.type.rank):
            self.tie(source, i, result, i + (i >= axis))

    def reshape(self, op: ir.Operation) -> None:
        """Extents of 1 come and go; what else reshapes is refused where it is converted."""
        (source,), (result,) = op.operands, op.results
        kept = [[i for i, n in enumerate(v.type.shape) if n > 1] for v in (source, result)]
        for i, j in zip(*kept, strict=False):
            if source.type.shape[i] == result.type.shape[j]:
                self.tie(source, i, result, j)

    def transpose(self, op: ir.Operation) -> None:
        """Dimensions in another order."""
        for i, j in enumerate(ir.DenseI32ArrayAttr(op.attributes["order"])):
            self.tie(op.results[0], i, op.operands[0], j)

    def reduce(self, op: ir.Operation) -> None:
        """Tie the remaining dimensions of the results to the operands'."""
        view = cast(op, ReduceOp)
        axis, sources = view.axis.value, list(op.operands)
        self.same(sources)
        self.pin(sources[0], axis, op, axis=None)
        for result in op.results:
            for i in range(sources[0].type.rank):
                if i != axis and isinstance(result.type, ir.RankedTensorType):
                    self.tie(sources[0], i, result, i - (i > axis))

    def dot(self, op: ir.Operation) -> None:
        """As the instruction takes its operands."""
        (a, b, total), result = list(op.operands)[:3], op.results[0]
        left, right, out = (str(v.type.element_type) for v in (a, b, result))
        kinds = (_kind(left), _kind(right), out)
        if kinds not in _DOTS or (left == "f32" and _precision(op) != InputPrecision.TF32):
            raise refusal(op, f"no instruction multiplies {left} by {right} to {out}{_words(op, left)}")
        if left == "f32" and a.type.shape[0] == 1:
            raise refusal(op, "an instruction of tf32 takes two rows at least")
        self.same([total, result])
        self.tie(a, 0, result, 0)
        self.tie(b, 1, result, 1)
        self.pin(result, 0, op, axis=ROWS, lanes=False)
        self.pin(result, 1, op, axis=COLUMNS, lanes=True)
        self.pin(a, 1, op, axis=None, lanes=True)
        depth = _DEPTH_BITS // b.type.element_type.width
        k = b.type.shape[0]
        if k % depth:
            raise refusal(op, f"{k} of k is no whole number of instructions, which take {depth}")
        self.pin(b, 0, op, axis=None, lanes=False, tall=depth)

    def pin(self, value: ir.Value, dim: int, op: ir.Operation, *, axis: int | None, lanes: bool | None = None, tall: int | None = None) -> None:  # fmt: skip
        """Set the requirement of ``op`` on a dimension."""
        own = self.of(value, dim)
        if own is None:
            return
        own.axes.setdefault(axis, op)
        if lanes is not None:
            own.lanes.setdefault(lanes, op)
        if tall is not None:
            own.tall.setdefault(tall, op)

    def default_lanes(self, ops: Sequence[ir.Operation]) -> None:
        """The last dimension lies along the lanes, if nothing says otherwise and there are enough elements."""
        tensors = list(_tensors(ops))
        for op, value in tensors:
            if value.type.rank > 1 and len(self._known(value)) > 1:
                self._default(op, value)
        for op, value in tensors:  # a row or column alone: that of a tensor first
            self._default(op, value)

    def _known(self, value: ir.Value) -> list[_Class]:
        """Classes of the dimensions of ``value`` that may yet lie along the lanes, and one that does."""
        classes = [c for i in range(value.type.rank) if (c := self.of(value, i)) is not None]
        return [c for c in classes if not c.lanes] + [c for c in classes if True in c.lanes][:1]

    def _default(self, op: ir.Operation, value: ir.Value) -> None:
        known = self._known(value)
        taken = any(True in c.lanes for c in known)
        free = [c for c in known if not c.lanes]
        wide = None if taken else next((c for c in reversed(free) if c.extent >= LANES), None)
        for each in free:
            each.lanes[each is wide] = op

    # --- grids --------------------------------------------------------------------------------------------

    def under(self, grid: Grid) -> Assignment:
        """The shares that ``grid`` gives."""

        def dim(value: ir.Value, number: int) -> Dim:
            own = self.of(value, number)
            return Dim(1) if own is None else _dim(own, grid)

        return Assignment(grid, dim)

    def contradiction(self, grid: Grid, ops: Sequence[ir.Operation]) -> tuple[ir.Operation, str] | None:
        """An op that cannot be with ``grid``, and why."""
        for own in self.classes.values():
            if len({grid.parts(axis) for axis in own.axes}) > 1:
                return list(own.axes.values())[
                    -1
                ], "its result and its operands are not shared by sub-groups alike"
            if len(own.lanes) > 1:
                return list(own.lanes.values())[
                    -1
                ], "one of its dimensions is along the lanes, and across them elsewhere"
        shares = self.under(grid)
        for op, value in _of_instructions(ops):
            if not shares.share(value).fits:
                extents = "x".join(map(str, value.type.shape))
                return op, f"{extents} is no whole number of instructions for each of {grid.warps} sub-groups"
        return None


def _dim(own: _Class, grid: Grid) -> Dim:
    lanes = True in own.lanes
    tall = max(own.tall, default=TALL)
    if own.axes:
        axis = next(iter(own.axes))
        return Dim(own.extent, axis, grid.parts(axis), lanes, tall)
    shared = Dim(own.extent, axis := COLUMNS if lanes else ROWS, grid.parts(axis), lanes, tall)
    return shared if shared.fits and shared.share else Dim(own.extent, None, 1, lanes, tall)


def _tensors(ops: Sequence[ir.Operation]) -> Iterator[tuple[ir.Operation, ir.Value]]:
    for op in ops:
        for value in (
            *op.results,
            *(a for region in op.regions for block in region.blocks for a in block.arguments),
        ):
            if isinstance(value.type, ir.RankedTensorType):
                yield op, value


def _of_instructions(ops: Sequence[ir.Operation]) -> Iterator[tuple[ir.Operation, ir.Value]]:
    """Tensors of dots and of blocks, which are made of pieces."""
    for op in ops:
        if op.name == "tt.dot" or op.name.startswith("ttig."):
            for value in (*op.operands, *op.results):
                if isinstance(value.type, ir.RankedTensorType):
                    yield op, value


#: of operands and results, by MLIR's names; f8 is each of the two
_DOTS = {(t, t, "i32" if t == "i8" else "f32") for t in ("f16", "bf16", "i8", "f32", "f8")}


def _kind(element: str) -> str:
    return "f8" if element in SMALL_FLOATS else element


def _precision(dot: ir.Operation) -> int:
    return int(ir.IntegerAttr(dot.attributes["inputPrecision"]).value)


def _words(dot: ir.Operation, left: str) -> str:
    return f" with input_precision={InputPrecision(_precision(dot)).name.lower()!r}" if left == "f32" else ""


_RULES: dict[str, Callable[[_Ties, ir.Operation], None]] = {
    "tt.broadcast": lambda ties, op: ties.same([*op.operands, *op.results]),
    "tt.expand_dims": _Ties.expand,
    "tt.reshape": _Ties.reshape,
    "tt.trans": _Ties.transpose,
    "tt.reduce": _Ties.reduce,
    "tt.dot": _Ties.dot,
    "tt.load": lambda ties, op: ties.same([*op.operands, *op.results]),
    "tt.store": lambda ties, op: ties.same(list(op.operands)),
    "tt.addptr": lambda ties, op: ties.same([*op.operands, *op.results]),
}
