"""TTIR to XeGPU: a tensor becomes a vector that the sub-groups of a program own together.

One rule for each op; the dots alone say who owns what.  What has no rule is refused, with its place.
"""

from __future__ import annotations

from tri_backend_intel.xegpu.conversion import DYNAMIC, HOLDS, Conversion, Rule, converted, is_pointers
from tri_backend_intel.xegpu.layouts import LANES, DotLayouts, refusal
from tri_backend_intel.xegpu.origins import dot_of_operand, dot_of_result
from tri_backend_intel.xegpu.pointers import addptr, load_pointers, make_range, of_offsets, store_pointers
from tri_backend_intel.xegpu.surfaces import Asked
from tri_core.mlir import ir

__all__ = ["RULES", "convert"]

#: of a prefetched block: bits of a row, rows
_PREFETCH_BITS, _PREFETCH_ROWS = 512, 32

_OFFSETS = [DYNAMIC] * 2


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


def expand(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """An extent of 1 more.  What it is made of is made anew: as a row and as a column it has two layouts."""
    if op.operands[0].type.rank == 1 and not is_pointers(op.operands[0].type):
        operands = [ctx.again(op.operands[0])]
    return reshape(ctx, op, operands)


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
    if any(is_pointers(v.type) for v in (*op.operands, *op.results)):
        raise refusal(op, "tensors of pointers go through it")
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


def without_tensors(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """Control flow whose results upstream does not deal to sub-groups: its passes end the process, or leave an invalid module."""
    if any(isinstance(r.type, ir.RankedTensorType) for r in op.results):
        raise refusal(op, "its results are tensors, which upstream's passes do not deal to sub-groups")
    return control(ctx, op, operands)


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
    "tt.splat": of_offsets(spread),
    "tt.broadcast": of_offsets(spread),
    "tt.expand_dims": of_offsets(expand),
    "tt.make_range": make_range,
    "tt.addptr": addptr,
    "tt.load": load_pointers,
    "tt.store": store_pointers,
    "tt.trans": transpose,
    "tt.make_tensor_descriptor": nothing,
    "tt.ptr_to_int": lambda ctx, op, operands: ctx.make("llvm.ptrtoint", operands, op.results[0].type),
    "tt.dot": dot,
    "ttig.tile_load": load,
    "ttig.tile_store": store,
    "ttig.tile_prefetch": prefetch,
    "scf.for": control,
    "scf.if": without_tensors,
    "scf.while": without_tensors,
}


def _rule_of(op: ir.Operation) -> Rule | None:
    return RULES.get(op.name, elementwise if op.name.startswith(("arith.", "math.")) else None)


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
    ctx = Conversion(_rule_of, warps, asked)
    ctx.known.update(zip(source.arguments, into.arguments, strict=True))
    with ir.InsertionPoint(into.operations[0]):
        ctx.block(source)
    return made
