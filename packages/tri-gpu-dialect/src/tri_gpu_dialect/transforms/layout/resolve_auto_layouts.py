"""Carries layouts to values that leave theirs open, from where they meet values that have one.

Every ``gluon.set_auto_layout`` says which layout its operand has.  From there it goes on: to what the operand is made of, by what
each op wants of its operands, to other results of that, and along the edges of loops and branches.  Ops that
nothing uses are removed.  Two layouts for one value, and an open layout that nothing determines, are errors.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from tri_core.api import CompilationError, Pass, StageContext
from tri_core.ir.regions import edges_of, is_control
from tri_core.ir.traits import is_pure
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import SHARED, Kind, LayoutRule, encoding_of
from tri_gpu_dialect.dialect.gluon import SetAutoLayoutOp
from tri_gpu_dialect.edit import all_ops, convert, functions, set_encoding
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.layouts.encoding import places_alike
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["ResolveAutoLayouts"]

#: ops whose layouts say nothing about each other
_APART = (Kind.SOURCE, Kind.SINK, Kind.FIXED)


@dataclass(frozen=True)
class ResolveAutoLayouts(Pass):
    """See the module."""

    name: ClassVar[str] = "resolve-auto-layouts"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Give every tensor its layout; CompilationError where that cannot be."""
        for function in functions(module):
            _Resolution(function).run()


def _is_open(value: ir.Value) -> bool:
    info = tensor_info(value.type)
    return info is not None and info.encoding is None


@dataclass
class _Resolution:
    function: ir.Operation
    #: values with what their layout is, still to be looked at
    ahead: list[tuple[ir.Value, Encoding, ir.Operation]] = field(default_factory=list)
    #: values that are tied together along edges of loops and branches
    ties: dict[ir.Value, list[ir.Value]] = field(default_factory=dict)

    def run(self) -> None:
        _remove_unused(self.function)
        if not any(
            _is_open(r) or isa(op, SetAutoLayoutOp) for op in all_ops(self.function) for r in op.results
        ):
            return
        self._tie()
        for op in all_ops(self.function):
            if isa(op, SetAutoLayoutOp):
                encoding = encoding_of(op.results[0])
                assert encoding is not None
                self.ahead.append((cast(op, SetAutoLayoutOp).src, encoding, op))
        while self.ahead:
            self._assign(*self.ahead.pop())
        self._finish()

    def _tie(self) -> None:
        for op in all_ops(self.function):
            if is_control(op):
                for edge in edges_of(op):
                    for a, b in zip(edge.values, edge.targets, strict=True):
                        self.ties.setdefault(a, []).append(b)
                        self.ties.setdefault(b, []).append(a)

    def _assign(self, value: ir.Value, encoding: Encoding, asks: ir.Operation) -> None:
        have = encoding_of(value)
        if have is not None:
            if not places_alike(have, encoding, shape_of(value.type)):
                raise CompilationError(
                    f"a value whose layout is left open has two: {have} and {encoding}",
                    remedy="give one of its uses a gl.convert_layout, or name the layout where the value is made",
                    location=source_location(asks.location),
                )
            return
        set_encoding(value, encoding)
        self.ahead.extend((other, encoding, asks) for other in self.ties.get(value, ()))
        if not isinstance(value.owner, ir.Block):
            self._follow(value.owner.operation, encoding)
        for use in value.uses:
            self._forward(use.owner.operation)

    def _follow(self, op: ir.Operation, encoding: Encoding) -> None:
        """Ask for the layouts of operands, and of other results, of ``op``, which gives ``encoding``."""
        rule = SHARED.of(op)
        if rule.kind not in _APART:
            self._ask(op, rule, encoding)

    def _forward(self, op: ir.Operation) -> None:
        """Ask for the layouts of the results of ``op``, one of whose operands has got its own."""
        if isa(op, SetAutoLayoutOp):
            return
        rule = SHARED.of(op)
        if rule.kind in _APART:
            return
        own = rule.results(op, [encoding_of(v) for v in op.operands])
        if own is not None:
            self._ask(op, rule, own)

    def _ask(self, op: ir.Operation, rule: LayoutRule, own: Encoding) -> None:
        """Ask for ``own`` in the open results of ``op``, and for what ``rule`` wants of its open operands then."""
        self.ahead.extend((r, own, op) for r in op.results if _is_open(r))
        for value, wanted in zip(op.operands, rule.operands(op, own) or (), strict=False):
            if wanted is not None and _is_open(value):
                self.ahead.append((value, wanted, op))

    def _finish(self) -> None:
        for op in all_ops(self.function):
            if isa(op, SetAutoLayoutOp):
                view, made = cast(op, SetAutoLayoutOp), op.results[0]
                source = view.src
                if source.type != made.type:
                    encoding = encoding_of(made)
                    assert encoding is not None
                    source = convert(source, encoding, ir.InsertionPoint(op), op.location)
                made.replace_all_uses_with(source)
                op.erase()
        _remove_unused(self.function)
        for op in all_ops(self.function):
            for value in op.results:
                if _is_open(value):
                    raise CompilationError(
                        f"nothing determines the layout of a tensor of shape {list(shape_of(value.type))}",
                        remedy="name it: gl.arange(..., layout=...), or gl.set_auto_layout(x, layout)",
                        location=source_location(op.location),
                    )


def _remove_unused(function: ir.Operation) -> None:
    """Erase pure ops with open layouts that nothing uses, last ones first."""
    for op in reversed(all_ops(function)):
        unused = len(op.results) and not any(len(list(r.uses)) for r in op.results)
        if unused and is_pure(op) and any(_is_open(r) for r in op.results):
            op.erase()
