"""``GluonBuilder``: emission of operations on tensors that carry layouts.

It is the frontend's builder with one addition: an operation is emitted as ever, then its results get the layouts that
follow from its operands, by the rules that passes use too, and operands that do not go together are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tri.compiler.builder import Builder
from tri.experimental.gluon.agreement import check_fit, mismatch
from tri.experimental.gluon.descriptors import tensor_descriptor
from tri.experimental.gluon.layouts import DistributedLayout, layout_of
from tri.experimental.gluon.types import distributed_type
from tri.interpreting import current
from tri.language import types as t
from tri.language.tensor import tensor
from tri_core.dialects.tt import ExpandDimsOp
from tri_core.errors import CompilationError, Unsupported
from tri_core.ir.markers import EXPLICIT
from tri_core.ir.traits import is_pure
from tri_core.ir.views import isa
from tri_core.mlir import ir, registry
from tri_gpu_dialect.analysis.layout_rules import SHARED, Kind, LayoutRule, encoding_of
from tri_gpu_dialect.dialect import TTG
from tri_gpu_dialect.dialect.gluon import Gluon
from tri_gpu_dialect.edit import convert, i32_attribute, retyped, set_encoding
from tri_gpu_dialect.encodings import Encoding, Slice
from tri_gpu_dialect.layouts import BLOCK, LANE, WARP
from tri_gpu_dialect.layouts.encoding import places_alike
from tri_gpu_dialect.stage import threads_per_warp
from tri_gpu_dialect.types import shape_of, tensor_info

if TYPE_CHECKING:
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["GluonBuilder", "of_gluon"]

registry.add_dialect(TTG)
registry.add_dialect(Gluon)

#: kinds of operations whose operands and results are not tied to each other
_FREE = (Kind.SOURCE, Kind.SINK, Kind.FIXED)


def of_gluon(b: Builder, name: str) -> GluonBuilder:
    """``b`` as the builder of a Gluon kernel; CompilationError in any other."""
    if isinstance(b, GluonBuilder):
        return b
    if current() is not None:
        raise Unsupported(
            f"gl.{name} in an interpreted kernel: Gluon kernels need a machine with warps",
            remedy="run the kernel in a simulator, e.g. with tri.target('sim:...'), outside of tri.interpret()",
        )
    raise CompilationError(
        f"gl.{name} is for Gluon kernels, whose values have layouts",
        remedy="decorate the kernel with @gluon.jit instead of @tri.jit",
    )


class GluonBuilder(Builder):
    """Makes operations of one module whose tensors have layouts, or leave theirs open."""

    descriptor_class = tensor_descriptor

    def __init__(self, target: Target, options: CommonOptions) -> None:
        super().__init__(target, options)
        if not target.spec.threads_per_warp:
            raise Unsupported(
                f"a Gluon kernel on {target}, which has no warps",
                remedy="compile it for a GPU, or its simulator",
            )
        warp = threads_per_warp(target, options)
        #: threads per warp, warps and CTAs of the kernel
        self.sizes = {LANE: warp, WARP: options.num_warps, BLOCK: options.num_ctas}
        attributes = self.module.operation.attributes
        attributes[EXPLICIT] = ir.UnitAttr.get()
        attributes["ttg.target"] = ir.StringAttr.get(str(target.key))
        attributes["ttg.num-warps"] = i32_attribute(options.num_warps)
        attributes["ttg.threads-per-warp"] = i32_attribute(warp)
        attributes["ttg.num-ctas"] = i32_attribute(options.num_ctas)

    # --- operations -------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        results: Sequence[t.dtype] = (),
        operands: Sequence[tensor] = (),
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """See the base class; results get their layouts, operands that go with no others are refused."""
        op = super().create(name, results, operands, attributes, regions)
        self._agree(op)
        return op

    def value(
        self, name: str, result: t.dtype, *operands: tensor, attributes: dict[str, ir.Attribute] | None = None
    ) -> tensor:
        """See the base class."""
        return self.typed(self.create(name, [result], operands, attributes).results[0], result)

    def several(
        self,
        name: str,
        results: Sequence[t.dtype],
        operands: Sequence[tensor],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> list[tensor]:
        """See the base class."""
        op = self.create(name, results, operands, attributes)
        return [self.typed(value, type_) for value, type_ in zip(op.results, results, strict=True)]

    def region(
        self,
        name: str,
        results: Sequence[t.dtype] | Callable[[Sequence[tensor]], Sequence[t.dtype]],
        operands: Sequence[tensor],
        attributes: dict[str, ir.Attribute] | None,
        arguments: Sequence[t.dtype],
        body: Callable[[Sequence[tensor]], Sequence[tensor]],
        terminator: str,
    ) -> list[tensor]:
        """See the base class."""
        made = super().region(name, results, operands, attributes, arguments, body, terminator)
        return [self.typed(value.handle, value.type) for value in made]

    def typed(self, value: ir.Value, type_: t.dtype) -> tensor:
        """``value`` with the layout that it has as part of its language type."""
        if isinstance(type_, t.block_type):
            layout = layout_of(encoding_of(value))
            type_ = distributed_type(type_.element_ty, type_.shape, layout)
        return tensor(value, type_)

    # --- layouts ----------------------------------------------------------------------------------------

    def placed(self, value: tensor, layout: DistributedLayout) -> tensor:
        """``value``, whose layout is left open, in ``layout``."""
        encoding = self.encoding(layout, shape_of(value.handle.type))
        return self.typed(self._settled(value.handle, encoding, self.point), value.type)

    def encoding(self, layout: DistributedLayout, shape: Sequence[int]) -> Encoding:
        """The encoding of ``layout``, which places tensors of ``shape`` over the kernel's threads."""
        check_fit(layout, tuple(shape), self.sizes)
        found = layout.encoding()
        assert found is not None
        return found

    def _agree(self, op: ir.Operation) -> None:
        """Give the results of ``op`` their layouts, and its operands with open layouts theirs."""
        rule = SHARED.of(op)
        if rule.kind in _FREE:
            return
        present = [encoding_of(v) for v in op.operands]
        if isa(op, ExpandDimsOp):
            _check_slice(op, present[0])
        own = next((e for r in op.results if (e := encoding_of(r)) is not None), None)
        own = own or rule.results(op, present)
        if own is None:
            return
        for result in op.results:
            if encoding_of(result) is None:
                set_encoding(result, own)
        self._match_operands(op, rule, own)

    def _match_operands(self, op: ir.Operation, rule: LayoutRule, own: Encoding) -> None:
        for i, wanted in enumerate(rule.operands(op, own) or ()):
            value = op.operands[i]
            have = encoding_of(value)
            if wanted is None or have == wanted or tensor_info(value.type) is None:
                continue
            before = ir.InsertionPoint(op)
            if have is None:
                op.operands[i] = self._settled(value, wanted, before)
            elif places_alike(have, wanted, shape_of(value.type)):
                op.operands[i] = convert(value, wanted, before, op.location)
            else:
                error = mismatch(op.name.partition(".")[2], have, wanted, shape_of(value.type))
                op.erase()
                raise error

    def _settled(self, value: ir.Value, encoding: Encoding, ip: ir.InsertionPoint) -> ir.Value:
        """``value``, whose layout is open, in ``encoding``: made again where that costs nothing."""
        owner = value.owner
        if not isinstance(owner, ir.Block):
            op = owner.operation
            if SHARED.of(op).kind is Kind.SOURCE and is_pure(op):
                made = op.clone(ip=ip).operation
                set_encoding(made.results[0], encoding)
                return made.results[0]
        type_ = retyped(value.type, encoding)
        made = ir.Operation.create(
            "gluon.set_auto_layout", results=[type_], operands=[value], loc=self.location, ip=ip
        )
        return made.results[0]


def _check_slice(op: ir.Operation, have: Encoding | None) -> None:
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    if have is None or (isinstance(have, Slice) and have.dim == axis):
        return
    op.erase()
    raise CompilationError(
        f"a dimension is put in at {axis}: a SliceLayout along {axis} is expected, got {layout_of(have)}",
        remedy=f"make the value in gl.SliceLayout({axis}, parent), parent being the result's layout, or convert it",
    )
