"""Tensor descriptors as pointers, shapes, strides and masks, for targets that have nothing better."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import ClassVar

from tri_core.dialects.tt import (
    DescriptorStoreOp,
    FuncOp,
    MakeTensorDescriptorOp,
    PointerType,
    TensorDescType,
)
from tri_core.dialects.tt.enums import PaddingOption
from tri_core.ir.access import access_of
from tri_core.ir.effects import NOTHING, READ_DESCRIBED, WRITE_DESCRIBED, effects_of
from tri_core.ir.markers import ASKED
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.passes.descriptor_access import ACCESSES, Descriptor
from tri_core.passes.expansion import Expansion, expand
from tri_core.passes.guarded_access import guarded, is_half, narrowed, stored_by_pointers
from tri_core.passes.rewriting import constant, make
from tri_core.pipeline import StageContext
from tri_core.remarks import declined

__all__ = ["RewriteTensorDescriptors"]

logger = logging.getLogger(__name__)

Rule = Callable[[ir.Operation, Expansion], None]
#: what an access of the target's own needs: a value (i1) made before it; None: nothing that is not given anyway
Condition = Callable[[ir.Operation], "ir.Value | None"]


@dataclass(frozen=True)
class RewriteTensorDescriptors(Pass):
    """Every ``!tt.tensordesc`` becomes a pointer, its shape and strides (i64) and whether it pads with NaN (i1).

    Accesses become loads, stores and atomics through tensors of pointers, masked where the block leaves the
    tensor.  A kernel's descriptor parameters become that many parameters.  Descriptors that ``refuses`` says nothing
    against stay as they are, if nothing but accesses uses them.  Where one of those needs something that only the
    running kernel knows (``conditions``), it is asked, and the access goes by pointers if the answer is no.
    """

    name: ClassVar[str] = "rewrite-tensor-descriptors"
    required: ClassVar[bool] = True

    #: why the target's own copies cannot do what a ``tt.make_tensor_descriptor`` is used for; None: they can
    refuses: Callable[[ir.Operation], str | None] | None = None
    #: for all accesses that stay: what each of them needs
    conditions: Callable[[Sequence[ir.Operation]], Sequence[Condition]] | None = None
    #: which ``tt.descriptor_store`` go by pointers all the same, each warp what it computed
    by_pointers: Callable[[ir.Operation], bool] | None = None

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        if _has_descriptors(module):
            kept = () if self.refuses is None else _native(module, self.refuses)
            expand(module, _part_types, _RULES, kept)
            accesses = [op for op in kept if ACCESSES.get(op.name) is not None]
            stores = [op for op in accesses if self._goes_by_pointers(op)]
            self._guard([op for op in accesses if ASKED not in op.attributes and op not in stores])
            for store in stores:
                stored_by_pointers(store, _descriptor_of(store))

    def _goes_by_pointers(self, access: ir.Operation) -> bool:
        if self.by_pointers is None or not isa(access, DescriptorStoreOp) or is_half(access):
            return False
        return self.by_pointers(access)

    def _guard(self, accesses: Sequence[ir.Operation]) -> None:
        if self.conditions is None or not accesses:
            return
        for access, condition in zip(accesses, self.conditions(accesses), strict=True):
            asked = condition(access)
            if asked is not None and not narrowed(access, asked):
                guarded(access, asked, _descriptor_of(access))


def _native(module: ir.Module, refuses: Callable[[ir.Operation], str | None]) -> Sequence[ir.Operation]:
    """The descriptors that stay, and their accesses; why others do not is an attribute of the module."""
    makers: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if isa(op, MakeTensorDescriptorOp):
            makers.append(op)
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit)
    kept: list[ir.Operation] = []
    reasons: list[str] = []
    for maker in makers:
        users = [use.owner.operation for use in maker.results[0].uses]
        reason = _carried(users) or refuses(maker)
        if reason is None:
            kept += (maker, *(user for user in users if user not in kept))
        else:
            where = source_location(maker.location)
            place = f"line {where.line}" if where is not None else "a descriptor"
            reasons.append(f"{place}: {reason}")
            logger.info("%s: accessed by pointers: %s", where or place, reason)
            declined(
                RewriteTensorDescriptors.name, maker, "the descriptor is accessed by pointers: {}", reason
            )
    if reasons:
        texts = [ir.StringAttr.get(text) for text in reasons]
        module.operation.attributes["tt.descriptors_by_pointer"] = ir.ArrayAttr.get(texts)
    return kept


def _carried(users: Sequence[ir.Operation]) -> str | None:
    others = sorted({user.name for user in users if ACCESSES.get(user.name) is None})
    return f"it goes through {', '.join(others)}" if others else None


def _accesses_block(op: ir.Operation) -> bool:
    return not (effects_of(op) or NOTHING).isdisjoint((READ_DESCRIBED, WRITE_DESCRIBED))


def _has_descriptors(module: ir.Module) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or isa(op, MakeTensorDescriptorOp) or _accesses_block(op)
        found = found or (isa(op, FuncOp) and "tensordesc" in str(op.attributes["function_type"]))
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    walk(module.operation, visit, ir.WalkOrder.PRE_ORDER)
    return found


def _part_types(type_: ir.Type) -> Sequence[ir.Type] | None:
    if not isinstance(type_, TensorDescType):
        return None
    block = type_.block_type
    i64 = ir.IntegerType.get_signless(64)
    pointer = PointerType.of(_signless(block.element_type))
    return [pointer, *([i64] * 2 * block.rank), ir.IntegerType.get_signless(1)]


def _signless(type_: ir.Type) -> ir.Type:
    """``type_`` as memory holds it: a descriptor alone knows the signedness of its elements."""
    return ir.IntegerType.get_signless(type_.width) if isinstance(type_, ir.IntegerType) else type_


def _make(op: ir.Operation, state: Expansion) -> None:
    state.parts[op.result] = _parts(op)


def _parts(op: ir.Operation) -> list[ir.Value]:
    """Values that replace the descriptor of a ``tt.make_tensor_descriptor``, computed before it."""
    base, *numbers = op.operands
    rank = len(numbers) // 2
    i64 = ir.IntegerType.get_signless(64)
    shape = [make(op, "arith.extsi", i64, [n]) for n in numbers[:rank]]
    padding = ir.IntegerAttr(op.attributes["padding"]).value if "padding" in op.attributes else 1
    nan = ir.IntegerAttr.get(ir.IntegerType.get_signless(1), int(padding == PaddingOption.PAD_NAN))
    return [base, *shape, *numbers[rank:], constant(op, nan)]


def _address(op: ir.Operation) -> ir.Value:
    access = access_of(op)
    assert access is not None
    return access.address


def _descriptor_of(access: ir.Operation) -> Descriptor:
    """The descriptor of an access that stays, in parts."""
    return _descriptor(access, _parts(_address(access).owner.operation))


def _descriptor(access: ir.Operation, parts: Sequence[ir.Value]) -> Descriptor:
    block = TensorDescType(_address(access).type).block_type
    rank = block.rank
    return Descriptor(block, parts[0], parts[1 : 1 + rank], parts[1 + rank : 1 + 2 * rank], parts[-1])


def _access(rule: Callable[[ir.Operation, Descriptor], Sequence[ir.Value]]) -> Rule:
    def apply(op: ir.Operation, state: Expansion) -> None:
        descriptor = _descriptor(op, state.parts[_address(op)])
        for result, value in zip(op.results, rule(op, descriptor), strict=True):
            result.replace_all_uses_with(value)

    return apply


_RULES: dict[str, Rule] = {
    "tt.make_tensor_descriptor": _make,
    **{name: _access(rule) for name, rule in ACCESSES.items()},
}
