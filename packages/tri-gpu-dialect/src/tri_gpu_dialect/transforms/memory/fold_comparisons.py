"""Comparisons whose answer follows from the ranges of what is compared, and masks that are true everywhere.

    mask = arange(0, 64) < 64; x = load(p, mask, other)

becomes ``x = load(p)``.  With sizes that the compiler knows and that blocks divide, all masks of a kernel go, also those
of a loop's last block: the loop's variable is known to stay below its bound.  A comparison that is false everywhere
becomes a constant, too; accesses that never happen are left alone.  Branches whose condition is known then are part of the code around
them, or gone.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import LoadOp, StoreOp
from tri_core.ir.access import Access, access_of
from tri_core.ir.regions import If
from tri_core.ir.rewriting import erase_dead, rebuild
from tri_core.ir.traits import is_rematerializable
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir, run_passes
from tri_gpu_dialect.analysis.ranges import Ranges, is_integer
from tri_gpu_dialect.edit import all_ops, functions

__all__ = ["FoldComparisons"]


@dataclass(frozen=True)
class FoldComparisons(Pass):
    """See the module; arithmetic may wrap, so nothing is concluded from sums that may leave their type."""

    name: ClassVar[str] = "fold-comparisons"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every function of ``module``."""
        for function in functions(module):
            ops = all_ops(function)
            ranges = Ranges()
            # everything is asked before anything changes
            known = [
                (op, ranges.of(op.results[0]).value) for op in ops if is_rematerializable(op) and _is_bit(op)
            ]
            folding = _Folding([op for op in ops if isa(op, LoadOp, StoreOp)])
            for op, value in known:
                if value is not None and not isa(op, arith.ConstantOp):
                    folding.replace(op, bool(value))
                elif value:
                    folding.true.add(op.results[0])
            folding.accesses()
            if folding.true:
                # what only computed something for comparisons and masks that are gone
                erase_dead(function, is_rematerializable)
        if any(_is_decided(op) for function in functions(module) for op in all_ops(function)):
            run_passes(module, "canonicalize")


def _is_decided(op: ir.Operation) -> bool:
    """True if ``op`` is a branch that is always, or never, taken: the effects of its region belong to the
    code around it.
    """
    if not isa(op, If):
        return False
    return defining_op(If(op).condition, arith.ConstantOp) is not None


def _is_bit(op: ir.Operation) -> bool:
    value = op.results[0]
    type_ = value.type
    element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
    return is_integer(value) and ir.IntegerType(element).width == 1


@dataclass
class _Folding:
    """One function being rewritten: its ``loads and stores``, and the values that are true everywhere."""

    found: list[ir.Operation]
    true: set[ir.Value] = field(default_factory=set)

    def replace(self, op: ir.Operation, answer: bool) -> None:
        """Make ``op`` the constant ``answer``."""
        old = op.results[0]
        bit = ir.IntegerAttr.get(ir.IntegerType.get_signless(1), -int(answer))
        shaped = isinstance(old.type, ir.ShapedType)
        value = ir.DenseElementsAttr.get_splat(old.type, bit) if shaped else bit
        with ir.InsertionPoint(op), op.location:
            made = ir.Operation.create("arith.constant", results=[old.type], attributes={"value": value})
        old.replace_all_uses_with(made.results[0])
        if answer:
            self.true.add(made.results[0])
        op.erase()

    def accesses(self) -> None:
        """Take the masks that are true everywhere from loads and stores."""
        for op in self.found:
            access = access_of(op)
            assert access is not None
            if access.mask is not None and access.mask in self.true:
                _unmask(op, access)


def _unmask(op: ir.Operation, access: Access) -> None:
    """Take the mask, and what stands for masked elements, from a load or a store."""
    operands = [access.address] if access.stored is None else [access.address, access.stored]
    sizes = [1, int(access.stored is not None), 0]
    rebuild(op, operands=operands, attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)})
