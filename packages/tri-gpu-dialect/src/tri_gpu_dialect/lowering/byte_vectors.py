"""Vectors of bytes put together of words' bytes by the target's byte permutes, where it has them.

The bytes of a word that come from more than two words are two pairs, each from two words.  A permute makes two pairs of the same two
words: the transpose of four words' bytes takes eight permutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.primitives import Primitives

__all__ = ["byte_vectors"]

#: bytes of a word, and of a half
_WORD, _PAIR = 4, 2


@dataclass(frozen=True)
class _Byte:
    """Byte ``number`` of ``word``."""

    word: ir.Value
    number: int


@dataclass
class _Permutes:
    """Permutes as they are needed; ``pairs``: words of two pairs, by what they are made of."""

    b: Builder
    hw: Primitives
    words: dict[tuple[ir.Value, int], ir.Value] = field(default_factory=dict)
    pairs: dict[tuple[_Byte, _Byte], _Byte] = field(default_factory=dict)

    def source(self, value: ir.Value) -> _Byte | None:
        """Origin of ``value``, a byte, if it is an element of a vector."""
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if op is None or op.name != "llvm.extractelement":
            return None
        vector, place = op.operands
        count = int(vector.type.shape[0])
        constant = None if isinstance(place.owner, ir.Block) else place.owner.operation
        if constant is None or constant.name != "llvm.mlir.constant" or count % _WORD:
            return None
        number = int(ir.IntegerAttr(constant.attributes["value"]).value)
        return _Byte(self.word(vector, number // _WORD, count // _WORD), number % _WORD)

    def word(self, vector: ir.Value, number: int, count: int) -> ir.Value:
        """Word ``number`` of the ``count`` of ``vector``."""
        if (vector, number) not in self.words:
            b = self.b
            type_ = b.vector_type(b.i32, count) if count > 1 else b.i32
            for i, word in enumerate(b.unpack(b.bitcast(vector, type_))):
                self.words[vector, i] = word
        return self.words[vector, number]

    def make_pairs(self, wanted: Iterable[tuple[_Byte, _Byte]]) -> None:
        """Make words of all pairs that are ``wanted``."""
        alike: dict[tuple[ir.Value, ir.Value], list[tuple[_Byte, _Byte]]] = {}
        for pair in dict.fromkeys(wanted):
            alike.setdefault((pair[0].word, pair[1].word), []).append(pair)
        for (low, high), pairs in alike.items():
            for first in range(0, len(pairs), 2):
                two = (pairs[first : first + 2] * 2)[:2]
                selector = tuple(n for one, other in two for n in (one.number, _WORD + other.number))
                made = self.hw.permute_bytes(self.b, low, high, selector)
                self.pairs.update((pair, _Byte(made, 2 * i)) for i, pair in reversed([*enumerate(two)]))

    def whole(self, given: Sequence[_Byte]) -> ir.Value:
        """The word of the four ``given`` bytes."""
        if _is_whole(given):
            return given[0].word
        low, *others = dict.fromkeys(byte.word for byte in given)
        if len(others) > 1:
            first, second = (self.pairs[given[i], given[i + 1]] for i in (0, 2))
            given = [_Byte(pair.word, pair.number + i) for pair in (first, second) for i in (0, 1)]
            low, *others = dict.fromkeys(byte.word for byte in given)
        high = others[0] if others else low
        selector = tuple(byte.number + _WORD * (byte.word != low) for byte in given)
        return self.hw.permute_bytes(self.b, low, high, selector)

    def half(self, first: _Byte, second: _Byte) -> ir.Value:
        """A pair as a vector of two bytes."""
        b, pair = self.b, self.pairs[first, second]
        word = b.lshr(pair.word, 8 * pair.number) if pair.number else pair.word
        return b.bitcast(b.int_cast(word, b.int_type(16)), b.vector_type(b.i8, _PAIR))


def byte_vectors(b: Builder, hw: Primitives, groups: Sequence[Sequence[ir.Value]]) -> list[ir.Value] | None:
    """Each of ``groups`` of bytes (i8) as a vector; None where the target has no byte permutes, or they are no bytes of words.

    Groups of two are halves of words that are made together; others are whole words.
    """
    if not hw.has_byte_permutes or any(len(group) != _PAIR and len(group) % _WORD for group in groups):
        return None
    permutes = _Permutes(b, hw)
    found = [[permutes.source(value) for value in group] for group in groups]
    bytes_ = [[byte for byte in group if byte is not None] for group in found]
    if any(len(known) < len(group) for known, group in zip(bytes_, groups, strict=True)):
        return None
    if all(len(group) == _PAIR for group in bytes_):
        permutes.make_pairs((first, second) for first, second in bytes_)
        return [permutes.half(first, second) for first, second in bytes_]
    words = [[group[i : i + _WORD] for i in range(0, len(group), _WORD)] for group in bytes_]
    permutes.make_pairs(
        (word[i], word[i + 1])
        for group in words
        for word in group
        if len({byte.word for byte in word}) > _PAIR
        for i in (0, 2)
    )
    return [
        b.bitcast(b.pack([permutes.whole(word) for word in group]), b.vector_type(b.i8, _WORD * len(group)))
        for group in words
    ]


def _is_whole(given: Sequence[_Byte]) -> bool:
    return all(byte == _Byte(given[0].word, i) for i, byte in enumerate(given))
