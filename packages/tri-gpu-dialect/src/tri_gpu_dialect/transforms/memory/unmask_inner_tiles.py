"""Code of a tile twice: without masks for tiles that lie inside of an array, as before for those at its edge.

    offset = program_id * 256; i = arange(0, 256)
    mask = i < n - offset;  x = load(p + i, mask);  store(q + i, f(x), mask)
    ->  if 255 < n - offset: store(q + i, f(load(p + i)))  else: as before

A mask whose end no alignment is known of has a predicate for each element, and splits vectors into elements: a tile inside needs neither.
Where no vector comes of it there is no copy.  In loops over tiles, the code with masks has a test around it where scalars say that no
element is inside.

The test is of scalars that all threads compute alike: of indices of programs and iterations, arguments and constants, never of memory.  It
is exact in the integers' own width: a sum that wraps makes the test false.  Cf. loop versioning (Wolfe, High Performance Compilers for
Parallel Computing, 1996).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import (
    BroadcastOp,
    ExpandDimsOp,
    FuncOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    LoadOp,
    MakeRangeOp,
    SplatOp,
    StoreOp,
)
from tri_core.ir.access import Access, access_of
from tri_core.ir.regions import For
from tri_core.ir.rewriting import clone_mapped, erase_all, erase_dead, rebuild
from tri_core.ir.traits import is_elementwise, is_pure, moves_data, source_of
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir, scf
from tri_gpu_dialect.analysis.axis_info import AxisInfos, axis_info
from tri_gpu_dialect.analysis.ranges import Ranges, is_integer
from tri_gpu_dialect.dialect import BarrierOp
from tri_gpu_dialect.edit import all_ops, block_ops, functions
from tri_gpu_dialect.layouts import layout_for, shared, vector_access
from tri_gpu_dialect.types import pointee_bytes, tensor_info

__all__ = ["UnmaskInnerTiles"]

_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5
#: a comparison's predicate with its sides exchanged
_EXCHANGED = {_SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE}
#: ops of a tile that are there twice, and values that a scalar is computed from, at most
_OPS, _VALUES = 160, 64
#: bytes of a thread's widest access
_VECTOR = 16
#: beyond are no indices within a tile
_MOST = 1 << 24


@dataclass(frozen=True)
class UnmaskInnerTiles(Pass):
    """See the module; of straight-line code of elements: loads, stores, barriers, and what maps elements.  Runs when barriers are placed."""

    name: ClassVar[str] = "unmask-inner-tiles"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the tiles of every function of ``module``."""
        for function in functions(module):
            ranges = Ranges()
            tiles = [tile for block in _blocks(function) if (tile := _Tile.of(block, ranges)) is not None]
            if not tiles:
                continue
            infos = axis_info(function)
            for tile, widens in [(tile, tile.widens(infos)) for tile in tiles]:
                if widens or tile.common:
                    tile.run(twice=widens)
            erase_dead(function)


@dataclass(frozen=True)
class _Bound:
    """Part of a mask: ``base + t`` compared with ``limit`` by ``predicate``, where ``t`` of the tile is from ``low`` to ``high``.

    Without a ``base``: ``t`` itself.  With one, ``predicate`` is an upper bound, and ``low`` is not negative.
    """

    predicate: int
    low: int
    high: int
    limit: ir.Value
    base: ir.Value | None = None

    @property
    def scalars(self) -> list[ir.Value]:
        """Scalars that the test depends on."""
        return [self.limit] if self.base is None else [self.limit, self.base]

    def everywhere(self) -> ir.Value:
        """Condition (i1) that the part holds for all of the tile, computed here."""
        if self.base is None:
            return self._compared(self.high if self.predicate in (_SLT, _SLE) else self.low)
        high = _number(self.limit.type, self.high)
        # the difference of two that are not negative, the first being larger, does not wrap: nor does the sum below the limit then
        room = arith.SubIOp(self.limit, high).result
        return arith.AndIOp(
            _compare(_SGT, self.limit, high), _compare(self.predicate, self.base, room)
        ).result

    def somewhere(self) -> ir.Value | None:
        """Condition (i1) that the part holds for some of the tile, computed here; None if a sum may wrap."""
        if self.base is not None:
            return None
        return self._compared(self.low if self.predicate in (_SLT, _SLE) else self.high)

    def _compared(self, end: int) -> ir.Value:
        return _compare(self.predicate, _number(self.limit.type, end), self.limit)


@dataclass(frozen=True)
class _Tile:
    """``ops`` of one block, in order, that are there twice; ``scalars`` between them, that go before them; the ``bounds`` of masks.

    ``masked``: the accesses whose masks go; ``common``: bounds by which nothing of an iteration may be stored.
    """

    ops: tuple[ir.Operation, ...]
    scalars: tuple[ir.Operation, ...]
    first: ir.Operation
    masked: tuple[ir.Operation, ...]
    bounds: tuple[_Bound, ...]
    common: tuple[_Bound, ...]

    @classmethod
    def of(cls, block: ir.Block, ranges: Ranges) -> _Tile | None:
        """The tile that ``block`` goes through; None: there is none, or its code is not of elements alone."""
        known = {op: bounds for op in block_ops(block) if (bounds := _bounds_of(op, ranges)) is not None}
        if not known:
            return None
        ops = block_ops(block)
        first, last = ops.index(next(iter(known))), ops.index(next(reversed(known)))
        span = ops[first : last + 1]
        scalars = _scalars(span)
        kept = [op for op in span if op not in scalars]
        if len(kept) > _OPS or not all(map(_is_of_elements, kept)):
            return None
        kept = _with_sources(ops[:first], kept)
        bounds = tuple(dict.fromkeys(b for found in known.values() for b in found))
        if any(_is_computed_by(v, kept) or _origins(v) is None for b in bounds for v in b.scalars):
            return None
        if any(use.owner.operation not in kept for op in kept for r in op.results for use in r.uses):
            return None
        outside = _outside(bounds, [known.get(op) for op in kept if isa(op, StoreOp)], block)
        return cls(tuple(kept), tuple(scalars), ops[first], tuple(known), bounds, outside)

    def widens(self, infos: AxisInfos) -> bool:
        """True if a mask ends within a vector that would be accessed at once without it."""
        return any(_ends_within_a_vector(op, infos) for op in self.masked)

    def run(self, *, twice: bool) -> None:
        """Put branches in place of the code; ``twice``: with a copy that has no masks, which costs registers where no vector comes of it."""
        for op in self.scalars:
            op.move_before(self.first)
        with ir.InsertionPoint(self.first), self.first.location:
            if twice:
                self._versions()
            else:
                self._where_some()
        erase_all(list(reversed(self.ops)))

    def _versions(self) -> None:
        branch = scf.IfOp(_all(b.everywhere() for b in self.bounds), [], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self._copy(masks=False)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self._where_some()
            scf.YieldOp([])

    def _where_some(self) -> None:
        """The code as before, where the bounds say that it does something."""
        some = [found for b in self.common if (found := b.somewhere()) is not None]
        if not some:
            self._copy(masks=True)
            return
        branch = scf.IfOp(_all(some), [])
        with ir.InsertionPoint(branch.then_block):
            self._copy(masks=True)
            scf.YieldOp([])

    def _copy(self, *, masks: bool) -> None:
        known: dict[ir.Value, ir.Value] = {}
        made = [(op, clone_mapped(op, known)) for op in self.ops]
        for op, copy in made:
            if not masks and op in self.masked:
                _unmask(copy)


def _outside(
    bounds: Sequence[_Bound], stores: Sequence[Sequence[_Bound] | None], block: ir.Block
) -> tuple[_Bound, ...]:
    """Those of ``bounds`` that are in the masks of all ``stores`` of ``block`` and may leave nothing of an iteration."""
    loop = block.owner.operation
    if not isa(loop, For):
        return ()
    in_all = [b for b in bounds if all(masks is not None and b in masks for masks in stores)]
    return tuple(b for b in in_all if _goes_over_a_grid(b, loop))


def _blocks(function: ir.Operation) -> Iterator[ir.Block]:
    """Blocks that may go through a tile: the bodies of loops, and the function's where it is the only one."""
    if len(function.regions[0].blocks) == 1:
        yield function.regions[0].blocks[0]
    for op in all_ops(function):
        if isa(op, For):
            yield For(op).body


def _scalars(span: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Those of ``span`` that compute scalars of what is known before it, or of each other."""
    inside, found = set(span), []
    for op in span:
        if not is_pure(op) or len(op.regions) or any(tensor_info(r.type) is not None for r in op.results):
            continue
        sources = [v.owner.operation for v in op.operands if isinstance(v.owner, ir.OpView)]
        if all(source not in inside or source in found for source in sources):
            found.append(op)
    return found


def _is_of_elements(op: ir.Operation) -> bool:
    """True if a copy of ``op`` in a branch has the same effect on its elements."""
    if len(op.regions):
        return False
    return isa(op, LoadOp, StoreOp, BarrierOp) or is_elementwise(op) or _is_local(op)


def _is_local(op: ir.Operation) -> bool:
    """True if ``op`` makes a tensor without exchange between threads."""
    return isa(op, arith.ConstantOp, MakeRangeOp, SplatOp, BroadcastOp, ExpandDimsOp)


def _with_sources(before: Sequence[ir.Operation], kept: list[ir.Operation]) -> list[ir.Operation]:
    """``kept``, and of the ops ``before`` it those that compute tensors for it alone."""
    found, inside = list(kept), set(kept)
    for op in reversed(before):
        tensors = bool(op.results) and all(tensor_info(r.type) is not None for r in op.results)
        if not tensors or not is_pure(op) or len(op.regions) or not _is_of_elements(op):
            continue
        users = [use.owner.operation for r in op.results for use in r.uses]
        if users and all(user in inside for user in users):
            found.insert(0, op)
            inside.add(op)
    return found


def _bounds_of(op: ir.Operation, ranges: Ranges) -> tuple[_Bound, ...] | None:
    """The parts of the mask of ``op``, a load or store of a tensor; None: it has none, or one that is none of such parts."""
    if not isa(op, LoadOp, StoreOp):
        return None
    access = access_of(op)
    assert access is not None
    if access.mask is None or tensor_info(access.address.type) is None:
        return None
    found, ahead = [], [access.mask]
    while ahead:
        value = ahead.pop()
        made = defining_op(value)
        if made is None or tensor_info(value.type) is None:
            return None
        if isa(made, arith.AndIOp):
            ahead += list(made.operands)
        elif moves_data(made):
            ahead.append(source_of(made))
        elif ranges.of(value).value:
            continue  # true everywhere
        elif isa(made, arith.CmpIOp) and (bound := _bound(made, ranges)) is not None:
            found.append(bound)
        else:
            return None
    return tuple(found) or None


def _bound(comparison: ir.Operation, ranges: Ranges) -> _Bound | None:
    predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
    left, right = comparison.operands
    if _scalar(right) is None:
        left, right, predicate = right, left, _EXCHANGED.get(predicate, -1)
    limit = _scalar(right)
    if limit is None or predicate not in _EXCHANGED or not is_integer(limit):
        return None
    base, index = _sum(left)
    if index is None or (base is not None and predicate not in (_SLT, _SLE)):
        return None
    known = ranges.of(index)
    if not -_MOST < known.low <= known.high < _MOST or (base is not None and known.low < 0):
        return None
    return _Bound(predicate, known.low, known.high, limit, base)


def _sum(value: ir.Value) -> tuple[ir.Value | None, ir.Value | None]:
    """(scalar, tensor) whose sum ``value`` is; without the scalar, the tensor itself."""
    while (made := defining_op(value)) is not None and moves_data(made):
        value = source_of(made)
        if tensor_info(value.type) is None:
            return None, None
    if made is None or not isa(made, arith.AddIOp):
        return None, value
    for one, other in (made.operands, reversed(list(made.operands))):
        base = _scalar(one)
        if base is not None:
            return base, other
    return None, value


def _scalar(value: ir.Value) -> ir.Value | None:
    """The scalar that all elements of ``value`` are; None: none is known."""
    while tensor_info(value.type) is not None:
        made = defining_op(value)
        if made is None or not moves_data(made):
            return None
        value = source_of(made)
    return value


def _is_computed_by(value: ir.Value, ops: Sequence[ir.Operation]) -> bool:
    made = defining_op(value)
    return made is not None and made in ops


def _origins(value: ir.Value) -> list[ir.Value] | None:
    """Uniform values that ``value`` is ultimately computed from; None if it depends on memory or is unknown."""
    ahead, seen, found = [value], {value}, []
    while ahead and len(seen) < _VALUES:
        at = ahead.pop()
        owner = at.owner
        sources: list[ir.Value] = []
        if isinstance(owner, ir.Block):
            around = owner.owner.operation
            if isa(around, For) and at == For(around).variable:
                sources = For(around).bounds
            elif not isa(around, FuncOp):
                return None
            found.append(at)
        elif isa(owner.operation, arith.ConstantOp, GetProgramIdOp, GetNumProgramsOp):
            found.append(at)
        elif is_elementwise(owner.operation):
            sources = list(owner.operation.operands)
        else:
            return None
        ahead += [v for v in sources if v not in seen]
        seen.update(sources)
    return None if ahead else found


def _goes_over_a_grid(bound: _Bound, loop: ir.Operation) -> bool:
    """True if iterations of ``loop`` may be outside by ``bound``: programs share the tiles, and some have one
    less.
    """
    if bound.base is not None:
        return False
    origins = _origins(bound.limit) or []
    programs = any(defining_op(v, GetProgramIdOp) is not None for v in origins)
    return programs and For(loop).variable in origins


def _ends_within_a_vector(op: ir.Operation, infos: AxisInfos) -> bool:
    access = access_of(op)
    assert isinstance(access, Access)
    assert access.mask is not None
    pointers, mask = access.address, access.mask
    runs = (
        (d, infos.contiguous(pointers, d), infos.constant_run(mask, d)) for d in range(pointers.type.rank)
    )
    return any(many > run and _vector(pointers, d, many) > run for d, many, run in runs)


def _vector(pointers: ir.Value, dim: int, contiguous: int) -> int:
    """Elements of a thread's vectors along ``dim``, ``contiguous`` at most: as many as the layout, if there is one yet, has in a row."""
    widest = min(contiguous, _VECTOR // pointee_bytes(pointers.type))
    info = tensor_info(pointers.type)
    assert info is not None
    if info.encoding is None:
        return widest
    order = [dim, *(d for d in reversed(range(len(info.shape))) if d != dim)]
    return vector_access(
        layout_for(info.encoding, info.shape), shared.row_major(info.shape, order), widest
    ).width


def _unmask(op: ir.Operation) -> None:
    """Take the mask, and what stands for masked elements, from a load or a store."""
    access = access_of(op)
    assert isinstance(access, Access)
    operands = [access.address] if access.stored is None else [access.address, access.stored]
    sizes = [1, int(access.stored is not None), 0]
    rebuild(op, operands=operands, attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)})


def _all(conditions: Iterable[ir.Value]) -> ir.Value:
    first, *rest = conditions
    for other in rest:
        first = arith.AndIOp(first, other).result
    return first


def _compare(predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    value: ir.Value = arith.CmpIOp(predicate, left, right).result
    return value


def _number(type_: ir.Type, value: int) -> ir.Value:
    made: ir.Value = arith.ConstantOp(type_, ir.IntegerAttr.get(type_, value)).result
    return made
