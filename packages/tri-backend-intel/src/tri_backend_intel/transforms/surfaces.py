"""Requirements of 2D blocks on a surface, and descriptors that might meet them.

Source: SPV_INTEL_2d_block_io and the memory restrictions of XeGPU's block operations: a base of 64 bytes, a width of at least 64
bytes and a multiple of 4, a pitch that is a multiple of 16 and not less than the width, all below 2^24; x a multiple of 4 bytes.
"""

from __future__ import annotations

from tri_backend_intel.transforms.fold_tiles import is_loadable, maker_of
from tri_core.dialects.tt.enums import PaddingOption
from tri_core.ir.regions import For
from tri_core.ir.traits import is_elementwise
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.edit import terminator
from tri_gpu_dialect.policies.gpu import DefaultPolicy

__all__ = ["ANY", "BASE", "LEAST_WIDTH", "MOST", "PITCH", "X_BYTES", "constant_of", "refuses"]

#: bytes that bases and pitches are multiples of; the least width, the most of widths, pitches and heights; what x is a multiple of
BASE, PITCH, LEAST_WIDTH, MOST, X_BYTES = 64, 16, 64, 1 << 24, 4
#: the size of a dimension that is never left, as tiles of pointers have it
ANY = 2**31 - 1

#: how many values are looked at between a dot and a store
_HORIZON = 256


def constant_of(value: ir.Value) -> int | None:
    """The number that ``value`` is; None: not known."""
    op = maker_of(value)
    if op is None or op.name != "arith.constant":
        return None
    return ir.IntegerAttr(op.attributes["value"]).value


def refuses(maker: ir.Operation, policy: DefaultPolicy) -> str | None:
    """Reason that blocks cannot serve a ``tt.make_tensor_descriptor``, by its type and its uses; None if they
    might.
    """
    block = maker.results[0].type.block_type
    if block.rank != 2 or block.element_type.width not in (8, 16, 32):
        return "2D blocks have two dimensions, of 8, 16 or 32 bits"
    if (
        "padding" in maker.attributes
        and ir.IntegerAttr(maker.attributes["padding"]).value == PaddingOption.PAD_NAN
    ):
        return "2D blocks are zero outside of the tensor"
    for use in maker.results[0].uses:
        user = use.owner.operation
        if user.name == "tt.descriptor_load":
            why = _load(user, policy)
        elif user.name == "tt.descriptor_store":
            why = _store(user, policy)
        else:
            why = f"2D blocks do no {user.name}"
        if why is not None:
            return why
    return None


def _load(load: ir.Operation, policy: DefaultPolicy) -> str | None:
    result = load.results[0]
    uses = list(result.uses)
    for use in uses:
        op, operand, transposed = use.owner.operation, use.operand_number, False
        if op.name == "tt.trans":
            inner = list(op.results[0].uses)
            if len(inner) != 1:
                return "its transpose is used more than once"
            op, operand, transposed = inner[0].owner.operation, inner[0].operand_number, True
        row = policy.mma(op) if op.name == "tt.dot" and operand < 2 else None
        if row is None or str(result.type.element_type) != (row.a, row.b)[operand]:
            return "it is not an operand of a dot on the matrix unit"
        if not is_loadable(result.type.element_type.width, operand, row.shape[1], transposed=transposed):
            return "no 2D block gives this operand of its transpose"
    return None if uses else "nothing uses what is loaded"


def _store(store: ir.Operation, policy: DefaultPolicy) -> str | None:
    value = store.operands[1]
    if value.type.rank != 2 or value.type.element_type.width not in (16, 32):
        return "results are stored in elements of 16 or 32 bits"
    ahead, seen = [value], set[ir.Value]()
    while ahead and len(seen) < _HORIZON:
        value = ahead.pop()
        op = maker_of(value)
        if op is None or value in seen:
            continue
        seen.add(value)
        if op.name == "tt.dot":
            return None if policy.mma(op) is not None else "it is not of a dot on the matrix unit"
        if isa(op, For):
            number = ir.OpResult(value).result_number
            ahead.append(terminator(op.regions[0].blocks[0]).operands[number])
        elif is_elementwise(op):
            ahead += op.operands
    return "it is not of a dot on the matrix unit"
