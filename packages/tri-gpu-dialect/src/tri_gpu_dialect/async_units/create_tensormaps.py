"""Descriptors of tensors that only the kernel knows are made in the kernel, in global memory of the CTA's own.

    d = tt.make_tensor_descriptor base, [size], [stride]

becomes

    m = ttg.global_scratch_alloc
    d = ttng.tensormap_create m, base, [size], [stride]

where a size or the base is computed; the launch makes others.  A copy engine has no empty tensors: where a size may be zero or less,
the descriptor is then of one element of the scratch memory, which holds what is read outside of tensors.  Nothing but copies
through it reaches that element.

In a loop the memory is written again.  Stores through the descriptor that was there are waited for; loads are over, because whoever
starts copies waits for those that it has started before it makes the descriptor anew (``warp-specialize``), or all wait for each copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import FuncOp, MakeTensorDescriptorOp, PointerType
from tri_core.dialects.tt.enums import PaddingOption
from tri_core.ir.regions import If, is_loop
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import builtin, ir
from tri_gpu_dialect.dialect import AsyncCopyLocalToDescriptorOp
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch, launch_number
from tri_gpu_dialect.edit import all_ops, constant, functions, i32_attribute, make

__all__ = ["CreateTensormaps", "is_repeated"]

#: bytes of an encoded descriptor, and what it is aligned to
_BYTES, _ALIGNMENT = 128, 128
#: 64-bit words of the element that stands for an empty tensor: what its address is a multiple of
_WORDS = 2
#: every float of 16 bits or more is a NaN of these bits
_NAN = -1
_SLE = 3


@dataclass(frozen=True)
class CreateTensormaps(Pass):
    """See the module; runs when all copies are there and none is cut any more, and before shared memory is allocated."""

    name: ClassVar[str] = "create-tensormaps"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every function of ``module``."""
        for function in functions(module):
            for op in all_ops(function):
                if isa(op, MakeTensorDescriptorOp) and not known_at_launch(op):
                    _create(op)


def is_repeated(op: ir.Operation) -> bool:
    """True if ``op`` is in a loop."""
    outer = op.parent
    while outer is not None and not isa(outer.operation, FuncOp, builtin.ModuleOp):
        if is_loop(outer.operation):
            return True
        outer = outer.operation.parent
    return False


def _create(op: ir.Operation) -> None:
    base, *numbers = op.operands
    rank = len(numbers) // 2
    sizes, strides = numbers[:rank], numbers[rank:]
    may_be_empty = [n for n in sizes if (known := launch_number(n)) is None or known.parameter is not None]
    padding = {"padding": op.attributes["padding"]} if "padding" in op.attributes else {}
    with ir.InsertionPoint(op), op.location:
        if is_repeated(op) and any(
            isa(use.owner.operation, AsyncCopyLocalToDescriptorOp) for use in op.results[0].uses
        ):
            make("ttg.async_store_wait", pendings=i32_attribute(0), complete=ir.UnitAttr.get())
        nbytes = _BYTES + (_ALIGNMENT if may_be_empty else 0)
        type_ = PointerType.of(ir.IntegerType.get_signless(8))
        memory = _value(
            "ttg.global_scratch_alloc",
            (),
            type_,
            nbytes=i32_attribute(nbytes),
            alignment=i32_attribute(_ALIGNMENT),
        )
        if may_be_empty:
            base, sizes = _guarded(base, sizes, may_be_empty, memory, _pads_with_nan(op))
        segments = ir.DenseI32ArrayAttr.get([1, 1, rank, rank])
        operands = [memory, base, *sizes, *strides]
        made = _value(
            "ttg.tensormap_create", operands, op.results[0].type, operandSegmentSizes=segments, **padding
        )
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _guarded(
    base: ir.Value, sizes: Sequence[ir.Value], unsure: Sequence[ir.Value], memory: ir.Value, nan: bool
) -> tuple[ir.Value, list[ir.Value]]:
    """Base and sizes of what is there where a size is zero or less: one element of ``memory``."""
    bit = ir.IntegerType.get_signless(1)
    zero, one = (constant(32, n) for n in (0, 1))
    below = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _SLE)
    empty = _value("arith.cmpi", [unsure[0], zero], bit, predicate=below)
    for each in unsure[1:]:
        empty = _value("arith.ori", [empty, _value("arith.cmpi", [each, zero], bit, predicate=below)], bit)
    behind = constant(32, _BYTES)
    element = _value("tt.addptr", [memory, behind], memory.type)
    _fill(empty, element, _NAN if nan else 0)
    there = _value("tt.bitcast", [element], base.type)
    base = _value("arith.select", [empty, there, base], base.type)
    return base, [_value("arith.select", [empty, one, n], n.type) for n in sizes]


def _fill(condition: ir.Value, element: ir.Value, word: int) -> None:
    """Write to memory at ``element`` if ``condition`` holds, and make it visible to copies."""
    branch = ir.Operation.create(If.OPERATION_NAME, operands=[condition], regions=2)
    i64 = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(branch.regions[0].blocks.append()):
        words = _value("tt.bitcast", [element], PointerType.of(i64))
        value = constant(64, word)
        for number in range(_WORDS):
            index = constant(32, number)
            place = _value("tt.addptr", [words, index], words.type)
            plain = {"cache": i32_attribute(1), "evict": i32_attribute(1)}
            unmasked = ir.DenseI32ArrayAttr.get([1, 1, 0])
            make("tt.store", [place, value], operandSegmentSizes=unmasked, **plain)
        make("ttg.fence_async_shared", **{"global": ir.UnitAttr.get()})
        make("scf.yield")


def _pads_with_nan(op: ir.Operation) -> bool:
    if "padding" not in op.attributes:
        return False
    return bool(ir.IntegerAttr(op.attributes["padding"]).value == PaddingOption.PAD_NAN)


# --- ops ----------------------------------------------------------------------------------------------------


def _value(name: str, operands: Sequence[ir.Value], result: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return make(name, operands, result, **attributes).results[0]
