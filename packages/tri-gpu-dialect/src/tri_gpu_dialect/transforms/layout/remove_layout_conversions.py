"""Takes all layout conversions out, decides on layouts anew, and puts in those that are needed.

:mod:`tri_gpu_dialect.analysis.layout_assignment` says which layout each value should have.  Here types are
changed in place accordingly; cheap values that are wanted in several layouts are computed once for each;
and where a value with one layout meets a user that wants another, a conversion is made, right after the
value (so outside of loops if it can), once for all users, and of the smaller tensor or narrower type when
the value was only stretched or widened.

A store takes its value in the layout that it has when that is as good for memory as the layout chosen by
``coalesce``, or when it is seldom done.  Ops that give a tensor another shape take it in any words for the layout they need.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.regions import Edge, edges_of, ends_region, is_control, region_blocks
from tri_core.ir.rewriting import erase_all
from tri_core.ir.traits import Instructions, is_cast, moves_data, replicates, source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.access import Lines
from tri_gpu_dialect.analysis.layout_assignment import Assignment, Key, assign, key_of, mark
from tri_gpu_dialect.analysis.layout_rules import Kind, LayoutRules, Operands, encoding_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.dialect.markers import MARK
from tri_gpu_dialect.edit import (
    all_ops,
    block_ops,
    convert,
    functions,
    module_int,
    set_encoding,
)
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.layouts import layout_for
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.types import tensor_info

__all__ = ["RemoveLayoutConversions"]


@dataclass(frozen=True)
class RemoveLayoutConversions(Pass):
    """See the module."""

    name: ClassVar[str] = "remove-layout-conversions"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Reassign layouts in every function of ``module``."""
        threads = module_int(module, "ttg.num-warps") * module_int(module, "ttg.threads-per-warp")
        lines = Lines.of(None if context is None else context.target)
        rules = self.policy.layout_rules
        for function in functions(module):
            own = _take_out(function, rules)
            found = assign(function, own, threads, lines, rules)
            erase_all(found.dead)
            rewriter = _Rewriter(found, rules, self.policy.conversion_cost)
            for block in function.regions[0].blocks:
                rewriter.block(block)


def _take_out(function: ir.Operation, rules: LayoutRules) -> dict[Key, Operands]:
    """Remove all conversions; gives the operand layouts of the ops that have a say, as they were before."""
    conversions: list[ir.Operation] = []
    own: dict[Key, Operands] = {}

    for op in all_ops(function):
        if isa(op, ConvertLayoutOp):
            conversions.append(op)
        elif len(op.operands):
            kind = rules.of(op).kind
            if kind is Kind.ANCHOR or (kind is Kind.FIXED and not (is_control(op) or ends_region(op))):
                given = [encoding_of(v) for v in op.operands]
                # in the scalar region of a reduction, say, there are no layouts
                if any(e is not None for e in given):
                    mark(op, len(own))
                    key = key_of(op)
                    assert key is not None
                    own[key] = given
    for op in conversions:
        op.results[0].replace_all_uses_with(source_of(op))
        op.erase()
    return own


def _is_same(value: ir.Value, encoding: Encoding) -> bool:
    """True if the layout of ``value`` equals ``encoding``, perhaps spelled differently."""
    info = tensor_info(value.type)
    if info is None or info.encoding is None:
        return False
    return layout_for(info.encoding, info.shape) == layout_for(encoding, info.shape)


@dataclass
class _Rewriter:
    found: Assignment
    rules: LayoutRules
    conversion_cost: int
    #: values in further layouts, by value and layout
    versions: dict[tuple[ir.Value, Encoding], ir.Value] = field(default_factory=dict)

    def block(self, block: ir.Block) -> None:
        """Rewrite the ops of ``block`` in order; types of its arguments first."""
        for argument in block.arguments:
            self.set_main(argument)
        for op in block_ops(block):
            if is_control(op):
                self.control(op)
            elif not ends_region(op):
                self.op(op)

    def set_main(self, value: ir.Value) -> None:
        encoding = self.found.main(value)
        if encoding is not None:
            set_encoding(value, encoding)

    def op(self, op: ir.Operation) -> None:
        """Give results their layouts and fetch operands in the layouts that go with them."""
        original = list(op.operands)
        decided = self.found.decided(op)
        if decided is not None:
            for result in op.results:
                self.set_main(result)
            self.fetch(op, original, decided)
            if MARK in op.attributes:
                del op.attributes[MARK]
            return
        rule = self.rules.of(op)
        if rule.kind is Kind.SINK:
            return
        layouts = self.layouts(op)
        for encoding in layouts[1:]:
            copy = op.clone(ip=ir.InsertionPoint.after(op)).operation
            self.place(copy, original, encoding)
            for result, version in zip(op.results, copy.results, strict=True):
                self.versions[result, encoding] = version
        if layouts:
            self.place(op, original, layouts[0])

    def layouts(self, op: ir.Operation) -> list[Encoding]:
        """The layouts that the results of an op without a say are wanted in, the main one first."""
        for result in op.results:
            fixed = self.found.fixed.get(result)
            if fixed is not None:
                return [fixed]
        found: list[Encoding] = []
        for result in op.results:
            found += [e for e in self.found.wanted.get(result, ()) if e not in found]
        return found

    def place(self, op: ir.Operation, original: list[ir.Value], encoding: Encoding) -> None:
        for result in op.results:
            set_encoding(result, encoding)
        if original:
            self.fetch(op, original, self.rules.of(op).operands(op, encoding))

    def fetch(self, op: ir.Operation, original: list[ir.Value], encodings: Operands | None) -> None:
        """Set the operands of ``op`` to versions of ``original`` in ``encodings``."""
        if encodings is None:
            return
        for i, (value, encoding) in enumerate(zip(original, encodings, strict=True)):
            if encoding is not None and not (moves_data(op) and _is_same(value, encoding)):
                version = self.version(value, encoding)
                if version != op.operands[i]:
                    op.operands[i] = version

    def version(self, value: ir.Value, encoding: Encoding) -> ir.Value:
        """``value`` in ``encoding``: itself, a copy made before, or a conversion."""
        present = encoding_of(value)
        if present is None or present == encoding:
            return value
        found = self.versions.get((value, encoding))
        if found is None:
            found = self.versions[value, encoding] = self.converted(value, encoding)
        return found

    def converted(self, value: ir.Value, encoding: Encoding) -> ir.Value:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return convert(value, encoding, ir.InsertionPoint.at_block_begin(owner), value.location)
        op = owner.operation
        rule = self.rules.of(op)
        if rule.kind is not Kind.FIXED and (
            self.is_larger_than_its_source(op) or self.is_cheaper_again(op, encoding)
        ):
            needed = rule.operands(op, encoding)
            copy = op.clone(ip=ir.InsertionPoint.after(op)).operation
            set_encoding(copy.results[0], encoding)
            self.fetch(copy, list(op.operands), needed)
            return copy.results[0]
        return convert(value, encoding, ir.InsertionPoint.after(op), op.location)

    def is_cheaper_again(self, op: ir.Operation, encoding: Encoding) -> bool:
        """True if computing ``op`` again in ``encoding`` costs less than converting its results."""
        cost = self.cost_again(op, encoding, self.conversion_cost)
        return cost is not None and cost < self.conversion_cost

    def cost_again(self, op: ir.Operation, encoding: Encoding, left: int) -> int | None:
        """The work per element of ``op`` in ``encoding`` from values that are there in it; None if above ``left``."""
        own = Instructions.of(op.name)
        if own is None or own > left or len(op.results) != 1:
            return None
        rule = self.rules.of(op)
        needed = None if rule.kind is Kind.FIXED else rule.operands(op, encoding)
        if needed is None:
            return None
        total = own
        for value, wanted in zip(op.operands, needed, strict=True):
            if wanted is None or self.is_there(value, wanted):
                continue
            owner = value.owner
            more = None
            if not isinstance(owner, ir.Block):
                more = self.cost_again(owner.operation, wanted, left - total)
            if more is None:
                return None
            total += more
        return total

    def is_there(self, value: ir.Value, encoding: Encoding) -> bool:
        """True if ``value`` is computed in ``encoding`` anyway."""
        return encoding_of(value) in (None, encoding) or (value, encoding) in self.versions

    def is_larger_than_its_source(self, op: ir.Operation) -> bool:
        if replicates(op):
            return True
        if not is_cast(op):
            return False
        source, result = tensor_info(source_of(op).type), tensor_info(op.results[0].type)
        return source is not None and result is not None and source.bitwidth < result.bitwidth

    # --- control flow -----------------------------------------------------------------------------------

    def control(self, op: ir.Operation) -> None:
        """Loops and branches: everything tied to a carried value gets that value's layout."""
        for result in op.results:
            self.set_main(result)
        for block in region_blocks(op):
            self.block(block)
        for edge in edges_of(op):
            self.tie(edge)

    def tie(self, edge: Edge) -> None:
        """Convert the values along ``edge`` to the layouts of their targets."""
        for i, target in enumerate(edge.targets, edge.first):
            encoding = encoding_of(target)
            if encoding is not None:
                version = self.version(edge.source.operands[i], encoding)
                if version != edge.source.operands[i]:
                    edge.source.operands[i] = version
