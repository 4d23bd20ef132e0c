"""Loads and stores through descriptors go straight from and to the layout of DPAS."""

from __future__ import annotations

from typing import ClassVar

from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.tiles import BY_ELEMENTS
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DescriptorLoadOp, TransOp
from tri_core.ir.access_hints import plugin_hints
from tri_core.ir.rewriting import erase_unused
from tri_core.ir.traits import is_elementwise
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import all_ops, convert, functions, make
from tri_gpu_dialect.encodings import DotOperand, Encoding
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["FoldTiles", "is_loadable", "maker_of"]


def maker_of(value: ir.Value) -> ir.Operation | None:
    """The op that made ``value``; None for arguments of blocks."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def is_loadable(bits: int, operand: int, lanes: int, *, transposed: bool) -> bool:
    """True if block loads give operand 0 or 1 of elements of ``bits`` as DPAS takes it.

    Neighbours in memory of a transposed block go into one lane, 32 bits of them.  B has them so.  Of A a lane may then
    have one k only, which is so for 16 and 32 bits and 16 lanes: neighbours of 16 bits are rows, in two registers.
    """
    return bits in (8, 16, 32) and (not transposed or operand == 1 or (bits >= 16 and lanes == 16))


@dataclass(frozen=True)
class FoldTiles(Pass):
    """``convert_layout(trans?(descriptor_load))`` becomes ``ttig.tile_load``, ``descriptor_store`` of what dots gave ``ttig.tile_store``.

    A store's value is computed in the layout of the dot where it is made of the dot's result element by element.  Runs
    where conversions have settled.
    """

    name: ClassVar[str] = "fold-tiles"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        for function in functions(module):
            for op in all_ops(function):
                if op.name == "ttg.convert_layout":
                    _fold_load(op)
            for op in all_ops(function):
                if op.name == "tt.descriptor_store":
                    _fold_store(op)


def _fold_load(conversion: ir.Operation) -> None:
    encoding = encoding_of(conversion.results[0])
    if not (isinstance(encoding, DotOperand) and isinstance(encoding.parent, Dpas)):
        return
    source = _unconverted(conversion.operands[0])
    transposed = source is not None and source.name == "tt.trans"
    if source is not None and transposed:
        if list(ir.DenseI32ArrayAttr(source.attributes["order"])) != [1, 0]:
            return
        source = _unconverted(source.operands[0])
    if source is None or source.name != "tt.descriptor_load" or len(source.operands) != 3:
        return
    result = conversion.results[0]
    bits = result.type.element_type.width
    if not is_loadable(bits, encoding.op_idx, encoding.parent.execution_size, transposed=transposed):
        way = "transposed " if transposed else ""
        text = (
            "the operand is loaded by elements: block loads give no {}operand {} of {} bits as DPAS takes it"
        )
        declined(FoldTiles.name, source, text, way, encoding.op_idx, bits)
        return
    flag = {"transposed": ir.UnitAttr.get()} if transposed else {}
    flag |= {BY_ELEMENTS: ir.UnitAttr.get(), **plugin_hints(source)}
    with ir.InsertionPoint(source), source.location:
        made = make("ttig.tile_load", list(source.operands), result.type, **flag)
    result.replace_all_uses_with(made.results[0])
    erase_unused(conversion, _is_removable)


def _unconverted(value: ir.Value) -> ir.Operation | None:
    """Defining op of ``value``, through layout conversions."""
    op = maker_of(value)
    while op is not None and op.name == "ttg.convert_layout":
        op = maker_of(op.operands[0])
    return op


def _is_removable(op: ir.Operation) -> bool:
    return isa(op, ConvertLayoutOp, TransOp, DescriptorLoadOp) or is_elementwise(op)


# --- stores -----------------------------------------------------------------------------------------------


def _fold_store(store: ir.Operation) -> None:
    descriptor, value, *indices = store.operands
    info = tensor_info(value.type)
    if info is None or info.rank != 2 or len(indices) != 2:
        return
    if info.bitwidth not in (16, 32):
        declined(
            FoldTiles.name,
            store,
            "the tile is stored by elements: it has {} bits, not 16 or 32",
            info.bitwidth,
        )
        return
    wanted = _dot_layout(value, {})
    if wanted is None:
        return
    with ir.InsertionPoint(store), store.location:
        moved = _in_layout(value, wanted, {})
        flag = {BY_ELEMENTS: ir.UnitAttr.get(), **plugin_hints(store)}
        make("ttig.tile_store", [descriptor, moved, *indices], **flag)
    store.erase()
    owner = maker_of(value)
    if owner is not None:
        erase_unused(owner, _is_removable)


def _dot_layout(value: ir.Value, seen: dict[ir.Value, Dpas | None]) -> Dpas | None:
    """The layout of the dot's result that ``value`` is made of element by element; None without one."""
    if value not in seen:
        seen[value] = None
        encoding, op = encoding_of(value), maker_of(value)
        if isinstance(encoding, Dpas):
            seen[value] = encoding
        elif op is not None and (op.name == "ttg.convert_layout" or is_elementwise(op)):
            found = (_dot_layout(v, seen) for v in op.operands if tensor_info(v.type) is not None)
            seen[value] = next((each for each in found if each is not None), None)
    return seen[value]


def _in_layout(value: ir.Value, wanted: Encoding, made: dict[ir.Value, ir.Value]) -> ir.Value:
    """``value`` in layout ``wanted``, computed there from where its layout was last changed."""
    if value not in made:
        made[value] = _moved(value, wanted, made)
    return made[value]


def _moved(value: ir.Value, wanted: Encoding, made: dict[ir.Value, ir.Value]) -> ir.Value:
    op, info = maker_of(value), tensor_info(value.type)
    if info is None or encoding_of(value) == wanted:
        return value
    type_ = tensor_type(info.shape, info.element_type, wanted)
    if op is not None and op.name == "ttg.convert_layout":
        return _in_layout(op.operands[0], wanted, made)
    if op is not None and op.name == "arith.constant":
        splat = ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
        return make("arith.constant", (), type_, value=ir.DenseElementsAttr.get_splat(type_, splat)).results[
            0
        ]
    if op is not None and op.name == "tt.splat":
        return make("tt.splat", list(op.operands), type_).results[0]
    if op is not None and op.name == "tt.broadcast":
        return make("tt.broadcast", [_in_layout(op.operands[0], wanted, made)], type_).results[0]
    if op is not None and is_elementwise(op) and len(op.results) == 1:
        operands = [_in_layout(v, wanted, made) for v in op.operands]
        attributes = {name: op.attributes[name] for name in op.attributes}
        return ir.Operation.create(
            op.name, results=[type_], operands=operands, attributes=attributes
        ).results[0]
    return convert(value, wanted, ir.InsertionPoint.current, ir.Location.current)
