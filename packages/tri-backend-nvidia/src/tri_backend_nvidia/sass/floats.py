"""Meanings of conversions and sums of floats in SASS, as far as they are known; matrix instructions where all lanes have the same words.

Of code whose lanes all have the same words one thread's registers are those of each lane, and a matrix instruction can be evaluated: four lanes
share a row of A and a column of B.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.sass.evaluator import Flags, Instruction, Thread, UnknownCode, Words

__all__ = ["FORMATS", "SHARING", "accumulated", "added", "pair", "unpacked", "value"]

Floats = npt.NDArray[np.float64]

#: (bits of exponent, bits of mantissa), by the name in SASS and in PTX
FORMATS = {"E4M3": (4, 3), "E5M2": (5, 2), "E2M3": (2, 3), "E3M2": (3, 2)}
#: of lanes that share a row of A, and a column of B
SHARING = 4


def value(byte: int, exponent: int, mantissa: int) -> float:
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
        return int(np.float16(value(byte, *FORMATS[form])).view(np.uint16))


def pair(word: int, form: str) -> int:
    """The two lowest bytes of ``word``, each as its word of 16 bits."""
    return _half(word & 255, form) | _half(word >> 8 & 255, form) << 16


# --- meanings -------------------------------------------------------------------------------------------------


def unpacked(thread: Thread, code: Instruction, where: Flags | None) -> None:
    """``F2FP.F16.E4M3.UNPACK_B``: the two lowest bytes, or those of the upper half."""
    form = next((flag for flag in code.flags if flag in FORMATS or flag == "E8"), None)
    if form is None or "UNPACK_B" not in code.flags or len(code.operands) != 2:
        raise UnknownCode(code.text)
    words = _word(thread, code.operands[1])
    thread.write(code.operands[0], np.array([pair(int(w), form) for w in words], np.uint64), where)


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
        thread.write(f"R{int(result[1:]) + i}", _words(_single(c[i]) + SHARING * rows[i // 2]), None)


def added(thread: Thread, code: Instruction, where: Flags | None) -> None:
    """``FADD`` of registers."""
    if code.flags or any(each[0] not in "-R" for each in code.operands[1:]):
        raise UnknownCode(code.text)
    x, y = (
        (-1.0 if each[0] == "-" else 1.0) * _single(thread.read(each.lstrip("-")))
        for each in code.operands[1:]
    )
    thread.write(code.operands[0], _words(x + y), where)
