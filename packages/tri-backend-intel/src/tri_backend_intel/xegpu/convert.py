"""TTIR to XeGPU on the level of sub-groups: a tensor becomes vectors of one instruction's size.

One rule for each op; :mod:`assignment` says who owns what.  What has no rule is refused, with its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.xegpu.assignment import Assignment, assign
from tri_backend_intel.xegpu.blocks import load_block, prefetch_block, store_block
from tri_backend_intel.xegpu.control import control
from tri_backend_intel.xegpu.conversion import (
    HOLDS,
    Awaited,
    Conversion,
    Known,
    Operand,
    Pieces,
    Registers,
    Rule,
    is_pointers,
    is_small_float,
    isa_pointer,
    plain,
)
from tri_backend_intel.xegpu.dots import dot
from tri_backend_intel.xegpu.layouts import LANES, refusal
from tri_backend_intel.xegpu.own_sources import with_own_sources
from tri_backend_intel.xegpu.pointers import addptr, load, splat, store
from tri_backend_intel.xegpu.reductions import combines, reduce
from tri_backend_intel.xegpu.simt_ops import by_simt
from tri_backend_intel.xegpu.surfaces import Asked
from tri_core.ir.traits import is_elementwise
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops

__all__ = ["RULES", "convert"]


# --- rules ------------------------------------------------------------------------------------------------


def elementwise(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """An op of ``arith`` or ``math`` is itself, on each piece or register; those that are alike are computed once."""
    attributes = {name: op.attributes[name] for name in op.attributes}
    tensors = [v for v in op.results if isinstance(v.type, ir.RankedTensorType)]
    if not tensors:
        operands = [ctx.number_of(v) for v in op.operands]
        return list(ctx.make(op.name, operands, *(ctx.element(r) for r in op.results), **attributes))
    types = [ctx.types_of(r) for r in tensors]
    known = [ctx.known[v] for v in op.operands]
    made: dict[tuple[ir.Value, ...], list[ir.Value]] = {}
    found = []
    for number, here_types in enumerate(zip(*types, strict=True)):
        here = tuple(k.values[number] if isinstance(k, Pieces | Registers) else k for k in known)
        if here not in made:
            made[here] = ctx.make(op.name, here, *here_types, **attributes)
        found.append(made[here])
    return [ctx.tensor(r, values) for r, values in zip(tensors, zip(*found, strict=True), strict=True)]


def constant(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """One number, everywhere."""
    (result,) = op.results
    if not isinstance(result.type, ir.RankedTensorType):
        return elementwise(ctx, op)
    value = ir.DenseElementsAttr(op.attributes["value"])
    if not value.is_splat:
        return by_simt(ctx, op)
    number = value.get_splat_value()
    if is_small_float(result.type.element_type):
        if number.value:
            return by_simt(ctx, op)
        number = ir.IntegerAttr.get(ctx.element(result), 0)
    types = ctx.types_of(result)
    if isinstance(types[0], ir.VectorType):
        number = ir.DenseElementsAttr.get_splat(types[0], number)
    return [ctx.tensor(result, (ctx.one("arith.constant", (), types[0], value=number),) * len(types))]


def program(name: str) -> Rule:
    """A number of the grid."""

    def rule(ctx: Conversion, op: ir.Operation) -> list[Known]:
        axis = "xyz"[ir.IntegerAttr(op.attributes["axis"]).value]
        made = ctx.one(name, (), ctx.index, dimension=ir.Attribute.parse(f"#gpu<dim {axis}>"))
        return [ctx.cast(made, op.results[0].type)]

    return rule


def make_range(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Numbers one after another."""
    (result,) = op.results
    share, element = ctx.share(result), ctx.element(result)
    type_, first = ctx.type_of(share, element), ir.IntegerAttr(op.attributes["start"]).value
    found = []
    for index in share.indices():
        start = ctx.cast(ctx.start(share, 0, index), element)
        if first:
            start = ctx.one("arith.addi", [start, ctx.number(element, first)], element)
        if isinstance(type_, ir.VectorType):
            steps = _steps(ctx, type_, along=share.along is not None)
            start = ctx.one("arith.addi", [steps, ctx.everywhere(start, type_)], type_)
        found.append(start)
    return [Pieces(share, tuple(found))]


def _steps(ctx: Conversion, type_: ir.Type, *, along: bool) -> ir.Value:
    """0, 1, ... by lanes, or the same in all of them."""
    if along:
        return ctx.cast(ctx.one("vector.step", [], ir.VectorType.get(type_.shape, ctx.index)), type_)
    numbers = [ir.IntegerAttr.get(type_.element_type, i) for i in range(type_.shape[0])]
    return ctx.one("arith.constant", (), type_, value=ir.DenseElementsAttr.get(numbers, type_))


def broadcast(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Rows, lanes or a number, repeated."""
    source, target = ctx.pieces_of(op.operands[0]), ctx.share(op.results[0])
    made: dict[ir.Value, ir.Value] = {}
    found = []
    for index in target.indices():
        piece = source.at(index)
        if piece not in made:
            made[piece] = ctx.spread(piece, source.share, target)
        found.append(made[piece])
    return [Pieces(target, tuple(found), source.base)]


def expand(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """An extent of 1 more: the same pieces."""
    source = ctx.pieces_of(op.operands[0])
    return [Pieces(ctx.share(op.results[0]), source.values, source.base)]


def transpose(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Other names for dimensions: the same pieces, in another order."""
    known = ctx.known[op.operands[0]]
    if isinstance(known, Operand | Awaited):
        return [known]
    source, target = ctx.pieces_of(op.operands[0]), ctx.share(op.results[0])
    order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
    found = []
    for index in target.indices():
        lying = [0] * len(order)
        for i, j in enumerate(order):
            lying[j] = index[i]
        found.append(source.at(lying))
    return [Pieces(target, tuple(found), source.base)]


def reshape(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Extents of 1 more or less: the same pieces; other elements go to other lanes."""
    (source,), (result,) = op.operands, op.results
    if [n for n in source.type.shape if n > 1] != [n for n in result.type.shape if n > 1]:
        return by_simt(ctx, op)
    known = ctx.pieces_of(source)
    return [Pieces(ctx.share(result), known.values, known.base)]


def nothing(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """A descriptor: what it is becomes a surface before the first access."""
    del ctx
    return list(op.results)


def address(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """A pointer as a number."""
    return [ctx.address(ctx.number_of(op.operands[0]))]


RULES: dict[str, Rule] = {
    "arith.constant": constant,
    "tt.get_program_id": program("gpu.block_id"),
    "tt.get_num_programs": program("gpu.grid_dim"),
    "tt.splat": splat,
    "tt.broadcast": broadcast,
    "tt.expand_dims": expand,
    "tt.make_range": make_range,
    "tt.reshape": reshape,
    "tt.addptr": addptr,
    "tt.load": load,
    "tt.store": store,
    "tt.trans": transpose,
    "tt.reduce": reduce,
    "tt.make_tensor_descriptor": nothing,
    "tt.ptr_to_int": address,
    "tt.dot": dot,
    "ttig.tile_load": load_block,
    "ttig.tile_store": store_block,
    "ttig.tile_prefetch": prefetch_block,
    "scf.for": control,
    "scf.if": control,
    "scf.while": control,
}


#: functions that upstream's lowering gives to LLVM as they are, and OpenCL computes within its bounds
_FUNCTIONS = frozenset(
    f"math.{name}"
    for name in (
        "absf",
        "ceil",
        "copysign",
        "cos",
        "ctpop",
        "exp",
        "exp2",
        "floor",
        "fma",
        "log",
        "log10",
        "log2",
        "rint",
    )
) | frozenset(f"math.{name}" for name in ("roundeven", "sin", "sqrt", "trunc"))


#: rules that take tensors of no whole pieces too
_OF_REGISTERS = (elementwise, constant, splat)


def _is_plain(op: ir.Operation) -> bool:
    """True if ``op`` is elementwise."""
    return op.name != "tt.splat" or not is_pointers(op.results[0].type)


def _rule_of(op: ir.Operation, assignment: Assignment) -> Rule:
    """By pieces, where the path has a rule and tensors are such; else by the SIMT path's."""
    tensors = [v for v in (*op.operands, *op.results) if isinstance(v.type, ir.RankedTensorType)]
    own = RULES.get(
        op.name, elementwise if op.name.startswith("arith.") or op.name in _FUNCTIONS else by_simt
    )
    if op.name.startswith(("scf.", "ttig.")):
        return own
    if not all(assignment.share(v).fits for v in tensors) and not (own in _OF_REGISTERS and _is_plain(op)):
        return by_simt
    if _computes(op) and any(is_small_float(v.type.element_type) for v in tensors):
        return by_simt
    if op.name == "tt.reduce" and not combines(op, assignment.share(op.operands[0])):
        return by_simt
    return own


def _check(ops: Sequence[ir.Operation]) -> None:
    """Check that all values have a vector form; Unsupported otherwise."""
    for op in ops:
        for value in op.results:
            if isinstance(value.type, ir.RankedTensorType) and not _is_carried(value.type.element_type):
                raise refusal(op, f"vectors have no elements of {value.type.element_type}")


def _computes(op: ir.Operation) -> bool:
    """True if it computes new numbers instead of moving its operands'."""
    return is_elementwise(op) and op.name not in ("arith.select", "arith.constant")


def _is_carried(element: ir.Type) -> bool:
    if isa_pointer(element):
        return True
    return str(plain(element)) in _CARRIED


_CARRIED = frozenset(("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"))


def convert(kernel: ir.Operation, name: str, chip: str, warps: int, asked: Asked | None) -> ir.Module:
    """``kernel`` as ``gpu.func`` on XeGPU; a new module.  Unsupported, located, for what has no rule."""
    with_own_sources(kernel)
    assignment = assign(kernel, warps)
    _check(all_ops(kernel))
    source = kernel.regions[0].blocks[0]
    types = ", ".join(f"%arg{i}: {_parameter(a.type)}" for i, a in enumerate(source.arguments))
    made = ir.Module.parse(
        f'module {{ gpu.module @kernels [#xevm.target<chip = "{chip}">] {{ '
        f"llvm.func @{HOLDS}(i1) -> i1\n"
        f"gpu.func @{name}({types}) kernel attributes {{known_block_size = array<i32: {warps * LANES}, 1, 1>}} "
        "{ gpu.return } } }"
    )
    function = list(next(iter(made.body.operations)).regions[0].blocks[0].operations)[1].operation
    into = function.regions[0].blocks[0]
    with ir.InsertionPoint(into.operations[0]):
        ctx = Conversion(lambda op: _rule_of(op, assignment), assignment, asked, into)
        ctx.known.update(zip(source.arguments, into.arguments, strict=True))
        ctx.block(source)
    return made


def _parameter(type_: ir.Type) -> ir.Type:
    return ir.Type.parse("!llvm.ptr<1>") if isa_pointer(type_) else type_
