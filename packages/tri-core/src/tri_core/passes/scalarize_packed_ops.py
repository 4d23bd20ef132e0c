"""Functions and assembly for several elements at a time, as such for one element of several operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from tri_core.dialects.tt import ElementwiseInlineAsmOp
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["ScalarizePackedOps"]

_PACKS = {"tt.map_elementwise": "pack", "tt.elementwise_inline_asm": "packed_element"}


@dataclass(frozen=True)
class ScalarizePackedOps(Pass):
    """A pack of p elements becomes p operands, each with every p-th element along the last dimension.

    Afterwards every pack is 1.  Elements of assembly that are narrower than 32 bits come in 32-bit integers: as
    many of a pack's as fit, the first in the lowest bits.
    """

    name: ClassVar[str] = "scalarize-packed-ops"
    required: ClassVar[bool] = True
    former_names: ClassVar[tuple[str, ...]] = ("unpack",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        found: list[tuple[ir.Operation, int]] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if (pack := _PACKS.get(op.name)) is not None:
                found.append((op, ir.IntegerAttr(op.attributes[pack]).value))
            return ir.WalkResult.ADVANCE

        walk(module.operation, visit)
        for op, pack in found:
            rewriter = _Rewriter(op, pack)
            if isa(op, ElementwiseInlineAsmOp) and (pack > 1 or rewriter.has_narrow()):
                rewriter.assembly()
            elif pack > 1:
                rewriter.mapped()


class _Rewriter:
    """Rewrites one op."""

    def __init__(self, op: ir.Operation, pack: int) -> None:
        self.op = op
        self.pack = pack
        self.ip = ir.InsertionPoint(op)
        shaped = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, ir.RankedTensorType)]
        self.shape: list[int] | None = list(shaped[0].shape) if shaped else None

    def make(
        self, name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value], **attributes: Any
    ) -> Any:
        """An op before the one that is rewritten."""
        made = ir.Operation.create(
            name,
            results=list(results),
            operands=list(operands),
            attributes=attributes,
            loc=self.op.location,
            ip=self.ip,
        )
        return made.results[0] if len(results) == 1 else list(made.results)

    def has_narrow(self) -> bool:
        """True if an element has fewer than 32 bits."""
        return any(_bits(v.type) < 32 for v in (*self.op.operands, *self.op.results))

    # --- packs ------------------------------------------------------------------------------------------

    def parts(self, value: ir.Value) -> list[ir.Value]:
        """``value`` as ``pack`` tensors, the i-th with the elements i, i + pack, ... of the last dimension."""
        if self.pack == 1:
            return [value]
        if self.shape is None:
            return [value] * self.pack
        numel = _product(self.shape)
        element = ir.RankedTensorType(value.type).element_type
        levels = self.pack.bit_length() - 1
        kind = ir.RankedTensorType.get([numel // self.pack, *[2] * levels], element)
        return self._halves(self.make("tt.reshape", [kind], [value]), levels)

    def _halves(self, value: ir.Value, levels: int) -> list[ir.Value]:
        if levels == 0:
            return [value]
        kind = ir.RankedTensorType(value.type)
        half = ir.RankedTensorType.get(list(kind.shape)[:-1], kind.element_type)
        low, high = self.make("tt.split", [half, half], [value])
        pairs = zip(self._halves(low, levels - 1), self._halves(high, levels - 1), strict=True)
        return [part for pair in pairs for part in pair]

    def whole(self, parts: Sequence[ir.Value], type_: ir.Type) -> ir.Value:
        """The reverse of :meth:`parts`, as ``type_``."""
        if len(parts) == 1:
            return parts[0]
        if self.shape is None:
            return parts[0]
        return self.make("tt.reshape", [type_], [self._joined(list(parts))])

    def _joined(self, parts: list[ir.Value]) -> ir.Value:
        if len(parts) == 1:
            return parts[0]
        low, high = self._joined(parts[0::2]), self._joined(parts[1::2])
        kind = ir.RankedTensorType(low.type)
        joined = ir.RankedTensorType.get([*kind.shape, 2], kind.element_type)
        return self.make("tt.join", [joined], [low, high])

    def part_type(self, element: ir.Type) -> ir.Type:
        """The type of a part with ``element``."""
        if self.shape is None:
            return element
        if self.pack == 1:
            return ir.RankedTensorType.get(self.shape, element)
        return ir.RankedTensorType.get([_product(self.shape) // self.pack], element)

    # --- the ops ----------------------------------------------------------------------------------------

    def mapped(self) -> None:
        """``tt.map_elementwise``: its region stays as it is."""
        operands = [part for v in self.op.operands for part in self.parts(v)]
        types = [self.part_type(_element(r.type)) for r in self.op.results for _ in range(self.pack)]
        made = ir.Operation.create(
            self.op.name,
            results=types,
            operands=operands,
            attributes={"pack": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)},
            regions=1,
            loc=self.op.location,
            ip=self.ip,
        )
        self.op.regions[0].blocks[0].append_to(made.regions[0])
        self._replace(list(made.results))

    def assembly(self) -> None:
        """``tt.elementwise_inline_asm``: narrow elements in words."""
        operands = [word for v in self.op.operands for word in self._words(self.parts(v), _element(v.type))]
        kinds = [list(self._word_kinds(_element(r.type))) for r in self.op.results]
        types = [self.part_type(kind) for group in kinds for kind in group]
        attributes = {n: self.op.attributes[n] for n in ("asm_string", "constraints", "pure")}
        one = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
        made = self.make(self.op.name, types, operands, **attributes, packed_element=one)
        words = iter([made] if len(types) == 1 else made)
        parts: list[ir.Value] = []
        for result, group in zip(self.op.results, kinds, strict=True):
            parts.extend(self._elements([next(words) for _ in group], _element(result.type)))
        self._replace(parts)

    def _replace(self, parts: Sequence[ir.Value]) -> None:
        for i, result in enumerate(self.op.results):
            group = parts[i * self.pack : (i + 1) * self.pack]
            result.replace_all_uses_with(self.whole(group, result.type))
        self.op.erase()

    # --- words ------------------------------------------------------------------------------------------

    def _per_word(self, element: ir.Type) -> int:
        return min(32 // _bits(element), self.pack) if _bits(element) < 32 else 1

    def _word_kinds(self, element: ir.Type) -> Iterator[ir.Type]:
        word = ir.IntegerType.get_signless(32)
        for _ in range(self.pack // self._per_word(element)):
            yield word if _bits(element) < 32 else element

    def _shift(self, by: int) -> ir.Value:
        word = ir.IntegerType.get_signless(32)
        kind = self.part_type(word)
        number: ir.Attribute = ir.IntegerAttr.get(word, by)
        if self.shape is not None:
            number = ir.DenseElementsAttr.get_splat(kind, number)
        return self.make("arith.constant", [kind], [], value=number)

    def _words(self, parts: Sequence[ir.Value], element: ir.Type) -> list[ir.Value]:
        bits, per = _bits(element), self._per_word(element)
        if bits >= 32:
            return list(parts)
        word, whole = self.part_type(ir.IntegerType.get_signless(32)), ir.IntegerType.get_signless(bits)
        words = []
        for first in range(0, len(parts), per):
            total = None
            for i, part in enumerate(parts[first : first + per]):
                if not isinstance(element, ir.IntegerType):
                    part = self.make("tt.bitcast", [self.part_type(whole)], [part])
                wide = self.make("arith.extui", [word], [part])
                if i:
                    wide = self.make("arith.shli", [word], [wide, self._shift(i * bits)])
                total = wide if total is None else self.make("arith.ori", [word], [total, wide])
            words.append(total)
        return words

    def _elements(self, words: Sequence[ir.Value], element: ir.Type) -> list[ir.Value]:
        bits, per = _bits(element), self._per_word(element)
        if bits >= 32:
            return list(words)
        kind, whole = self.part_type(element), self.part_type(ir.IntegerType.get_signless(bits))
        word_type = self.part_type(ir.IntegerType.get_signless(32))
        parts = []
        for word in words:
            for i in range(per):
                moved = self.make("arith.shrui", [word_type], [word, self._shift(i * bits)]) if i else word
                part = self.make("arith.trunci", [whole], [moved])
                parts.append(part if kind == whole else self.make("tt.bitcast", [kind], [part]))
        return parts


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.RankedTensorType) else type_


def _bits(type_: ir.Type) -> int:
    return getattr(_element(type_), "width", 64)


def _product(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
