"""One conversion of a kernel: what its values became, and what rules are written in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from tri_backend_intel.transforms.surfaces import ANY, BASE, MOST, constant_of
from tri_backend_intel.transforms.version_tiles import maker_of_descriptor
from tri_backend_intel.xegpu.assignment import Assignment
from tri_backend_intel.xegpu.layouts import LANES, lane_layout, refusal
from tri_backend_intel.xegpu.shares import Share
from tri_backend_intel.xegpu.surfaces import Asked
from tri_core.dialects.tt import PointerType
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Blocked, Encoding
from tri_gpu_dialect.layouts import REGISTER

__all__ = [
    "DYNAMIC",
    "HOLDS",
    "Awaited",
    "Conversion",
    "Known",
    "Operand",
    "Pieces",
    "Registers",
    "Rule",
    "Surface",
    "is_pointers",
    "is_small_float",
    "plain",
    "stored",
]

#: the function whose result says whether blocks are the hardware's: both versions of a kernel know it
HOLDS = "tri_surfaces_hold"
DYNAMIC = -(2**63)

Values = Sequence[ir.Value]


@dataclass(frozen=True)
class Pieces:
    """A tensor: a vector, or a number, for each piece of a sub-group's ``share``.

    Of a tensor of pointers they are offsets, in elements, from the address ``base``.
    """

    share: Share
    values: tuple[ir.Value, ...]
    base: ir.Value | None = None

    def at(self, index: Sequence[int]) -> ir.Value:
        """The piece at ``index``."""
        return self.values[self.share.number(index)]


@dataclass(frozen=True)
class Operand:
    """An operand of dots as instructions take it: a lane's registers, by the place of an instruction in the operand.

    ``strided``: of A of 8 bits a lane has k and k + 16 beside each other, not neighbours.
    """

    element: str
    parts: Mapping[tuple[int, int], tuple[ir.Value, ...]]
    strided: bool = False


@dataclass(frozen=True)
class Registers:
    """A tensor of no whole pieces: a lane's elements in the order of a layout of the SIMT path; pointers are addresses."""

    encoding: Encoding
    values: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Awaited:
    """An operand, or its transpose in memory, that ``load`` loads for one dot alone, which emits the loads slice by slice of k."""

    load: ir.Operation
    transposed: bool


#: what a value became
Known: TypeAlias = "ir.Value | Pieces | Operand | Awaited | Registers"


@dataclass(frozen=True)
class Surface:
    """Surface of a descriptor: an address of 64 bytes' alignment, extents and pitch in elements, and the
    shift of columns.
    """

    address: ir.Value
    height: ir.Value
    width: ir.Value
    pitch: ir.Value
    shift: ir.Value


class Conversion:
    """Of one kernel, whose first op is made at ``entry``."""

    def __init__(
        self,
        rules: Callable[[ir.Operation], Rule | None],
        assignment: Assignment,
        asked: Asked | None,
        entry: ir.Block,
    ) -> None:
        self.rules = rules
        self.assignment = assignment
        self.grid = assignment.grid
        self.asked = asked
        self.entry = entry
        self.known: dict[ir.Value, Known] = {}
        self.surfaces: dict[ir.Value, Surface] = {}
        self.index = ir.IndexType.get()
        self.i1 = ir.IntegerType.get_signless(1)
        self.i64 = ir.IntegerType.get_signless(64)
        self.coordinates = self._coordinates()

    def block(self, source: ir.Block) -> list[Known]:
        """The ops of ``source``; gives the operands of its terminator."""
        *ops, last = (view.operation for view in source.operations)
        for op in ops:
            with op.location:
                if self.asked is not None and op == self.asked.place:
                    self._describe(self.asked)
                self.op(op)
        return [self.known[v] for v in last.operands]

    def op(self, op: ir.Operation) -> None:
        """One op, by its rule."""
        rule = self.rules(op)
        if rule is None:
            raise refusal(op, "there is no rule for it")
        self.known.update(zip(op.results, rule(self, op), strict=True))

    # --- values -------------------------------------------------------------------------------------------

    def number_of(self, value: ir.Value) -> ir.Value:
        """Converted form of ``value``, which is no tensor."""
        known = self.known[value]
        assert not isinstance(known, Pieces | Operand | Awaited | Registers)
        return known

    def pieces_of(self, value: ir.Value) -> Pieces:
        """Converted form of ``value``, a tensor."""
        known = self.known[value]
        assert isinstance(known, Pieces)
        return known

    def share(self, value: ir.Value) -> Share:
        """Share of a sub-group in ``value``, a tensor of the source."""
        return self.assignment.share(value)

    def has_pieces(self, value: ir.Value) -> bool:
        """True if ``value``, a tensor of the source, is whole pieces; else it is distributed over lanes as on
        the SIMT path.
        """
        return self.assignment.share(value).fits

    def registers_layout(self, value: ir.Value) -> Encoding:
        """The layout of ``value``, a tensor of the source that has no pieces."""
        return Blocked.default(tuple(value.type.shape), self.grid.warps, LANES, 1)

    def element(self, value: ir.Value) -> ir.Type:
        """The type of the elements of ``value``; pointers are offsets.  Unsupported where vectors have no such elements."""
        element = value.type.element_type if isinstance(value.type, ir.RankedTensorType) else value.type
        if isa_pointer(element):
            return (
                self.index if isinstance(value.type, ir.RankedTensorType) else ir.Type.parse("!llvm.ptr<1>")
            )
        return plain(element)

    def type_of(self, share: Share, element: ir.Type) -> ir.Type:
        """Of a piece."""
        return ir.VectorType.get(share.piece, element) if share.piece else element

    def types_of(self, value: ir.Value) -> list[ir.Type]:
        """Of all that ``value`` of the source becomes."""
        if not isinstance(value.type, ir.RankedTensorType):
            return [self.element(value)]
        if not self.has_pieces(value):
            layout = self.registers_layout(value).linear_layout(tuple(value.type.shape))
            element = self.i64 if is_pointers(value.type) else self.element(value)
            return [element] * layout.in_size(REGISTER)
        share = self.share(value)
        return [self.type_of(share, self.element(value))] * len(share)

    def tensor(self, value: ir.Value, parts: Sequence[ir.Value]) -> Pieces | Registers:
        """``parts``, of :meth:`types_of`, as what ``value``, a tensor of the source, becomes."""
        if self.has_pieces(value):
            return Pieces(self.share(value), tuple(parts))
        return Registers(self.registers_layout(value), tuple(parts))

    # --- what rules are written in ------------------------------------------------------------------------

    def make(
        self, name: str, operands: Values, *types: ir.Type, **attributes: ir.Attribute
    ) -> list[ir.Value]:
        """The results of a new op."""
        made = ir.Operation.create(name, results=list(types), operands=list(operands), attributes=attributes)
        return list(made.results)

    def one(self, name: str, operands: Values, type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
        """The result of a new op that has one."""
        return self.make(name, operands, type_, **attributes)[0]

    def number(self, type_: ir.Type, value: float) -> ir.Value:
        """A constant, everywhere in a vector."""
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        one = (
            ir.FloatAttr.get(element, value)
            if isinstance(element, ir.FloatType)
            else ir.IntegerAttr.get(element, int(value))
        )
        if isinstance(type_, ir.VectorType):
            one = ir.DenseElementsAttr.get_splat(type_, one)
        return self.one("arith.constant", (), type_, value=one)

    def cast(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """A signed number as an index, or back; numbers of a vector likewise."""
        return self.one("arith.index_cast", [value], type_)

    def everywhere(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """A number in all elements of a vector; ``type_`` may be the number's own."""
        return value if value.type == type_ else self.one("vector.broadcast", [value], type_)

    def spread(self, value: ir.Value, source: Share, target: Share) -> ir.Value:
        """A piece of ``source``, rows or lanes, repeated in a piece of ``target``."""
        if source.piece == target.piece:
            return value
        type_ = self.type_of(target, element_of(value))
        if source.piece and len(target.piece) == 2:
            rows = source.along is None
            flat = ir.VectorType.get([*source.piece, 1] if rows else [1, *source.piece], element_of(value))
            value = self.one("vector.shape_cast", [value], flat)
        return self.one("vector.broadcast", [value], type_)

    def rows(self, value: ir.Value, first: int, count: int) -> ir.Value:
        """Some rows of a piece."""
        tall, wide = value.type.shape
        if count == tall:
            return value
        numbers = {"offsets": [first, 0], "sizes": [count, wide], "strides": [1, 1]}
        attributes = {name: _array(numbers[name]) for name in numbers}
        return self.one(
            "vector.extract_strided_slice",
            [value],
            ir.VectorType.get([count, wide], element_of(value)),
            **attributes,
        )

    def stacked(self, parts: Values) -> ir.Value:
        """Rows under each other as one piece."""
        if len(parts) == 1:
            return parts[0]
        tall, wide = parts[0].type.shape
        type_ = ir.VectorType.get([tall * len(parts), wide], element_of(parts[0]))
        made = self.number(type_, 0)
        for i, part in enumerate(parts):
            attributes = {"offsets": _array([i * tall, 0]), "strides": _array([1, 1])}
            made = self.one("vector.insert_strided_slice", [part, made], type_, **attributes)
        return made

    def start(self, share: Share, dim: int, index: Sequence[int]) -> ir.Value:
        """Start along ``dim`` in the tensor of the piece at ``index``, as an index."""
        at, own = share.start(index)[dim], share.dims[dim]
        if own.parts == 1:
            return self.number(self.index, at)
        assert own.axis is not None
        first = self.one(
            "arith.muli", [self.coordinates[own.axis], self.number(self.index, own.share)], self.index
        )
        return self.one("arith.addi", [first, self.number(self.index, at)], self.index) if at else first

    def once(self, share: Share, make: Callable[[], None]) -> None:
        """``make``, on one of the sub-groups that have the same of ``share``."""
        used = {dim.axis for dim in share.dims if dim.parts > 1}
        idle = [
            self.coordinates[axis]
            for axis, count in enumerate((self.grid.rows, self.grid.columns, share.replicas(self.grid)))
            if axis not in used
            and count > 1
            and (axis < 2 or self.grid.warps > self.grid.rows * self.grid.columns)
        ]
        if not idle:
            make()
            return
        first = [
            self.one(
                "arith.cmpi", [v, self.number(self.index, 0)], self.i1,
                predicate=ir.IntegerAttr.get(self.i64, 0),
            )
            for v in idle
        ]  # fmt: skip
        self.when(_all(self, first), make)

    def when(self, condition: ir.Value, make: Callable[[], None]) -> None:
        """``make`` in a branch."""
        branch = ir.Operation.create("scf.if", operands=[condition], regions=2)
        with ir.InsertionPoint(branch.regions[0].blocks.append()):
            make()
            ir.Operation.create("scf.yield")

    def lane(self) -> ir.Value:
        """The number of a lane, as an index."""
        return self.one("gpu.lane_id", [], self.index)

    def address(self, pointer: ir.Value) -> ir.Value:
        """A pointer as a number; of a parameter it is made before everything else."""
        if pointer.owner == self.entry:
            with ir.InsertionPoint.at_block_begin(self.entry):
                return self.one("llvm.ptrtoint", [pointer], self.i64)
        return self.one("llvm.ptrtoint", [pointer], self.i64)

    def pinned(self, value: ir.Value, **kind: bool) -> ir.Value:
        """A reduced piece, with its layout said: the passes would else guess it from what it meets."""
        layout = lane_layout(**kind)
        return self.one(
            "xegpu.convert_layout", [value], value.type, input_layout=layout, target_layout=layout
        )

    # --- surfaces -----------------------------------------------------------------------------------------

    def _coordinates(self) -> tuple[ir.Value, ...]:
        """Of this sub-group: row, column, and which of those there."""
        own = self.one("gpu.subgroup_id", [], self.index)
        found = []
        for count in (self.grid.columns, self.grid.rows):
            size = self.number(self.index, count)
            found.append(self.one("arith.remui", [own, size], self.index))
            own = self.one("arith.divui", [own, size], self.index)
        return found[1], found[0], own

    def _describe(self, asked: Asked) -> None:
        """All surfaces of the kernel; ``held`` is a constant in each of its versions."""
        held = self.one(
            "llvm.call", [self.number_of(asked.condition)], self.i1,
            callee=ir.FlatSymbolRefAttr.get(HOLDS), operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0]),
            op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
        )  # fmt: skip
        for descriptor in asked.descriptors:
            maker = maker_of_descriptor(descriptor)
            assert maker is not None
            with maker.location:
                self.surfaces[descriptor] = self._surface(maker, held)

    def _surface(self, maker: ir.Operation, held: ir.Value) -> Surface:
        """A base within 64 bytes is met by moving x, unless it goes by elements."""
        base, rows, columns, stride, _ = maker.operands
        size = maker.results[0].type.block_type.element_type.width // 8
        address = self.one("llvm.ptrtoint", [self.number_of(base)], self.i64)
        over = self.one("arith.andi", [address, self.number(self.i64, BASE - 1)], self.i64)
        over = self.one("arith.select", [held, over, self.number(self.i64, 0)], self.i64)
        aligned = self.one("arith.subi", [address, over], self.i64)
        shift = self.cast(self.one("arith.divui", [over, self.number(self.i64, size)], self.i64), self.index)
        pitch = self.cast(self.number_of(stride), self.index)
        if constant_of(columns) == ANY:
            width = pitch
        else:
            width = self.one(
                "arith.addi", [self.cast(self.number_of(columns), self.index), shift], self.index
            )
        if constant_of(rows) == ANY:
            most, without = self.number(self.index, MOST), self.number(self.index, ANY)
            height = self.one("arith.select", [held, most, without], self.index)
        else:
            height = self.cast(self.number_of(rows), self.index)
        return Surface(aligned, height, width, pitch, shift)


Rule = Callable[[Conversion, ir.Operation], Sequence[Known]]


def _all(ctx: Conversion, conditions: Values) -> ir.Value:
    held = conditions[0]
    for other in conditions[1:]:
        held = ctx.one("arith.andi", [held, other], ctx.i1)
    return held


def _array(numbers: Sequence[int]) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.IntegerAttr.get(i64, number) for number in numbers])


def flattened(known: Sequence[Known]) -> Iterator[ir.Value]:
    """All pieces, one after the other."""
    for each in known:
        assert not isinstance(each, Operand | Awaited)  # blocks go to dots alone
        if isinstance(each, Pieces | Registers):
            yield from each.values
        else:
            yield each


def element_of(value: ir.Value) -> ir.Type:
    """Of a vector; a number's own type."""
    return value.type.element_type if isinstance(value.type, ir.VectorType) else value.type


def isa_pointer(type_: ir.Type) -> bool:
    """True if it is one pointer."""
    return isinstance(type_, PointerType) or str(type_).startswith("!tt.ptr")


def is_pointers(type_: ir.Type) -> bool:
    """True if it is a tensor of pointers."""
    return isinstance(type_, ir.RankedTensorType) and isa_pointer(type_.element_type)


def plain(element: ir.Type) -> ir.Type:
    """``element`` without a sign; floats of 8 bits are carried as bits."""
    as_bits = isinstance(element, ir.IntegerType) or is_small_float(element)
    return ir.IntegerType.get_signless(element.width) if as_bits else element


def is_small_float(element: ir.Type) -> bool:
    """True if it is a float of 8 bits."""
    return isinstance(element, ir.FloatType) and element.width == 8


def stored(element: ir.Type) -> ir.Type:
    """Type of ``element`` in machine ops: integers if LLVM's target has no such type."""
    kept = isinstance(element, ir.F16Type | ir.F32Type | ir.F64Type | ir.IntegerType)
    return element if kept else ir.IntegerType.get_signless(element.width)
