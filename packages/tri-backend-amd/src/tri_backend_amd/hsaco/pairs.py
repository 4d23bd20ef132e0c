"""Savings by pairs of f32 operations in a kernel, from its LLVM IR before optimization, without compiling it.

LLVM's SLP vectorizer begins at vectors that are put together of scalars (``insertelement``: operands of matrix instructions, words of f16) and at
what a loop carries (``phi``), and goes from there to operands as long as these are operations that have pairs; what else makes a value, an
exponential say, ends it.  So two operations that are reached become one.  But a product that is only rounded to f16 has an instruction of its
own, ``v_fma_mixlo_f16``, and ``v_fma_mixhi_f16`` for the upper half of a word ("AMD Instinct MI300" Instruction Set Architecture, VOP3P).  In
pairs it takes a ``v_cvt_f16_f32`` and half of a ``v_pack_b32_f16`` more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from tri_core.lazy_dataclasses import dataclass

__all__ = ["PACKABLE", "TRIPS", "repeats", "saved_by_pairs"]

#: f32 arithmetic that has a packed form
PACKABLE = re.compile(r"= f(?:add|sub|mul) .*float|@llvm\.fma\.f32\(")
#: how often a loop is taken to run, for each time that what it is in does
TRIPS = 8
#: instructions that one operation of a pair saves, and that a product saves which is rounded to f16 on its own
_PAIRED, _ROUNDED = 0.5, 1.5
_PRODUCT = re.compile(r"= fmul .*float|@llvm\.fma\.f32\(")
_ROUNDS = re.compile(r"= fptrunc (?:\w+ )*float (%[\w.]+) to half")
_BEGINS = re.compile(r"= (?:insertelement|phi) ")
_RESULT = re.compile(r"\s*(%[\w.]+) = ")
_USE = re.compile(r"%[\w.]+")
_BODIES = re.compile(r"^define ", re.MULTILINE)
_LABEL = re.compile(r"([\w.]+):")
_JUMP = re.compile(r"\s*br .*label %([\w.]+)")


def repeats(
    lines: Sequence[str],
    label: Callable[[str], re.Match[str] | None],
    jumps: Callable[[str], Iterable[str]],
) -> list[int]:
    """Number of times each of ``lines`` runs: :data:`TRIPS` for each loop around it, which extends from a
    label to a jump back to it.
    """
    labels = {found[1]: number for number, line in enumerate(lines) if (found := label(line))}
    steps = [0] * (len(lines) + 1)
    for number, line in enumerate(lines):
        for name in jumps(line):
            if labels.get(name, len(lines)) < number:
                steps[labels[name]] += 1
                steps[number + 1] -= 1
    return [TRIPS**depth for depth in accumulate(steps[:-1])]


def saved_by_pairs(llvm_ir: str) -> float:
    """Instructions that pairs save in a run of the kernels of ``llvm_ir``; negative where they cost some."""
    return sum(_saved(body.splitlines()) for body in _BODIES.split(llvm_ir)[1:])


def _saved(lines: Sequence[str]) -> float:
    """The same for the ``lines`` of one function, whose values have names of their own."""
    code = _Code.of(lines)
    times = repeats(lines, _LABEL.match, _targets)
    paired = sum(times[place] for place in code.reached())
    rounded = sum(times[place] for place in code.rounded())
    return _PAIRED * paired - _ROUNDED * rounded


def _targets(line: str) -> Sequence[str]:
    """The labels that ``line`` may jump to."""
    return re.findall(r"label %([\w.]+)", line) if _JUMP.match(line) else ()


@dataclass(frozen=True)
class _Code:
    """Of lines, by number: the values that each uses, and where ``made``; ``uses`` of a value, by how many lines."""

    lines: Sequence[str]
    read: Mapping[int, Sequence[str]]
    made: Mapping[str, int]
    uses: Mapping[str, int]

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Code:
        """Of the ``lines`` of a function."""
        read, made, uses = defaultdict[int, list[str]](list), dict[str, int](), Counter[str]()
        for place, line in enumerate(lines):
            found = _RESULT.match(line)
            if found is None:
                continue
            made[found[1]] = place
            read[place] = _USE.findall(line, found.end())
        for values in read.values():
            uses.update(set(values))
        return cls(lines, read, made, uses)

    def reached(self) -> set[int]:
        """Operations that have pairs and that LLVM comes to from vectors and what loops carry."""
        found, ahead = set[int](), [place for place in self.read if _BEGINS.search(self.lines[place])]
        while ahead:
            for value in self.read[ahead.pop()]:
                place = self.made.get(value)
                if place is None or place in found:
                    continue
                line = self.lines[place]
                if PACKABLE.search(line):
                    found.add(place)
                    ahead.append(place)
                elif _ROUNDS.search(line):
                    ahead.append(place)
        return found

    def rounded(self) -> set[int]:
        """Products that are rounded to f16 and nothing else."""
        sources = (found[1] for place in self.read if (found := _ROUNDS.search(self.lines[place])))
        return {
            self.made[value]
            for value in sources
            if value in self.made and self.uses[value] == 1 and _PRODUCT.search(self.lines[self.made[value]])
        }
