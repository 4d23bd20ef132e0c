"""Block accesses where the running kernel finds that the hardware takes them; without this pass all are by elements.

The hardware answers with anything where a surface does not meet its requirements.  These are asked before the outermost loop
around an access, in which nothing of them changes, and the loop is there twice::

    if base, sizes and pitch are as they must be: for ...: tile_load d[i, j]
    else:                                         for ...: tile_load d[i, j] {by_elements}
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from tri_backend_intel.dialect.tiles import BY_ELEMENTS, coordinates, is_block_access
from tri_backend_intel.transforms.fold_tiles import maker_of
from tri_backend_intel.transforms.surfaces import ANY, BASE, LEAST_WIDTH, MOST, PITCH, X_BYTES, constant_of
from tri_core.api import Pass, StageContext
from tri_core.ir.regions import For, If, is_loop
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.axis_info import AxisInfos, axis_info
from tri_gpu_dialect.analysis.ranges import Ranges
from tri_gpu_dialect.edit import all_ops, constant, functions, make

__all__ = ["Known", "VersionTiles", "asked", "is_inside", "maker_of_descriptor"]

_EQ, _SLE = 0, 3
_NOT_ASKED = f"columns that are not known to start at multiples of {X_BYTES} bytes, or sizes that are not known before the loop"


@dataclass(frozen=True)
class VersionTiles(Pass):
    """See the module.  What cannot be asked before the loop makes an access one by elements, always."""

    name: ClassVar[str] = "version-tiles"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        for function in functions(module):
            places: list[tuple[ir.Operation, list[ir.Operation]]] = []
            known = Known.of(function)
            for op in all_ops(function):
                if is_block_access(op):
                    place = _place(op)
                    own = next((accesses for at, accesses in places if at == place), None)
                    if own is None:
                        places.append((place, own := []))
                    own.append(op)
            # inner loops first: an outer one is then copied with both versions in it
            places.sort(key=lambda each: _depth(each[0]), reverse=True)
            conditions = [asked(known, place, own) for place, own in places]
            for (place, own), condition in zip(places, conditions, strict=True):
                _version(place, own, condition)


@dataclass(frozen=True)
class Known:
    """Analyses of a kernel's values."""

    infos: AxisInfos
    ranges: Ranges

    @classmethod
    def of(cls, function: ir.Operation) -> Known:
        """Of those of ``function``."""
        return cls(axis_info(function), Ranges(no_overflow=True))


def _depth(op: ir.Operation) -> int:
    depth = 0
    while op.name != "tt.func":
        op, depth = op.parent.operation, depth + 1
    return depth


def is_inside(value: ir.Value, place: ir.Operation) -> bool:
    """True if ``value`` is defined in the region of ``place``."""
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    op = block.owner.operation
    while op.name not in ("tt.func", "builtin.module"):
        if op == place:
            return True
        op = op.parent.operation
    return False


def _place(access: ir.Operation) -> ir.Operation:
    """The outermost loop around ``access`` in which its descriptor is not made; without one, the access."""
    place, op = access, access.parent.operation
    while op.name != "tt.func" and not is_inside(_descriptor(access), op):
        if is_loop(op):
            place = op
        op = op.parent.operation
    return place


def _version(place: ir.Operation, accesses: list[ir.Operation], condition: ir.Value | None) -> None:
    """``place`` in a branch on ``condition``, and with ``accesses`` by elements in the other; None: by elements."""
    if condition is None:
        for access in accesses:
            access.attributes[BY_ELEMENTS] = ir.UnitAttr.get()
            declined(VersionTiles.name, access, "the block is accessed by elements: {}", _NOT_ASKED)
        return
    with ir.InsertionPoint(place), place.location:
        branch = ir.Operation.create(
            If.OPERATION_NAME, results=[r.type for r in place.results], operands=[condition], regions=2
        )
    inside, outside = (region.blocks.append() for region in branch.regions)
    for result, value in zip(place.results, branch.results, strict=True):
        result.replace_all_uses_with(value)
    copy = place.clone(ip=ir.InsertionPoint(outside)).operation
    for own, other in zip(all_ops(place), all_ops(copy), strict=True):
        if own in accesses:
            other.attributes[BY_ELEMENTS] = ir.UnitAttr.get()
    for access in accesses:
        if BY_ELEMENTS in access.attributes:
            del access.attributes[BY_ELEMENTS]
    with place.location:
        end = ir.Operation.create("scf.yield", operands=list(place.results), ip=ir.InsertionPoint(inside))
        ir.Operation.create("scf.yield", operands=list(copy.results), ip=ir.InsertionPoint(outside))
    place.move_before(end)
    for first in (place, copy):
        _bring(first)


def _bring(place: ir.Operation) -> None:
    """Makes the descriptors that ``place`` accesses before it, too: a branch keeps no numbers that the other one alone needs.

    What is erased here was for accesses in ``place`` alone.
    """
    accesses = [op for op in all_ops(place) if is_block_access(op)]
    for descriptor in dict.fromkeys(map(_descriptor, accesses)):
        maker = maker_of_descriptor(descriptor)
        if maker is None or is_inside(descriptor, place):
            continue
        copy = maker.clone(ip=ir.InsertionPoint(place)).operation.results[0]
        for use in list(descriptor.uses):
            user = use.owner.operation
            if user in accesses:
                user.operands[use.operand_number] = copy
        if not any(True for _ in descriptor.uses):
            maker.erase()


def _descriptor(access: ir.Operation) -> ir.Value:
    return access.operands[0]


def maker_of_descriptor(descriptor: ir.Value) -> ir.Operation | None:
    """Op that makes ``descriptor`` from a pointer, sizes and strides; None if it comes from elsewhere."""
    maker = maker_of(descriptor)
    return maker if maker is not None and maker.name == "tt.make_tensor_descriptor" else None


# --- conditions -------------------------------------------------------------------------------------------


def asked(known: Known, place: ir.Operation, accesses: list[ir.Operation]) -> ir.Value | None:
    """Condition (i1) that all of ``accesses`` may be blocks, computed before ``place``; None if one of them
    never may.
    """
    surfaces: dict[ir.Value, list[ir.Operation]] = {}
    for access in accesses:
        surfaces.setdefault(_descriptor(access), []).append(access)
    if not all(_starts_at_words(known, access) for access in accesses):
        return None
    found: ir.Value | None = None
    with ir.InsertionPoint(place), place.location:
        for descriptor, own in surfaces.items():
            maker = maker_of_descriptor(descriptor)
            if maker is None:
                return None
            asking = _Surface(known, place, maker, own)
            if not asking.ask():
                return None
            for answer in asking.answers:
                found = answer if found is None else _binary("arith.andi", found, answer)
    return found


def _starts_at_words(known: Known, access: ir.Operation) -> bool:
    bits: int = _descriptor(access).type.block_type.element_type.width
    return known.infos.of(coordinates(access)[-1]).of_elements(0) * bits % (8 * X_BYTES) == 0


@dataclass
class _Surface:
    """The questions about one descriptor, in i64."""

    known: Known
    place: ir.Operation
    maker: ir.Operation
    accesses: list[ir.Operation]
    answers: list[ir.Value] = field(default_factory=list)

    def ask(self) -> bool:
        """Emit the questions; False where one cannot be asked."""
        base, rows, columns, stride, _ = self.maker.operands
        size = self.maker.results[0].type.block_type.element_type.width // 8
        address = make("tt.ptr_to_int", [base], ir.IntegerType.get_signless(64)).results[0]
        over = _binary("arith.andi", address, constant(64, BASE - 1))
        pitch = _binary("arith.muli", _wide(stride), constant(64, size))
        self.multiple(pitch, PITCH)
        self.at_most(constant(64, LEAST_WIDTH), pitch)
        self.at_most(pitch, constant(64, MOST))
        self.multiple(over, X_BYTES)
        if not all(self.known.ranges.of(coordinates(a)[-1]).low >= 0 for a in self.accesses):
            # the surface begins before the tensor then, where nothing may be read
            self.multiple(address, BASE)
        width = _binary("arith.muli", _wide(columns), constant(64, size))
        if constant_of(columns) == ANY:
            reach = self.reach(1)
            if reach is None:
                return False
            width = _binary("arith.muli", reach, constant(64, size))
        else:
            self.multiple(width, X_BYTES)
            self.at_most(constant(64, LEAST_WIDTH), width)
        self.at_most(_binary("arith.addi", width, over), pitch)
        height = _wide(rows)
        if constant_of(rows) == ANY:
            reach = self.reach(0)
            if reach is None:
                return False
            height = reach
        else:
            self.at_most(constant(64, 1), height)
        self.at_most(height, constant(64, MOST))
        return True

    def multiple(self, value: ir.Value, of: int) -> None:
        """Is ``value`` a multiple of ``of``, a power of two?"""
        rest = _binary("arith.andi", value, constant(64, of - 1))
        self.answers.append(_compared(_EQ, rest, constant(64, 0)))

    def at_most(self, value: ir.Value, bound: ir.Value) -> None:
        """Is ``value <= bound``?"""
        self.answers.append(_compared(_SLE, value, bound))

    def reach(self, dim: int) -> ir.Value | None:
        """Beyond the last element along ``dim`` that the accesses reach; None: that is not known before."""
        found: ir.Value | None = None
        for access in self.accesses:
            last = self.last(coordinates(access)[dim])
            if last is None:
                return None
            size = _descriptor(access).type.block_type.shape[dim]
            end = _binary("arith.addi", last, constant(64, size))
            found = end if found is None else _binary("arith.maxsi", found, end)
        return found

    def last(self, value: ir.Value) -> ir.Value | None:
        """Upper bound of ``value`` (i32), as i64: it grows with the induction variables of the loops in
        ``place``.
        """
        if not is_inside(value, self.place):
            return _wide(value)
        op = maker_of(value)
        if op is None:
            return self._last_of_loop(value)
        if op.name == "arith.constant":
            number = constant_of(value)
            return None if number is None else constant(64, number)
        if op.name in ("arith.addi", "arith.muli"):
            parts = [self.last(v) for v in op.operands]
            grows = op.name == "arith.addi" or all(self.known.ranges.of(v).low >= 0 for v in op.operands)
            if grows and parts[0] is not None and parts[1] is not None:
                return _binary(op.name, parts[0], parts[1])
        if isa(op, arith.DivSIOp) and self.known.ranges.of(cast(op, arith.DivSIOp).lhs).low >= 0:
            # which iteration it is, of the variable of a loop
            view = cast(op, arith.DivSIOp)
            whole, number = self.last(view.lhs), constant_of(view.rhs)
            if whole is not None and number is not None and number > 0:
                return _binary(op.name, whole, constant(64, number))
        if isa(op, arith.RemSIOp):
            number = constant_of(cast(op, arith.RemSIOp).rhs)
            return None if number is None else constant(64, abs(number) - 1)
        return None

    def _last_of_loop(self, value: ir.Value) -> ir.Value | None:
        """The variable of a loop that counts up is below its bound."""
        loop = value.owner.owner.operation
        if not isa(loop, For) or ir.BlockArgument(value).arg_number != 0:
            return None
        lower, upper, step = (self.last(v) for v in list(loop.operands)[:3])
        number = constant_of(loop.operands[2])
        if lower is None or upper is None or step is None or number is None or number <= 0:
            return None
        before = _binary("arith.subi", _binary("arith.subi", upper, lower), constant(64, 1))
        steps = _binary("arith.divsi", before, step)
        return _binary("arith.addi", lower, _binary("arith.muli", steps, step))


def _wide(value: ir.Value) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    return value if value.type == i64 else make("arith.extsi", [value], i64).results[0]


def _binary(name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    return make(name, [x, y], x.type).results[0]


def _compared(predicate: int, x: ir.Value, y: ir.Value) -> ir.Value:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return make("arith.cmpi", [x, y], ir.IntegerType.get_signless(1), predicate=attribute).results[0]
