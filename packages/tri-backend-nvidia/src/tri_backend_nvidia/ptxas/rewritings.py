"""PTX text that says the same in other instructions, which no version of ptxas is known to get wrong.

A rewriting keeps lines, so that what ptxas says of a line stays true, and the guard of an instruction.  Registers may be any, the result's the
operand's too.
"""

from __future__ import annotations

import re

from tri_core.lazy_dataclasses import dataclass

__all__ = ["ABSOLUTE_16", "ABSOLUTE_32", "ABSOLUTE_64", "NEGATE_16", "NEGATE_32", "Rewriting"]

_GUARD = r"(?P<guard>@!?[%$\w]+\s+)?"


@dataclass(frozen=True)
class Rewriting:
    """Every instruction that ``pattern`` finds becomes ``replacement``, in modules where ``beside`` finds something.

    Groups of ``pattern``: ``guard``, ``d`` and ``s``, the result and the operand.  ``signs``: texts of which whatever it changes has one.
    """

    name: str
    pattern: str
    replacement: str
    beside: str = ""
    signs: tuple[str, ...] = ()

    def concerns(self, text: str) -> bool:
        """False where :meth:`apply` changes nothing of ``text``, by a search for plain texts: a hundredth of its time."""
        return any(sign in text for sign in self.signs)

    def apply(self, text: str) -> str:
        """``text`` rewritten."""
        if self.beside and not re.search(self.beside, text):
            return text
        # a guard may stand before what is looked for, and to try one at each place takes most of the time
        if not re.search(self.pattern.removeprefix(_GUARD), text):
            return text
        return re.sub(self.pattern, self.replacement, text)


_RESULT, _OPERAND = r"\s+(?P<d>[%$\w]+)\s*,\s*", r"(?P<s>[%$\w]+)\s*;"


def _negation(bits: int) -> str:
    """``neg``, and the ways to say so that ptxas takes for one."""
    types = f"[su]{bits}"
    forms = (
        rf"neg\.s{bits}{_RESULT}{_OPERAND}",
        rf"sub\.{types}{_RESULT}0\s*,\s*{_OPERAND}",
        rf"mul\.lo\.{types}{_RESULT}{_OPERAND.removesuffix(';')},\s*-1\s*;",
    )
    numbered = [
        form.replace("(?P<d>", f"(?P<d{i}>").replace("(?P<s>", f"(?P<s{i}>") for i, form in enumerate(forms)
    ]
    return _GUARD + r"(?<![\w.])(?:" + "|".join(numbered) + ")"


#: of the forms of a negation only one matched, and the groups of the others are empty
_D, _S = r"\g<d0>\g<d1>\g<d2>", r"\g<s0>\g<s1>\g<s2>"


@dataclass(frozen=True)
class _Negation(Rewriting):
    """The complement plus one, for differences from a register that is zero somewhere too: right whatever it holds."""

    bits: int = 0

    def apply(self, text: str) -> str:
        """``text`` rewritten."""
        if self.beside and not re.search(self.beside, text):
            return text
        rewritten = super().apply(text)
        zeros = set(re.findall(rf"\bmov\.[bsu]{self.bits}\s+([%$\w]+)\s*,\s*0\s*;", text))
        if not zeros:
            return rewritten
        names = "|".join(map(re.escape, sorted(zeros)))
        difference = rf"(?<![\w.])sub\.[su]{self.bits}{_RESULT}(?P<zero>{names})\s*,\s*{_OPERAND}"
        if not re.search(difference, rewritten):
            return rewritten
        difference = _GUARD + difference
        return re.sub(difference, self._difference(), rewritten)

    def _difference(self) -> str:
        bits, s = self.bits, r"\g<s>"
        less = f"{{ .reg .b{bits} %less; not.b{bits} %less, {s}; add.s{bits} %less, %less, 1;"
        return rf"{less} \g<guard>add.s{bits} \g<d>, \g<zero>, %less; }}"


def _negate(bits: int, beside: str = "") -> Rewriting:
    complement = rf"\g<guard>not.b{bits} {_D}, {_S}; \g<guard>add.s{bits} {_D}, {_D}, 1;"
    signs = (f"neg.s{bits}", *(f"{op}.{sign}{bits}" for op in ("sub", "mul.lo") for sign in "su"))
    return _Negation(f"negate-{bits}", _negation(bits), complement, beside, signs, bits)


def _absolute(bits: int) -> Rewriting:
    """The smaller of a number and its negation, as unsigned numbers."""
    less = f"{{ .reg .b{bits} %less; not.b{bits} %less, \\g<s>; add.s{bits} %less, %less, 1;"
    pattern = rf"{_GUARD}(?<![\w.])abs\.s{bits}{_RESULT}{_OPERAND}"
    smaller = rf"{less} \g<guard>min.u{bits} \g<d>, %less, \g<s>; }}"
    return Rewriting(f"absolute-{bits}", pattern, smaller, signs=(f"abs.s{bits}",))


NEGATE_16 = _negate(16)
#: where there is a minimum or maximum to lose the sign; InstCombine would make a negation again of it in LLVM IR
NEGATE_32 = _negate(32, beside=r"\bm(?:in|ax)\.s32\b")
ABSOLUTE_16 = Rewriting(
    "absolute-16",
    rf"{_GUARD}(?<![\w.])abs\.s16{_RESULT}{_OPERAND}",
    r"{ .reg .b32 %wide; cvt.s32.s16 %wide, \g<s>; abs.s32 %wide, %wide; \g<guard>cvt.u16.u32 \g<d>, %wide; }",
    signs=("abs.s16",),
)
ABSOLUTE_32, ABSOLUTE_64 = _absolute(32), _absolute(64)
