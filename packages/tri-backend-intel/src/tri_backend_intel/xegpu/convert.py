"""TTIR to XeGPU: a tensor becomes a vector that the sub-groups of a program own together.

One rule for each op; the dots alone say who owns what.  What has no rule is refused, with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_backend_intel.transforms.surfaces import ANY, BASE, MOST, constant_of
from tri_backend_intel.transforms.version_tiles import maker_of_descriptor
from tri_backend_intel.xegpu.layouts import LANES, DotLayouts, refusal
from tri_backend_intel.xegpu.origins import dot_of_operand, dot_of_result
from tri_backend_intel.xegpu.surfaces import Asked
from tri_core.mlir import ir

__all__ = ["HOLDS", "RULES", "Conversion", "Rule", "convert"]

#: the function whose result says whether blocks are the hardware's: both versions of a kernel know it
HOLDS = "tri_surfaces_hold"
_DYNAMIC = -(2**63)
#: of a prefetched block: bits of a row, rows
_PREFETCH_BITS, _PREFETCH_ROWS = 512, 32

Values = Sequence[ir.Value]


class Conversion:
    """Of one kernel to the function ``into``; ``known`` has what each value of the source became."""

    def __init__(self, warps: int, asked: Asked | None) -> None:
        self.warps = warps
        self.asked = asked
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
        rule = RULES.get(op.name)
        if rule is None and op.name.startswith(("arith.", "math.")):
            rule = elementwise
        if rule is None:
            raise refusal(op, "there is no rule for it")
        results = rule(self, op, [self.known.get(v, v) for v in op.operands])
        self.known.update(zip(op.results, results, strict=True))

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
        """A signed number as an index, or back."""
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
        dynamic = ir.DenseI64ArrayAttr.get([_DYNAMIC] * 2)
        made = self.one(
            "xegpu.create_nd_tdesc", [aligned, height, width, pitch, self.number(self.index, 1)], type_,
            const_shape=dynamic, const_strides=dynamic, operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 2, 2]),
        )  # fmt: skip
        row, column = (self.cast(v, self.index) for v in indices)
        return [made, row, self.one("arith.addi", [column, shift], self.index)]


Rule = Callable[[Conversion, ir.Operation, list[ir.Value]], list[ir.Value]]
_OFFSETS = [_DYNAMIC] * 2


def plain(element: ir.Type) -> ir.Type:
    """``element`` without a sign."""
    return ir.IntegerType.get_signless(element.width) if isinstance(element, ir.IntegerType) else element


def converted(type_: ir.Type) -> ir.Type:
    """A tensor is a vector, a pointer LLVM's; descriptors are no values here."""
    if isinstance(type_, ir.RankedTensorType):
        return ir.VectorType.get(type_.shape, converted(plain(type_.element_type)))
    return ir.Type.parse("!llvm.ptr<1>") if str(type_).startswith("!tt.ptr") else type_


# --- rules ------------------------------------------------------------------------------------------------


def elementwise(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """An op of ``arith`` or ``math`` is itself, on vectors."""
    attributes = {name: op.attributes[name] for name in op.attributes}
    types = [ctx.type_of(r) for r in op.results]
    if op.name == "arith.constant" and isinstance(types[0], ir.VectorType):
        value = ir.DenseElementsAttr(op.attributes["value"])
        if not value.is_splat:
            raise refusal(op, "constants of different numbers have no lanes")
        attributes["value"] = ir.DenseElementsAttr.get_splat(types[0], value.get_splat_value())
    return ctx.make(op.name, operands, *types, **attributes)


def program(name: str) -> Rule:
    """A number of the grid."""

    def rule(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
        axis = "xyz"[ir.IntegerAttr(op.attributes["axis"]).value]
        made = ctx.one(name, operands, ctx.index, dimension=ir.Attribute.parse(f"#gpu<dim {axis}>"))
        return [ctx.cast(made, op.results[0].type)]

    return rule


def spread(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """A number, a row or a column everywhere."""
    return ctx.make("vector.broadcast", operands, ctx.type_of(op.results[0]))


def reshape(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """An extent of 1 more."""
    return ctx.make("vector.shape_cast", operands, ctx.type_of(op.results[0]))


def transpose(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """Dimensions in another order."""
    order = ir.DenseI64ArrayAttr.get(list(ir.DenseI32ArrayAttr(op.attributes["order"])))
    return ctx.make("vector.transpose", operands, ctx.type_of(op.results[0]), permutation=order)


def nothing(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """A descriptor: what it is becomes a surface before the first access."""
    del ctx, operands
    return list(op.results)


def control(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """A loop or branch, region by region."""
    attributes = {name: op.attributes[name] for name in op.attributes if not name.startswith("tt.")}
    made = ir.Operation.create(
        op.name, results=[ctx.type_of(r) for r in op.results], operands=operands,
        attributes=attributes, regions=len(op.regions),
    )  # fmt: skip
    for source, region in zip(op.regions, made.regions, strict=True):
        for block in source.blocks:
            into = region.blocks.append(*(ctx.type_of(a) for a in block.arguments))
            ctx.known.update(zip(block.arguments, into.arguments, strict=True))
            last = list(block.operations)[-1].operation
            with ir.InsertionPoint(into):
                handed = ctx.block(block)
                ir.Operation.create(last.name, operands=handed)
    return list(made.results)


def load(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """A block, in the layout of the dot that it is an operand of."""
    attributes: dict[str, ir.Attribute] = {"const_offsets": ir.DenseI64ArrayAttr.get(_OFFSETS)}
    dot, operand, transposed = dot_of_operand(op)
    if not transposed:
        attributes["layout"] = DotLayouts.of(dot, ctx.warps).loaded(operand)
    return ctx.make("xegpu.load_nd", ctx.tile(op, operands[1:]), ctx.type_of(op.results[0]), **attributes)


def store(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """A block, in the layout of the dot's result: in one of its own it would go through local memory."""
    attributes: dict[str, ir.Attribute] = {"const_offsets": ir.DenseI64ArrayAttr.get(_OFFSETS)}
    attributes["layout"] = DotLayouts.of(dot_of_result(op), ctx.warps).computed(2)
    return ctx.make("xegpu.store_nd", [operands[1], *ctx.tile(op, operands[2:])], **attributes)


def prefetch(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """Rows of 64 bytes, shared by the sub-groups; fewer rows than sub-groups are not prefetched: a hint."""
    block = op.operands[0].type.block_type
    rows, columns = block.shape
    wide = min(columns, _PREFETCH_BITS // block.element_type.width)
    across = columns // wide
    tall = min(rows * across // ctx.warps, _PREFETCH_ROWS) if across <= ctx.warps else 0
    if not tall:
        return []
    split, piece = [ctx.warps // across, across], [tall, wide]
    layout = f"#xegpu.layout<sg_layout = {split}, sg_data = {piece}, inst_data = {piece}>"
    return ctx.make(
        "xegpu.prefetch_nd", ctx.tile(op, operands[1:]),
        const_offsets=ir.DenseI64ArrayAttr.get(_OFFSETS), layout=ir.Attribute.parse(layout),
    )  # fmt: skip


def dot(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """DPAS, which says who owns what."""
    left, right, result = (str(v.type.element_type) for v in (*list(op.operands)[:2], op.results[0]))
    if left != right or left not in ("f16", "bf16") or result != "f32":
        raise refusal(op, f"{left} by {right} to {result} is none of XeGPU's")
    layouts = DotLayouts.of(op, ctx.warps)
    a, b, total = (layouts.computed(i) for i in range(3))
    return ctx.make("xegpu.dpas", operands[:3], operands[2].type, layout_a=a, layout_b=b, layout_cd=total)


RULES: dict[str, Rule] = {
    "tt.get_program_id": program("gpu.block_id"),
    "tt.get_num_programs": program("gpu.grid_dim"),
    "tt.splat": spread,
    "tt.broadcast": spread,
    "tt.expand_dims": reshape,
    "tt.trans": transpose,
    "tt.make_tensor_descriptor": nothing,
    "tt.ptr_to_int": lambda ctx, op, operands: ctx.make("llvm.ptrtoint", operands, op.results[0].type),
    "tt.dot": dot,
    "ttig.tile_load": load,
    "ttig.tile_store": store,
    "ttig.tile_prefetch": prefetch,
    "scf.for": control,
    "scf.if": control,
    "scf.while": control,
}


def convert(kernel: ir.Operation, name: str, chip: str, warps: int, asked: Asked | None) -> ir.Module:
    """``kernel`` as ``gpu.func`` on XeGPU; a new module.  Unsupported, located, for what has no rule."""
    source = kernel.regions[0].blocks[0]
    types = ", ".join(f"%arg{i}: {converted(a.type)}" for i, a in enumerate(source.arguments))
    made = ir.Module.parse(
        f'module {{ gpu.module @kernels [#xevm.target<chip = "{chip}">] {{ '
        f"llvm.func @{HOLDS}(i1) -> i1\n"
        f"gpu.func @{name}({types}) kernel attributes {{known_block_size = array<i32: {warps * LANES}, 1, 1>}} "
        "{ gpu.return } } }"
    )
    function = list(next(iter(made.body.operations)).regions[0].blocks[0].operations)[1].operation
    into = function.regions[0].blocks[0]
    ctx = Conversion(warps, asked)
    ctx.known.update(zip(source.arguments, into.arguments, strict=True))
    with ir.InsertionPoint(into.operations[0]):
        ctx.block(source)
    return made
