"""XeVM to the machine ops of ``ttig``, which the simulator runs and SPIR-V has instructions for."""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_intel.dialect import (
    BlockStoreOp,
    GroupIdOp,
    LanesOp,
    NumGroupsOp,
    RoundToBf16Op,
    ShuffleXorOp,
    SubGroupIdOp,
    SubGroupLaneOp,
)
from tri_backend_intel.xegpu.lane_rules import lane_op
from tri_backend_intel.xegpu.layouts import refusal
from tri_backend_intel.xegpu.narrowing import narrow_coordinates
from tri_backend_intel.xegpu.simt_rules import SimtOps, is_simt
from tri_backend_intel.xegpu.singles import without_singles
from tri_core.api import StageContext
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering import Builder, Primitives
from tri_gpu_dialect.lowering.words import from_words, to_words

__all__ = ["RULES", "machine_level"]

#: None: the op stays
Rule = Callable[[Builder, ir.Operation], "list[ir.Value] | None"]


def _number(op: ir.Operation, name: str, default: int = 0) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value) if name in op.attributes else default


def _shape(b: Builder, op: ir.Operation) -> dict[str, ir.Attribute]:
    numbers = {
        "bits": _number(op, "elem_size_in_bits"),
        "width": _number(op, "tile_width"),
        "rows": _number(op, "tile_height"),
        "count": _number(op, "v_blocks", 1),
    }
    return {name: ir.IntegerAttr.get(b.i32, number) for name, number in numbers.items()}


def _parts(type_: ir.Type) -> tuple[ir.Type, int]:
    """Element and count."""
    return (type_.element_type, type_.shape[0]) if isinstance(type_, ir.VectorType) else (type_, 1)


def block_store(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """``xevm.blockstore2d``."""
    *surface, value = op.operands
    values = b.unpack(_uncast(value))
    sizes = ir.DenseI32ArrayAttr.get([1] * 6 + [len(values)])
    return BlockStoreOp.build([*surface, *values], [], _shape(b, op) | {"operandSegmentSizes": sizes})


def _uncast(value: ir.Value) -> ir.Value:
    """``value`` under the type that its elements had: a store takes any, and IGC copies, and spills, a loop's vector that is cast behind it."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or op.name != "llvm.bitcast" or _parts(op.operands[0].type)[1] != _parts(value.type)[1]:
        return value
    return op.operands[0]


def round_float(b: Builder, op: ir.Operation) -> list[ir.Value] | None:
    """``llvm.fptrunc`` to bf16, by the instruction; the result is bits."""
    element, _ = _parts(op.results[0].type)
    if element != b.bf16:
        return None
    if _parts(op.operands[0].type)[0] != b.f32:
        raise refusal(op, "the instruction rounds f32 to bf16")
    made = [RoundToBf16Op.build([v], [b.int_type(16)])[0] for v in b.unpack(op.operands[0])]
    return [b.bitcast(b.pack(made), op.results[0].type)]


def widen_float(b: Builder, op: ir.Operation) -> list[ir.Value] | None:
    """``llvm.fpext`` from bf16: a shift."""
    element, count = _parts(op.operands[0].type)
    if element != b.bf16:
        return None
    bits = b.unpack(b.bitcast(op.operands[0], b.vector_type(b.int_type(16), count)))
    wide = [b.bitcast(b.shl(b.int_cast(v, b.i32), 16), b.f32) for v in bits]
    to, _ = _parts(op.results[0].type)
    if to != b.f32:
        wide = [b.op("llvm.fpext", (v,), to) for v in wide]
    return [b.pack(wide)]


#: builtins without operands, by mangled name
_IDENTITY = {"_Z16get_sub_group_id": SubGroupIdOp, "_Z22get_sub_group_local_id": SubGroupLaneOp}
_GRID = {"_Z12get_group_idj": GroupIdOp, "_Z14get_num_groupsj": NumGroupsOp}
_SHUFFLE = "_Z21sub_group_shuffle_xor"


def call(b: Builder, op: ir.Operation) -> list[ir.Value] | None:
    """Builtins of OpenCL that say where a work item is, or move registers."""
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    if name in _IDENTITY:
        return _IDENTITY[name].build([], [b.i32])
    if name in _GRID:
        axis = ir.IntegerAttr(op.operands[0].owner.operation.attributes["value"]).value
        made = _GRID[name].build([], [b.i32], {"axis": ir.IntegerAttr.get(b.i32, axis)})[0]
        return [b.int_cast(made, op.results[0].type)]
    if name.startswith(_SHUFFLE):
        value, mask = op.operands
        words = [ShuffleXorOp.build([w, mask], [b.i32])[0] for w in to_words(b, [value])]
        return from_words(b, words, value.type, 1)
    return None


RULES: dict[str, Rule] = {
    "xevm.blockstore2d": block_store,
    LanesOp.OPERATION_NAME: lane_op,
    "llvm.call": call,
    "llvm.fptrunc": round_float,
    "llvm.fpext": widen_float,
}


def machine_level(
    module: ir.Module, words: Primitives, name: str, context: StageContext
) -> tuple[ir.Module, int]:
    """The kernel ``name`` of ``module`` alone, in the ``llvm`` dialect with machine ops: a new module, and its bytes of shared memory.

    Unsupported, located, for an op of XeVM that is none of them.
    """
    inner = next(iter(module.body.operations)).regions[0].blocks[0]
    into = ir.Module.create(loc=module.operation.location)
    with ir.InsertionPoint(into.body):
        for view in inner.operations:
            if view.operation.name == "llvm.func":
                view.operation.clone()
    functions = [v.operation for v in into.body.operations]
    kernel = next(f for f in functions if ir.StringAttr(f.attributes["sym_name"]).value == name)
    for key in [k for k in kernel.attributes if k.startswith(("gpu.", "intel_", "reqd_"))]:
        del kernel.attributes[key]
    without_singles(kernel)
    b = Builder(into, kernel.regions[0].blocks[0])
    simt = SimtOps(kernel, b, words, context)
    _rewrite(b, kernel, simt)
    for key, value in words.kernel_attributes(name).items():  # once it is known what the kernel has
        kernel.attributes[key] = value
    narrow_coordinates(kernel)
    return into, simt.shared


def _rewrite(b: Builder, kernel: ir.Operation, simt: SimtOps) -> None:
    for op in all_ops(kernel):
        rule = (lambda _, op: simt.lower(op)) if is_simt(op) else RULES.get(op.name)
        if rule is None:
            if op.name.startswith("xevm."):
                raise refusal(op, "it is no machine op")
            continue
        with ir.InsertionPoint(op), op.location:
            made = rule(b, op)
        if made is not None:
            for old, new in zip(op.results, made, strict=True):
                old.replace_all_uses_with(new)
            op.erase()
