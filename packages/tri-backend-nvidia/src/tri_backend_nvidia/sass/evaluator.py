"""SASS evaluated without a card: code of one thread, for many inputs at once, or for the threads of a CTA.

A register is an array with one value for each input.  What is not known is refused by :class:`UnknownCode`, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

__all__ = ["MEANINGS", "Instruction", "Thread", "UnknownCode", "Words", "parse", "signed"]

#: one unsigned word for each input
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

M32 = np.uint64(0xFFFFFFFF)
_ONE, _SHIFT = np.uint64(1), np.uint64(32)
_GUARDED = re.compile(r"@(!?U?P\w+)\s+(.*)")
_PREDICATE = re.compile(r"!?U?P(?:T|\d)")
_REGISTER = re.compile(r"(U?R)(Z|\d+)")
_CONSTANT = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+)\]")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_ADDRESS = re.compile(r"(?:desc\[UR\d+\])?\[([^\[\]]+)\]")
_OFFSET = re.compile(r"-?0x[0-9a-f]+")
_BASE = re.compile(r"(U?R(?:Z|\d+))(\.64)?(?:\.X(4|8|16))?")
_SELECTED = re.compile(r"\.(H0_H0|H1_H1|H0|H1|B[0-3])$")


#: what instructions do, by name; filled where they are defined
MEANINGS: dict[str, Callable[[Thread, Instruction, Flags | None], None]] = {}


class UnknownCode(Exception):
    """An instruction, operand or form whose meaning is not known here."""


@dataclass(frozen=True)
class Instruction:
    """``@guard name.flags operands``."""

    text: str
    name: str
    flags: frozenset[str]
    operands: tuple[str, ...]
    guard: str = ""

    @property
    def predicates(self) -> tuple[str, ...]:
        """The predicates right behind the result."""
        rest = self.operands[1:]
        count = next((i for i, each in enumerate(rest) if not is_predicate(each)), len(rest))
        return rest[:count]


@cache
def parse(line: str) -> Instruction:
    """One line of nvdisasm, without address and semicolon."""
    guard = ""
    text = line.strip()
    if found := _GUARDED.match(text):
        guard, text = found[1], found[2]
    name, _, rest = text.partition(" ")
    operands = tuple(each.strip().replace(".reuse", "") for each in rest.split(",")) if rest.strip() else ()
    base, *flags = name.split(".")
    return Instruction(line.strip(), base, frozenset(flags), operands, guard)


def is_predicate(text: str) -> bool:
    """True for a predicate register."""
    return _PREDICATE.fullmatch(text) is not None


def signed(words: Words, bits: int = 32) -> npt.NDArray[np.int64]:
    """The lowest ``bits`` of ``words`` as signed numbers."""
    shift = np.uint64(64 - bits)
    return (words << shift).view(np.int64) >> np.int64(64 - bits)


def unsigned(values: npt.NDArray[np.int64]) -> Words:
    """The lowest 32 bits."""
    return values.view(np.uint64) & M32


@dataclass
class Thread:
    """Registers, predicates and bytes of memory while straight code runs; ``count`` inputs at once.

    ``constants``: the first bank, by offset in bytes.  Memory has one array of bytes for each address.
    """

    count: int
    constants: Mapping[int, int]
    memory: dict[int, Words]
    registers: dict[str, Words] = field(default_factory=dict)
    predicates: dict[str, Flags] = field(default_factory=dict)

    def words(self, value: int) -> Words:
        """The same word for each input."""
        return np.full(self.count, value, np.uint64)

    # --- operands ---------------------------------------------------------------------------------------------

    def read(self, text: str, *, wide: bool = False) -> Words:
        """An operand with its sign, complement, magnitude and selected part: 32 bits, or 64 of a pair."""
        mask = np.uint64(0xFFFFFFFFFFFFFFFF) if wide else M32
        if text.startswith("-"):
            return (~self.read(text[1:], wide=wide) + _ONE) & mask
        if text.startswith("~"):
            return ~self.read(text[1:], wide=wide) & mask
        if text.startswith("|"):
            return unsigned(np.abs(signed(self.read(text.strip("|")))))
        if found := _SELECTED.search(text):
            return self._selected(self.read(text[: found.start()]), found[1])
        return self._plain(text.removesuffix(".64").removesuffix(".U32"), wide)

    def _plain(self, text: str, wide: bool) -> Words:
        if found := _REGISTER.fullmatch(text):
            if found[2] == "Z":
                return self.words(0)
            low = self._register(text)
            if not wide:
                return low
            return low | self._register(f"{found[1]}{int(found[2]) + 1}") << _SHIFT
        if found := _CONSTANT.fullmatch(text):
            at = int(found[1], 16)
            return self.words(sum(self._constant(at + i) << 8 * i for i in range(8 if wide else 4)))
        if _NUMBER.fullmatch(text):
            return self.words(int(text, 0) & (0xFFFFFFFFFFFFFFFF if wide else 0xFFFFFFFF))
        raise UnknownCode(f"operand {text}")

    def _register(self, name: str) -> Words:
        # nobody's value: halves of packed operations that nobody reads may be so, and nothing that is looked at may depend on it
        return self.registers.get(name, self.words(0xDEADBEEF))

    def _constant(self, at: int) -> int:
        return self.constants.get(at, 0)

    @staticmethod
    def _selected(words: Words, part: str) -> Words:
        if part.startswith("B"):
            return words >> np.uint64(8 * int(part[1])) & np.uint64(0xFF)
        half = words >> np.uint64(16 if part.startswith("H1") else 0) & np.uint64(0xFFFF)
        return half | half << np.uint64(16) if "_" in part else half

    def flag(self, text: str) -> Flags:
        """A predicate, perhaps negated."""
        if text.startswith("!"):
            return ~self.flag(text[1:])
        if text in ("PT", "UPT"):
            return np.ones(self.count, bool)
        if text not in self.predicates:
            raise UnknownCode(f"{text} is read before it is written")
        return self.predicates[text]

    def special(self, name: str) -> Words:
        """A special register (``SR_TID.X``): 0, as for the only thread."""
        del name
        return self.words(0)

    # --- memory -----------------------------------------------------------------------------------------------

    def addresses(self, text: str) -> Words:
        """Byte addresses of ``desc[UR6][R2.64+UR4+0x10]``: a descriptor changes no address."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise UnknownCode(f"address {text}")
        total = self.words(0)
        for part in found[1].replace("+-", "-").replace("-", "+-").split("+"):
            total = total + self._part_of_address(part)
        return total

    def _part_of_address(self, part: str) -> Words:
        if _OFFSET.fullmatch(part):
            return self.words(int(part, 16) & 0xFFFFFFFFFFFFFFFF)
        if (found := _BASE.fullmatch(part)) is None:
            raise UnknownCode(f"part {part} of an address")
        return self.read(found[1], wide=found[2] == ".64") * np.uint64(int(found[3] or 1))

    def load(self, place: str, nbytes: int, where: Flags | None, *, shared: bool) -> list[Words]:
        """Words from ``place``, one for each 4 of ``nbytes``; of fewer bytes one, extended by zeros."""
        del where
        at, words = self._same(place, shared), []
        for first in range(0, nbytes, 4):
            word = self.words(0)
            for i in range(min(4, nbytes)):
                word |= self.memory[at + first + i] << np.uint64(8 * i)
            words.append(word)
        return words

    def store(
        self, place: str, words: Sequence[Words], nbytes: int, where: Flags | None, *, shared: bool
    ) -> None:
        """Write the lowest ``nbytes`` of ``words`` to ``place``, where the guard allows."""
        at = self._same(place, shared)
        for i in range(nbytes):
            byte = words[i // 4] >> np.uint64(8 * (i % 4)) & np.uint64(0xFF)
            self.memory[at + i] = byte if where is None else np.where(where, byte, self.memory[at + i])

    def _same(self, place: str, shared: bool) -> int:
        """The address of ``place``, the same for all inputs."""
        places = self.addresses(place)
        if shared or (places != places[0]).any():
            raise UnknownCode("shared memory, or an address that depends on the inputs")
        return int(places[0])

    # --- results ----------------------------------------------------------------------------------------------

    def write(self, name: str, words: Words, where: Flags | None) -> None:
        """Give a register a word, where the guard allows."""
        if name in ("RZ", "URZ"):
            return
        words = words & M32
        if where is not None:
            words = np.where(where, words, self.registers.get(name, self.words(0)))
        self.registers[name] = words

    def write_pair(self, name: str, words: Words, where: Flags | None) -> None:
        """Give a register and its neighbour 64 bits."""
        found = _REGISTER.fullmatch(name)
        if found is None or found[2] == "Z":
            return
        self.write(name, words, where)
        self.write(f"{found[1]}{int(found[2]) + 1}", words >> _SHIFT, where)

    def write_flag(self, name: str, flags: Flags, where: Flags | None) -> None:
        """Give a predicate a value."""
        if name in ("PT", "UPT"):
            return
        if where is not None:
            flags = np.where(where, flags, self.predicates.get(name, np.zeros(self.count, bool)))
        self.predicates[name] = flags

    # --- code -------------------------------------------------------------------------------------------------

    def run(self, code: Sequence[str]) -> None:
        """Execute straight ``code`` up to its end; UnknownCode where something of it is not known."""
        for line in code:
            instruction = parse(line)
            if instruction.name == "EXIT" and not instruction.guard:
                return
            self.execute(instruction, self.flag(instruction.guard) if instruction.guard else None)
        raise UnknownCode("code without an end")

    def execute(self, instruction: Instruction, where: Flags | None) -> None:
        """Do what ``instruction`` means, for the inputs of ``where``; UnknownCode where that is not known."""
        meaning = MEANINGS.get(instruction.name)
        if meaning is None:
            raise UnknownCode(instruction.text)
        try:
            meaning(self, instruction, where)
        except (ValueError, IndexError, KeyError) as error:
            raise UnknownCode(instruction.text) from error
