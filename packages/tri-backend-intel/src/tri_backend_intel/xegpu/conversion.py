"""One conversion of a kernel: what its values became, and what rules are written in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_backend_intel.transforms.fold_tiles import maker_of
from tri_backend_intel.transforms.surfaces import ANY, BASE, MOST, constant_of
from tri_backend_intel.transforms.version_tiles import maker_of_descriptor
from tri_backend_intel.xegpu.layouts import refusal
from tri_backend_intel.xegpu.surfaces import Asked
from tri_core.ir.traits import is_pure
from tri_core.mlir import ir

__all__ = ["DYNAMIC", "HOLDS", "Conversion", "Rule", "Values", "converted", "is_pointers", "plain"]

#: the function whose result says whether blocks are the hardware's: both versions of a kernel know it
HOLDS = "tri_surfaces_hold"
DYNAMIC = -(2**63)

Values = Sequence[ir.Value]


class Conversion:
    """Of one kernel: ``known`` has what each value of the source became.

    A tensor of pointers becomes its offsets, in elements; ``bases`` has the address that they count from.
    """

    def __init__(self, rules: Callable[[ir.Operation], Rule | None], warps: int, asked: Asked | None) -> None:
        self.rules = rules
        self.warps = warps
        self.asked = asked
        self.bases: dict[ir.Value, ir.Value] = {}
        self.known: dict[ir.Value, ir.Value] = {}
        self.surfaces: dict[ir.Value, tuple[ir.Value, ...]] = {}
        self.index = ir.IndexType.get()
        self.i64 = ir.IntegerType.get_signless(64)

    def block(self, source: ir.Block) -> list[ir.Value]:
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
        results = rule(self, op, [self.known.get(v, v) for v in op.operands])
        self.known.update(zip(op.results, results, strict=True))

    def again(self, value: ir.Value) -> ir.Value:
        """What ``value``, a tensor, became, by ops of its own."""
        op = maker_of(value)
        if (
            op is None
            or not isinstance(value.type, ir.RankedTensorType)
            or len(op.regions)
            or not is_pure(op)
        ):
            return self.known[value]
        rule = self.rules(op)
        if rule is None:
            raise refusal(op, "there is no rule for it")
        with op.location:
            return rule(self, op, [self.again(v) for v in op.operands])[ir.OpResult(value).result_number]

    def type_of(self, value: ir.Value) -> ir.Type:
        """What ``value`` of the source becomes."""
        return converted(value.type)

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

    def number(self, type_: ir.Type, value: int) -> ir.Value:
        """A constant."""
        return self.one("arith.constant", (), type_, value=ir.IntegerAttr.get(type_, value))

    def cast(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """A signed number as an index, or back; numbers of a vector likewise."""
        return self.one("arith.index_cast", [value], type_)

    # --- surfaces -----------------------------------------------------------------------------------------

    def _describe(self, asked: Asked) -> None:
        """All surfaces of the kernel; ``held`` is a constant in each of its versions."""
        bit = ir.IntegerType.get_signless(1)
        held = self.one(
            "llvm.call", [self.known[asked.condition]], bit,
            callee=ir.FlatSymbolRefAttr.get(HOLDS), operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0]),
            op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
        )  # fmt: skip
        for descriptor in asked.descriptors:
            maker = maker_of_descriptor(descriptor)
            assert maker is not None
            with maker.location:
                self.surfaces[descriptor] = self._surface(maker, held)

    def _surface(self, maker: ir.Operation, held: ir.Value) -> tuple[ir.Value, ...]:
        """Base, height, width, pitch and shift: a base within 64 bytes is met by moving x, unless it goes by elements."""
        base, rows, columns, stride, _ = maker.operands
        size = maker.results[0].type.block_type.element_type.width // 8
        address = self.one("llvm.ptrtoint", [self.known[base]], self.i64)
        over = self.one("arith.andi", [address, self.number(self.i64, BASE - 1)], self.i64)
        over = self.one("arith.select", [held, over, self.number(self.i64, 0)], self.i64)
        aligned = self.one("arith.subi", [address, over], self.i64)
        shift = self.cast(self.one("arith.divui", [over, self.number(self.i64, size)], self.i64), self.index)
        pitch = self.cast(self.known[stride], self.index)
        if constant_of(columns) == ANY:
            width = pitch
        else:
            width = self.one("arith.addi", [self.cast(self.known[columns], self.index), shift], self.index)
        known_rows = constant_of(rows) == ANY
        height = self.number(self.index, MOST) if known_rows else self.cast(self.known[rows], self.index)
        if known_rows:
            without = self.number(self.index, ANY)
            height = self.one("arith.select", [held, height, without], self.index)
        return aligned, height, width, pitch, shift

    def tile(self, access: ir.Operation, indices: Values) -> list[ir.Value]:
        """The tensor descriptor of an access, and where its block begins."""
        descriptor = access.operands[0]
        aligned, height, width, pitch, shift = self.surfaces[descriptor]
        block = descriptor.type.block_type
        extent = "x".join(map(str, block.shape))
        type_ = ir.Type.parse(f"!xegpu.tensor_desc<{extent}x{plain(block.element_type)}>")
        dynamic = ir.DenseI64ArrayAttr.get([DYNAMIC] * 2)
        made = self.one(
            "xegpu.create_nd_tdesc", [aligned, height, width, pitch, self.number(self.index, 1)], type_,
            const_shape=dynamic, const_strides=dynamic, operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 2, 2]),
        )  # fmt: skip
        row, column = (self.cast(v, self.index) for v in indices)
        return [made, row, self.one("arith.addi", [column, shift], self.index)]


Rule = Callable[[Conversion, ir.Operation, list[ir.Value]], list[ir.Value]]


def is_pointers(type_: ir.Type) -> bool:
    """Whether it is a tensor of pointers."""
    return isinstance(type_, ir.RankedTensorType) and str(type_.element_type).startswith("!tt.ptr")


def plain(element: ir.Type) -> ir.Type:
    """``element`` without a sign."""
    return ir.IntegerType.get_signless(element.width) if isinstance(element, ir.IntegerType) else element


def converted(type_: ir.Type) -> ir.Type:
    """A tensor is a vector, a pointer LLVM's; descriptors are no values here."""
    if is_pointers(type_):
        return ir.VectorType.get(type_.shape, ir.IndexType.get())
    if isinstance(type_, ir.RankedTensorType):
        return ir.VectorType.get(type_.shape, converted(plain(type_.element_type)))
    return ir.Type.parse("!llvm.ptr<1>") if str(type_).startswith("!tt.ptr") else type_
