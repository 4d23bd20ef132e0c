"""Atomics that the hardware lacks, as loops of compare-and-swap: on the element, or on the 32-bit word around it.

Whether it has one, and compare-and-swap of narrow elements, is for :meth:`Primitives.has_atomic` to say.  The loop reads the
word, computes the element anew, and swaps the word for the changed one until nobody else came in between; the bits beside
the element stay.  A word may reach beyond the user's buffer: it is aligned, so it never leaves the page, and memory is
allocated in larger units.  Attribute ``ttg.word`` of its address says so to who checks bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt.enums import AtomicOp
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.context import Lowering
from tri_gpu_dialect.lowering.primitives import Access, AtomicAccess
from tri_gpu_dialect.lowering.rules.floats import from_f32, is_emulated, to_f32
from tri_gpu_dialect.lowering.words import bit_width, is_pointer

__all__ = ["compare_and_swap", "element_in_word", "modify", "word_around"]

#: attribute of a word's address: bytes of the element at its base
_WORD = "ttg.word"


def modify(
    ctx: Lowering,
    kind: AtomicOp,
    address: ir.Value,
    value: ir.Value,
    element: ir.Type,
    predicate: ir.Value | None,
    access: AtomicAccess,
) -> ir.Value:
    """The old value at ``address``, combined with ``value`` of type ``element`` where ``predicate``."""
    b = ctx.b
    if ctx.hw.has_atomic(kind, element):
        return ctx.hw.atomic_rmw(b, kind, address, value, predicate, access)
    held = value.type

    def body() -> list[ir.Value]:
        place = _Place.of(ctx, address, bit_width(held))

        def step(carried: Sequence[ir.Value]) -> tuple[ir.Value, list[ir.Value]]:
            (word,) = carried
            old = b.bitcast(place.element(word), held)
            new = _combined(ctx, kind, old, value, element)
            got = place.swap(word, place.changed(word, new), access)
            return b.cmp("ne", got, word), [got]

        (word,) = b.do_while([place.word()], step, [place.type])
        return [b.bitcast(place.element(word), held)]

    return body()[0] if predicate is None else b.if_(predicate, body, None, [held])[0]


def compare_and_swap(
    ctx: Lowering,
    address: ir.Value,
    compare: ir.Value,
    value: ir.Value,
    predicate: ir.Value | None,
    access: AtomicAccess,
) -> ir.Value:
    """The old value (an integer or pointer) at ``address``; ``value`` is there now if it was ``compare``."""
    b = ctx.b
    if is_pointer(value.type) or ctx.hw.has_atomic(None, value.type):
        return ctx.hw.atomic_cas(b, address, compare, value, predicate, access)

    def body() -> list[ir.Value]:
        place = _Place.of(ctx, address, value.type.width)

        def step(carried: Sequence[ir.Value]) -> tuple[ir.Value, list[ir.Value]]:
            (word,) = carried
            # where another value is found, it is swapped for itself: that orders memory as well
            new = b.select(b.cmp("eq", place.element(word), compare), value, place.element(word))
            got = place.swap(word, place.changed(word, new), access)
            return b.cmp("ne", got, word), [got]

        (word,) = b.do_while([place.word()], step, [place.type])
        return [place.element(word)]

    return body()[0] if predicate is None else b.if_(predicate, body, None, [value.type])[0]


def word_around(b: Builder, address: ir.Value, bits: int) -> tuple[ir.Value, ir.Value]:
    """The aligned word of 32 bits around the element of ``bits`` at ``address``: its address, and how many bits up the element is."""
    above = b.and_(b.ptr_to_int(address), b.int_(3, 64))
    start = b.gep(address, b.sub(b.int_(0, 64), above), b.i8)
    start.owner.attributes[_WORD] = ir.IntegerAttr.get(b.i32, bits // 8)
    return start, b.shl(b.int_cast(above, b.i32), 3)


def element_in_word(address: ir.Value) -> tuple[ir.Value, int] | None:
    """The address, and the bytes, of the element that :func:`word_around` made ``address`` for; None for other addresses."""
    if isinstance(address, ir.BlockArgument) or _WORD not in address.owner.attributes:
        return None
    return address.owner.operands[0], ir.IntegerAttr(address.owner.attributes[_WORD]).value


@dataclass(frozen=True)
class _Place:
    """An element of ``bits`` bits in memory: ``shift`` bits up in the word at ``address``."""

    ctx: Lowering
    address: ir.Value
    shift: ir.Value
    bits: int
    type: ir.Type

    @classmethod
    def of(cls, ctx: Lowering, address: ir.Value, bits: int) -> _Place:
        """Place of the element at ``address``."""
        b = ctx.b
        narrow = b.int_type(bits)
        if bits >= 32 or ctx.hw.has_atomic(None, narrow):
            return cls(ctx, address, b.const(narrow, 0), bits, narrow)
        return cls(ctx, *word_around(b, address, bits), bits, b.i32)

    def word(self) -> ir.Value:
        """The word as it is now, or was."""
        size = self.type.width // 8
        access = Access(size, volatile=True)
        return self.ctx.hw.load_global(self.ctx.b, self.address, self.type, None, None, access)

    def element(self, word: ir.Value) -> ir.Value:
        """The element's bits in ``word``."""
        b = self.ctx.b
        return b.int_cast(b.op("llvm.lshr", (word, self.shift), word.type), b.int_type(self.bits))

    def changed(self, word: ir.Value, element: ir.Value) -> ir.Value:
        """``word`` with another element (of any type of this width)."""
        b = self.ctx.b
        bits = b.int_cast(b.bitcast(element, b.int_type(self.bits)), self.type)
        if self.bits == self.type.width:
            return bits
        mask = b.op("llvm.shl", (b.const(self.type, (1 << self.bits) - 1), self.shift), self.type)
        placed = b.op("llvm.shl", (bits, self.shift), self.type)
        return b.or_(b.and_(word, b.not_(mask)), placed)

    def swap(self, word: ir.Value, new: ir.Value, access: AtomicAccess) -> ir.Value:
        """Previous contents of the word; it becomes ``new`` if it was ``word``."""
        return self.ctx.hw.atomic_cas(self.ctx.b, self.address, word, new, None, access)


_COMPARISONS = {AtomicOp.MAX: "sgt", AtomicOp.MIN: "slt", AtomicOp.UMAX: "ugt", AtomicOp.UMIN: "ult"}


def _combined(ctx: Lowering, kind: AtomicOp, old: ir.Value, value: ir.Value, element: ir.Type) -> ir.Value:
    b = ctx.b
    if kind in _COMPARISONS:
        return b.select(b.cmp(_COMPARISONS[kind], old, value), old, value)
    match kind:
        case AtomicOp.XCHG:
            return value
        case AtomicOp.FADD if is_emulated(ctx, element):
            total = b.fadd(to_f32(ctx, old, element), to_f32(ctx, value, element))
            return from_f32(ctx, total, element)
        case AtomicOp.FADD:
            return b.fadd(old, value)
        case AtomicOp.ADD:
            return b.add(old, value)
        case AtomicOp.AND:
            return b.and_(old, value)
        case AtomicOp.OR:
            return b.or_(old, value)
        case AtomicOp.XOR:
            return b.xor(old, value)
    raise Unsupported(f"{ctx.target} has no atomic {kind.name.lower()} of {element}", remedy="use i32 or f32")
