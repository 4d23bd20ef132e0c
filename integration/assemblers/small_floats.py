"""Small floats: their values, PTX programs that convert and multiply them, and what the instructions for it mean.

All lanes of a warp run the same code on the same words, so one thread's registers are those of each lane, and a matrix instruction can be
evaluated: four lanes share a row of A and a column of B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from integration.assemblers.evaluator import Flags, Instruction, Thread, UnknownCode, Words
from integration.assemblers.programs import Program

__all__ = ["accumulated", "added", "small_floats", "unpacked"]

Floats = npt.NDArray[np.float64]

#: (bits of exponent, bits of mantissa), by the name in SASS and in PTX
_FORMATS = {"E4M3": (4, 3), "E5M2": (5, 2), "E2M3": (2, 3), "E3M2": (3, 2)}
#: of lanes that share a row of A, and a column of B
_SHARING = 4


def _value(byte: int, exponent: int, mantissa: int) -> float:
    """One finite number of such a format."""
    bias, width = (1 << exponent - 1) - 1, exponent + mantissa
    sign = -1.0 if byte >> width & 1 else 1.0
    above, below = byte >> mantissa & (1 << exponent) - 1, byte & (1 << mantissa) - 1
    if above == 0:
        return sign * below * 2.0 ** (1 - bias - mantissa)
    return sign * (1 + below / (1 << mantissa)) * 2.0 ** (above - bias)


def _half(byte: int, form: str) -> int:
    """``byte`` as the word of 16 bits that it is converted to: f16, or bf16 of a power of two."""
    if form in ("E8", "UE8M0"):
        return byte << 7
    with np.errstate(over="ignore"):
        return int(np.float16(_value(byte, *_FORMATS[form])).view(np.uint16))


def _pair(word: int, form: str) -> int:
    return _half(word & 255, form) | _half(word >> 8 & 255, form) << 16


# --- meanings -------------------------------------------------------------------------------------------------


def unpacked(thread: Thread, code: Instruction, where: Flags | None) -> None:
    """``F2FP.F16.E4M3.UNPACK_B``: the two lowest bytes, or those of the upper half."""
    form = next((flag for flag in code.flags if flag in _FORMATS or flag == "E8"), None)
    if form is None or "UNPACK_B" not in code.flags or len(code.operands) != 2:
        raise UnknownCode(code.text)
    words = _word(thread, code.operands[1])
    thread.write(code.operands[0], np.array([_pair(int(w), form) for w in words], np.uint64), where)


def _word(thread: Thread, text: str) -> Words:
    """A register, or a constant, which nvdisasm prints as f32."""
    try:
        value = float(text)
    except ValueError:
        return thread.read(text)
    return thread.words(int(np.float32(value).view(np.uint32)))


def _single(words: Words) -> Floats:
    return words.astype(np.uint32).view(np.float32).astype(np.float64)


def _words(values: Floats) -> Words:
    return values.astype(np.float32).view(np.uint32).astype(np.uint64)


def _halves(words: Words) -> tuple[Floats, Floats]:
    low, high = (words >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (0, 16))
    return tuple(h.astype(np.uint16).view(np.float16).astype(np.float64) for h in (low, high))  # type: ignore[return-value]


def _registers(thread: Thread, first: str, count: int) -> list[Words]:
    if first == "RZ":
        return [thread.words(0)] * count
    return [thread.read(f"R{int(first[1:]) + i}") for i in range(count)]


def accumulated(thread: Thread, code: Instruction, where: Flags | None) -> None:
    """``HMMA.16816.F32``, where all lanes have the same words."""
    if code.flags != {"16816", "F32"} or where is not None:
        raise UnknownCode(code.text)
    result, left, right, total = code.operands
    a, b, c = (_registers(thread, first, count) for first, count in ((left, 4), (right, 2), (total, 4)))
    rows = [
        sum(x * y for i, w in ((r, 0), (r + 2, 1)) for x, y in zip(_halves(a[i]), _halves(b[w]), strict=True))
        for r in (0, 1)
    ]
    for i in range(4):
        thread.write(f"R{int(result[1:]) + i}", _words(_single(c[i]) + _SHARING * rows[i // 2]), None)


def added(thread: Thread, code: Instruction, where: Flags | None) -> None:
    """``FADD`` of registers."""
    if code.flags or any(each[0] not in "-R" for each in code.operands[1:]):
        raise UnknownCode(code.text)
    x, y = (
        (-1.0 if each[0] == "-" else 1.0) * _single(thread.read(each.lstrip("-")))
        for each in code.operands[1:]
    )
    thread.write(code.operands[0], _words(x + y), where)


# --- programs -------------------------------------------------------------------------------------------------

#: no two bytes equal, and finite numbers of near exponents in each format, so that sums are exact
_CONSTANT = 0x3B3A3938
_HALF = _CONSTANT // 2
#: to {d}, with %r40, %r41 to spare: of a constant that ptxas knows at once, or only after a step that it folds late
_PRODUCERS = {
    "literal": f"mov.b32 {{d}}, {_CONSTANT};",
    "shuffled": f"mov.b32 %r40, {_CONSTANT};\nshfl.sync.bfly.b32 {{d}}, %r40, 1, 31, -1;",
    "shuffled and selected": f"mov.b32 %r40, {_CONSTANT};\nshfl.sync.bfly.b32 %r41, %r40, 1, 31, -1;\nsetp.eq.s32 %p1, %r1, 0;\nselp.b32 {{d}}, %r40, %r41, %p1;",
    "counted": f"mov.b32 {{d}}, 0;\nmov.b32 %r40, 0;\nL:\nadd.s32 {{d}}, {{d}}, {_HALF};\nadd.s32 %r40, %r40, 1;\nsetp.lt.s32 %p1, %r40, 2;\n@%p1 bra L;",
    "stored": f"mov.b32 %r40, {_CONSTANT};\nshfl.sync.bfly.b32 %r41, %r40, 1, 31, -1;\nst.global.b32 [%d61], %r41;\nld.global.b32 {{d}}, [%d61];",
    "loaded": "and.b32 {d}, %r1, 0x83838383;\nor.b32 {d}, {d}, 0x38383838;",
}  # fmt: skip
_STORED = "\nst.global.b32 [%d61], %r30;"


def _made(name: str, a: int) -> int:
    return a & 0x83838383 | 0x38383838 if name == "loaded" else _CONSTANT


def _conversions(formats: dict[str, str]) -> Iterator[Program]:
    for (one, make), (form, to), half in product(_PRODUCERS.items(), formats.items(), (0, 1)):
        text = make.format(d="%r20") + "\nmov.b32 {%h20, %h21}, %r20;"
        text += f"\ncvt.rn.{to}x2.{form.lower()}x2 %r30, %h2{half};" + _STORED

        def meaning(a: int, b: int, c: int, one: str = one, form: str = form, half: int = half) -> int:
            del b, c
            return _pair(_made(one, a) >> 16 * half & 0xFFFF, form)

        yield Program(f"float {one} | {form} half {half}", 32, text, 32, meaning, version=(8, 1))


def _dots() -> Iterator[Program]:
    for (one, make), left, right, place in product(_PRODUCERS.items(), _DOTTED, _DOTTED, ("a", "b", "ab")):
        text = make.format(d="%r20") + "\nand.b32 %r21, %r2, 0x83838383;\nor.b32 %r21, %r21, 0x38383838;\n"
        text += "mov.f32 %f1, 0f00000000;\n" + "\n".join(f"mov.f32 %f{i}, %f1;" for i in (2, 3, 4))
        a, b = ("%r20" if each in place else "%r21" for each in "ab")
        text += f"\nmma.sync.aligned.m16n8k32.row.col.f32.{left.lower()}.{right.lower()}.f32 {{%f1, %f2, %f3, %f4}}, {{{a}, {a}, {a}, {a}}}, {{{b}, {b}}}, {{%f1, %f2, %f3, %f4}};"
        text += "\nmov.b32 %r30, %f1;" + _STORED
        yield Program(f"float {one} | dot {left} {right} | {place}", 32, text, 32, _dot(one, left, right, place), version=(8, 4))  # fmt: skip


_DOTTED = ("E4M3", "E5M2")


def _dot(one: str, left: str, right: str, place: str) -> Callable[[int, int, int], int]:
    def meaning(a: int, b: int, c: int) -> int:
        del c
        known, other = _made(one, a), b & 0x83838383 | 0x38383838
        x, y = (known if each in place else other for each in "ab")
        found = sum(
            _value(x >> 8 * i & 255, *_FORMATS[left]) * _value(y >> 8 * i & 255, *_FORMATS[right])
            for i in range(4)
        )
        return int(np.float32(2 * _SHARING * found).view(np.uint32))

    return meaning


def small_floats(capability: int) -> Iterator[Program]:
    """Producers by conversions and dots of packed 8-bit floats, for compute capability ``capability`` (times ten); dots where f16 emulates them."""
    formats = dict.fromkeys(_DOTTED, "f16") if capability >= 89 else {}
    if 100 <= capability < 120:
        formats |= dict.fromkeys(("E2M3", "E3M2"), "f16") | {"UE8M0": "bf16"}
    yield from _conversions(formats)
    if 90 <= capability < 120:
        yield from _dots()
