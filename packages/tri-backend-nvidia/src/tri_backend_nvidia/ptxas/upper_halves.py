"""Upper halves of words that ptxas finds out to be constant late, after it has folded shuffles and unrolled loops.

``F2FP...UNPACK_B`` reads two 8-bit floats of a word's lower half, or, with ``.H1``, of its upper half.  Where the word becomes a constant late
ptxas drops the ``.H1`` and puts in something else for the constant: a neighbour in its table of constants, zero, or memory that is not its own.
Constants that it knows early are right.

PTX has such reads in conversions of packed 8-bit floats, and in ``mma.sync`` of 8-bit floats where that is emulated by the tensor
cores' f16 (compute capability 9.0 to 11).  What may be a constant is passed through an instruction that ptxas does not see through
(``prmt``), or that it folds right (``mul.wide``): one for a word or a half, none for what is loaded from memory.
"""

from __future__ import annotations

import re

from tri_backend_nvidia.ptxas.rewritings import Rewriting
from tri_core.lazy_dataclasses import dataclass

__all__ = ["SUMS_APART", "UPPER_HALVES", "UPPER_HALVES_OF_DOTS"]

_GUARD = r"(?P<guard>@!?[%$\w]+\s+)?(?<![\w.%$])"
_CONVERSION = (
    _GUARD
    + r"(?P<op>cvt\.[\w.:]*f16x2[\w.:]*\.(?:e4m3|e5m2|e2m3|e3m2|ue8m0)x2)\s+(?P<d>[%$\w]+)\s*,\s*(?P<s>[%$\w]+)(?P<rest>\s*(?:,[^;]*)?;)"
)
#: the groups of registers: the result, the operands, the rest
_DOT = (
    _GUARD
    + r"(?P<op>mma\.(?!(?:[\w:]+\.)*kind::)[\w.:]*\.e[45]m[23]\.e[45]m[23][\w.:]*\s+\{[^{}]*\}\s*,\s*)(?P<s>\{[^{}]*\}\s*,\s*\{[^{}]*\})(?P<rest>[^;]*;)"
)
_REGISTER = re.compile(r"[%$A-Za-z_][\w$]*")
_STATEMENT = re.compile(
    r"(?<![\w.%$])(?P<op>[a-z][\w.:]*)\s+(?P<d>\{[^{}]*\}|[%$\w]+)(?:\|[%$\w]+)?\s*,(?P<sources>[^;]*);"
)
#: what ptxas cannot know: memory that others write
_LOADED = re.compile(r"ldmatrix\.|ld\.(?:[\w:]+\.)*(?:global|shared)\b")
#: instructions whose result is one of the operands, or bytes of them, and how many of these there are
_MOVES = (
    ("mov.b32", 1),
    ("mov.u32", 1),
    ("mov.s32", 1),
    ("mov.b16", 1),
    ("mov.u16", 1),
    ("shfl.", 1),
    ("selp.b", 2),
    ("prmt.b32", 2),
)


@dataclass(frozen=True)
class _Definitions:
    """Instructions that write each register of a module: scopes are ignored, so that the set may be too
    large, never too small.
    """

    #: instruction and operands, by register
    of: dict[str, list[tuple[str, str]]]

    @classmethod
    def read(cls, text: str) -> _Definitions:
        """Those of ``text``."""
        found: dict[str, list[tuple[str, str]]] = {}
        for statement in _STATEMENT.finditer(text):
            for name in _REGISTER.findall(statement["d"]):
                kind = "unpack" if statement["op"].startswith("mov.") and statement["d"][0] == "{" else ""
                found.setdefault(name, []).append((kind or statement["op"], statement["sources"]))
        return cls(found)

    def are_loaded(self, name: str) -> bool:
        """True where all of what may be in ``name`` comes from memory."""
        return self._all(name, set(), otherwise=False)

    def are_computed(self, name: str) -> bool:
        """True where nothing of what may be in ``name`` (16 bits) is half of a word that may be a constant."""
        return self._all(name, set(), otherwise=True)

    def _all(self, name: str, seen: set[str], *, otherwise: bool) -> bool:
        if name in seen:  # what a loop carries is what came in
            return True
        seen.add(name)
        definitions = self.of.get(name, ())
        return bool(definitions) and all(
            self._one(op, sources, seen, otherwise=otherwise) for op, sources in definitions
        )

    def _one(self, op: str, sources: str, seen: set[str], *, otherwise: bool) -> bool:
        if _LOADED.match(op):
            return True
        if op == "unpack":
            return self.are_loaded(sources.strip())
        count = next((count for move, count in _MOVES if op.startswith(move)), 0)
        if not count or "{" in sources:
            return otherwise
        moved = [each.strip() for each in sources.split(",")[:count]]
        return all(_REGISTER.fullmatch(each) and self._all(each, seen, otherwise=otherwise) for each in moved)


@dataclass(frozen=True)
class _Conversions(Rewriting):
    """``mul.wide`` by one, of which ptxas makes the right constant, before conversions of halves."""

    def apply(self, text: str) -> str:
        """``text`` rewritten."""
        known = _Definitions.read(text)

        def hidden(found: re.Match[str]) -> str:
            if known.are_computed(found["s"]):
                return found[0]
            wide = f"mul.wide.u16 %wide, {found['s']}, 1; cvt.u16.u32 %half, %wide;"
            convert = f"{found['guard'] or ''}{found['op']} {found['d']}, %half{found['rest']}"
            return f"{{ .reg .b32 %wide; .reg .b16 %half; {wide} {convert} }}"

        return re.sub(self.pattern, hidden, text)


@dataclass(frozen=True)
class _Dots(Rewriting):
    """``prmt`` that changes nothing, which ptxas does not evaluate, before operands of ``mma.sync``."""

    def apply(self, text: str) -> str:
        """``text`` rewritten."""
        known = _Definitions.read(text)

        def hidden(found: re.Match[str]) -> str:
            words = dict.fromkeys(_REGISTER.findall(found["s"]))
            names = {w: f"%word{i}" for i, w in enumerate(w for w in words if not known.are_loaded(w))}
            if not names:
                return found[0]
            same = " ".join(f"prmt.b32 {name}, {word}, {word}, 0x7610;" for word, name in names.items())
            operands = _REGISTER.sub(lambda each: names.get(each[0], each[0]), found["s"])
            dot = f"{found['guard'] or ''}{found['op']}{operands}{found['rest']}"
            return f"{{ .reg .b32 %word<{len(names)}>; {same} {dot} }}"

        return re.sub(self.pattern, hidden, text)


@dataclass(frozen=True)
class _Sums(Rewriting):
    """Results of ``mma.sync`` in registers of their own: where they are the accumulator's, some ptxas adds the result to itself."""

    def apply(self, text: str) -> str:
        """``text`` rewritten."""

        def apart(found: re.Match[str]) -> str:
            op, results = found["op"].split("{", 1)
            names = _REGISTER.findall(results)
            own = ", ".join(f"%sum{i}" for i in range(len(names)))
            guard = found["guard"] or ""
            moved = " ".join(f"{guard}mov.b32 {name}, %sum{i};" for i, name in enumerate(names))
            dot = f"{guard}{op}{{{own}{results[results.index('}') :]}{found['s']}{found['rest']}"
            return f"{{ .reg .b32 %sum<{len(names)}>; {dot} {moved} }}"

        return re.sub(self.pattern, apart, text)


#: what such conversions have, and such dots
_PACKED = tuple(f".{kind}x2" for kind in ("e4m3", "e5m2", "e2m3", "e3m2", "ue8m0"))
_BYTES = tuple(f".e{exponent}m{mantissa}." for exponent in "45" for mantissa in "23")
#: goes before the other, which leaves the result alone
SUMS_APART = _Sums("sums-apart", _DOT, "", signs=_BYTES)
UPPER_HALVES = _Conversions("upper-halves", _CONVERSION, "", signs=_PACKED)
UPPER_HALVES_OF_DOTS = _Dots("upper-halves-of-dots", _DOT, "", signs=_BYTES)
