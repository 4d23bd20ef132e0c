"""Meanings of integer instructions of SASS (sm_80 to sm_120), by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from tri_backend_nvidia.sass.evaluator import (
    M32,
    MEANINGS,
    Flags,
    Instruction,
    Thread,
    UnknownCode,
    Words,
    is_predicate,
    signed,
    unsigned,
)
from tri_backend_nvidia.sass.floats import accumulated, added, unpacked

__all__ = ["MEANINGS"]

Meaning = Callable[[Thread, Instruction, "Flags | None"], None]
_32 = np.uint64(32)
_FIRST = re.compile(r"(U?R)(\d+)")
#: forms of accesses that are more than a load or a store of consecutive bytes
_UNKNOWN_ACCESS = frozenset(("ENL2", "256", "U", "X4", "X8", "X16"))

MEANINGS.update({"F2FP": unpacked, "HMMA": accumulated, "FADD": added})


def _means(*names: str) -> Callable[[Meaning], Meaning]:
    def add(meaning: Meaning) -> Meaning:
        MEANINGS.update(dict.fromkeys(names, meaning))
        MEANINGS.update({f"U{name}": meaning for name in names if f"U{name}" not in MEANINGS})
        return meaning

    return add


@_means("NOP", "DEPBAR")
def _nothing(thread: Thread, code: Instruction, where: Flags | None) -> None:
    del thread, code, where


@_means("S2R", "S2UR")
def _special(thread: Thread, code: Instruction, where: Flags | None) -> None:
    thread.write(code.operands[0], thread.special(code.operands[1]), where)


@_means("CS2R")
def _special_pair(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if code.operands[1] != "SRZ":
        raise UnknownCode(code.text)
    (thread.write if "32" in code.flags else thread.write_pair)(code.operands[0], thread.words(0), where)


# --- memory ---------------------------------------------------------------------------------------------------


def _width(code: Instruction) -> int:
    """Bytes of an access."""
    for flag, nbytes in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8)):
        if flag in code.flags:
            return nbytes
    return 16 if "128" in code.flags else 4


@_means("LDC", "LDCU")
def _load_constant(thread: Thread, code: Instruction, where: Flags | None) -> None:
    wide = "64" in code.flags
    words = thread.read(code.operands[1], wide=wide)
    (thread.write_pair if wide else thread.write)(code.operands[0], words, where)


@_means("LDG", "LDS")
def _load(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if len(code.operands) != 2 or code.flags & _UNKNOWN_ACCESS:
        raise UnknownCode(code.text)
    nbytes = _width(code)
    found = thread.load(code.operands[1], nbytes, where, shared=code.name == "LDS")
    if code.flags & {"S8", "S16"}:
        found = [unsigned(signed(found[0], 8 * nbytes))]
    _write_row(thread, code.operands[0], found, where)


@_means("STG", "STS")
def _store(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if len(code.operands) != 2 or code.flags & _UNKNOWN_ACCESS:
        raise UnknownCode(code.text)
    nbytes = _width(code)
    words = _row(thread, code.operands[1], max(nbytes // 4, 1))
    thread.store(code.operands[0], words, nbytes, where, shared=code.name == "STS")


def _row(thread: Thread, first: str, count: int) -> list[Words]:
    """``count`` registers from ``first`` on."""
    if count == 1 or first in ("RZ", "URZ"):
        return [thread.read(first)] * count
    found = _FIRST.fullmatch(first)
    if found is None:
        raise UnknownCode(f"registers {first}")
    return [thread.read(f"{found[1]}{int(found[2]) + i}") for i in range(count)]


def _write_row(thread: Thread, first: str, words: Sequence[Words], where: Flags | None) -> None:
    if first in ("RZ", "URZ"):
        return
    found = _FIRST.fullmatch(first)
    if found is None:
        raise UnknownCode(f"registers {first}")
    for i, each in enumerate(words):
        thread.write(f"{found[1]}{int(found[2]) + i}", each, where)


# --- moves ----------------------------------------------------------------------------------------------------


@_means("MOV", "R2UR")
def _move(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if "64" in code.flags:
        thread.write_pair(code.operands[0], thread.read(code.operands[1], wide=True), where)
        return
    thread.write(code.operands[0], thread.read(code.operands[-1]), where)


@_means("HFMA2")
def _move_halves(thread: Thread, code: Instruction, where: Flags | None) -> None:
    """A constant, made of two floats of 16 bits by a multiplication with zero."""
    result, left, right, high, low = code.operands
    if (left, right) != ("-RZ", "RZ"):
        raise UnknownCode(code.text)
    bits = [int(np.float16(float(each)).view(np.uint16)) for each in (high, low)]
    thread.write(result, thread.words(bits[0] << 16 | bits[1]), where)


@_means("SEL")
def _select(thread: Thread, code: Instruction, where: Flags | None) -> None:
    result, yes, no, condition = code.operands
    thread.write(result, np.where(thread.flag(condition), thread.read(yes), thread.read(no)), where)


@_means("PRMT")
def _permute(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if code.flags:
        raise UnknownCode(code.text)
    result, low, choice, high = code.operands
    source = thread.read(low) | thread.read(high) << _32
    chosen, words = thread.read(choice), thread.words(0)
    for i in range(4):
        number = chosen >> np.uint64(4 * i)
        byte = source >> (number & np.uint64(7)) * np.uint64(8) & np.uint64(0xFF)
        sign = np.where(byte >> np.uint64(7) != 0, np.uint64(0xFF), np.uint64(0))
        words |= np.where(number & np.uint64(8) != 0, sign, byte) << np.uint64(8 * i)
    thread.write(result, words, where)


# --- sums and products ----------------------------------------------------------------------------------------


def _addend(thread: Thread, text: str) -> Words:
    """An operand of a sum with a carry: the complement of a negated one plus one, in 33 bits."""
    if text.startswith("-") and text[1:2] in ("R", "U", "c"):
        return (~thread.read(text[1:]) & M32) + np.uint64(1)
    return thread.read(text)


@_means("IADD3", "IADD")
def _add(thread: Thread, code: Instruction, where: Flags | None) -> None:
    out = code.predicates
    rest = [each for each in code.operands[1 + len(out) :] if not is_predicate(each)]
    total = sum((_addend(thread, each) for each in rest), thread.words(0))
    if "X" in code.flags:
        for each in code.operands[1 + len(out) + len(rest) :]:
            total = total + thread.flag(each).astype(np.uint64)
    elif len(code.operands) != 1 + len(out) + len(rest):
        raise UnknownCode(code.text)
    if "64" in code.flags:
        raise UnknownCode(code.text)
    thread.write(code.operands[0], total, where)
    for i, name in enumerate(out):
        thread.write_flag(name, total >> _32 > np.uint64(i), where)


@_means("VIADD")
def _add_two(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if code.flags - {"16x2"}:
        raise UnknownCode(code.text)
    if code.flags:
        left, right = (_packed(thread, each) for each in code.operands[1:3])
        thread.write(code.operands[0], _packed_sum(left, right), where)
        return
    left, right = (thread.read(each) for each in code.operands[1:3])
    thread.write(code.operands[0], left + right, where)


def _packed(thread: Thread, text: str) -> Words:
    """An operand of two halves, each of which is negated for itself."""
    if text.startswith("-") and text[1:2] == "R":
        return _packed_sum(~thread.read(text[1:]) & M32, thread.words(0x00010001))
    if text.startswith(("~", "|", "-U")):
        raise UnknownCode(f"packed operand {text}")
    return thread.read(text)


def _packed_sum(left: Words, right: Words) -> Words:
    """Two sums of 16 bits."""
    high = left + (right & np.uint64(0xFFFF0000))
    return high & np.uint64(0xFFFF0000) | left + right & np.uint64(0xFFFF)


@_means("IMAD")
def _multiply(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if code.predicates or len(code.operands) != 4 + ("X" in code.flags):
        raise UnknownCode(code.text)
    result, left, right, more, *carry = code.operands
    a, b = thread.read(left), thread.read(right)
    if not code.flags & {"WIDE", "HI"}:
        below = sum((thread.flag(each).astype(np.uint64) for each in carry), thread.words(0))
        thread.write(result, a * b + thread.read(more) + below, where)
        return
    if carry:
        raise UnknownCode(code.text)
    if "U32" not in code.flags:
        a, b = (signed(each).view(np.uint64) for each in (a, b))
    if "WIDE" in code.flags:
        thread.write_pair(result, a * b + thread.read(more, wide=True), where)
    elif more == "RZ":
        thread.write(result, a * b >> _32, where)
    else:
        raise UnknownCode(code.text)


@_means("IABS")
def _absolute(thread: Thread, code: Instruction, where: Flags | None) -> None:
    thread.write(code.operands[0], unsigned(np.abs(signed(thread.read(code.operands[1])))), where)


@_means("LEA")
def _shift_and_add(thread: Thread, code: Instruction, where: Flags | None) -> None:
    out = code.predicates
    result, first, second, *rest = code.operands[:1] + code.operands[1 + len(out) :]
    carry = [rest.pop()] if "X" in code.flags else []
    if len(out) > 1 or (first.startswith("-") and (out or carry)):
        raise UnknownCode(code.text)
    shift = np.uint64(int(rest[-1], 16))
    words = thread.read(first)
    if "SX32" in code.flags:
        words = (signed(words) >> np.int64(32 - int(shift))).view(np.uint64)
    elif "HI" in code.flags:
        words = (words | thread.read(rest[0]) << _32) >> _32 - shift
    else:
        words = words << shift
    total = (words & M32) + _addend(thread, second)
    for each in carry:
        total = total + thread.flag(each).astype(np.uint64)
    thread.write(result, total, where)
    for each in out:
        thread.write_flag(each, total >> _32 != 0, where)


# --- comparisons ----------------------------------------------------------------------------------------------


def _numbers(
    code: Instruction, words: Sequence[Words], bits: int = 32
) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Operands as numbers: unsigned where the instruction says so."""
    if code.flags & {"U32", "U16x2", "U16"}:
        return [each.view(np.int64) for each in words]
    return [signed(each, bits) for each in words]


@_means("ISETP")
def _compare(thread: Thread, code: Instruction, where: Flags | None) -> None:
    first, second, left, right, combined, *low = code.operands
    a, b = _numbers(code, (thread.read(left), thread.read(right)))
    equal = a == b
    results = {"LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b, "EQ": equal, "NE": ~equal}
    (name,) = code.flags & results.keys()
    result = results[name]
    if "EX" in code.flags:
        lower = thread.flag(low[0])
        strict = {"LE": a < b, "GE": a > b}.get(name, result)
        result = {"EQ": equal & lower, "NE": ~equal | lower}.get(name, strict | (equal & lower))
    with_ = thread.flag(combined)
    for target, each in ((first, result), (second, ~result)):
        if "AND" in code.flags:
            each = each & with_
        elif "OR" in code.flags:
            each = each | with_
        else:
            each = each ^ with_
        thread.write_flag(target, each, where)


def _extremes(code: Instruction, values: Sequence[Words], least: Flags) -> Words:
    """The least of ``values`` where ``least``, the greatest elsewhere; of two halves each for itself."""
    if not any(flag.endswith("16x2") for flag in code.flags):
        numbers = np.stack(_numbers(code, values))
        found = np.where(least, numbers.min(0), numbers.max(0))
        return unsigned(np.maximum(found, 0) if "RELU" in code.flags else found)
    words = np.zeros_like(values[0])
    for shift in (np.uint64(0), np.uint64(16)):
        halves = [each >> shift & np.uint64(0xFFFF) for each in values]
        numbers = np.stack(_numbers(code, halves, 16))
        found = np.where(least, numbers.min(0), numbers.max(0))
        found = np.maximum(found, 0) if "RELU" in code.flags else found
        words |= (found.view(np.uint64) & np.uint64(0xFFFF)) << shift
    return words


@_means("VIMNMX", "IMNMX", "VIMNMX3", "VIADDMNMX")
def _extreme(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if code.flags & {"U16", "S16", "U64", "S64"}:
        raise UnknownCode(code.text)
    sources = [each for each in code.operands[1:-1] if not is_predicate(each)]
    is_packed = any(flag.endswith("16x2") for flag in code.flags)
    values = [_packed(thread, each) if is_packed else thread.read(each) for each in sources]
    if len(values) != (2 if code.name.endswith("IMNMX") else 3):
        raise UnknownCode(code.text)
    if code.name.endswith("VIADDMNMX"):
        if is_packed:
            values = [_packed_sum(values[0], values[1]), values[2]]
        else:
            values = [values[0] + values[1] & M32, values[2]]
    thread.write(code.operands[0], _extremes(code, values, thread.flag(code.operands[-1])), where)


# --- bits -----------------------------------------------------------------------------------------------------


def _of_table(table: int, values: Sequence[Words], full: np.uint64) -> Words:
    """The function of three bits that ``table`` lists, bit by bit."""
    words = np.zeros_like(values[0])
    for row in range(8):
        if table >> row & 1:
            chosen = [v if row >> (2 - i) & 1 else ~v & full for i, v in enumerate(values)]
            words |= chosen[0] & chosen[1] & chosen[2]
    return words


@_means("LOP3")
def _logic(thread: Thread, code: Instruction, where: Flags | None) -> None:
    operands = list(code.operands)
    flag = operands.pop(0) if is_predicate(operands[0]) else None
    if len(operands) > 5 and operands[5] not in ("!PT", "!UPT"):
        raise UnknownCode(code.text)
    words = _of_table(int(operands[4], 16), [thread.read(each) for each in operands[1:4]], M32)
    thread.write(operands[0], words, where)
    if flag is not None:
        thread.write_flag(flag, words != 0, where)


@_means("PLOP3")
def _logic_of_flags(thread: Thread, code: Instruction, where: Flags | None) -> None:
    first, second, *sources, table, other = code.operands
    values = [thread.flag(each).astype(np.uint64) for each in sources]
    for target, each in ((first, table), (second, other)):
        thread.write_flag(target, _of_table(int(each, 16), values, np.uint64(1)) != 0, where)


def _clamped(words: Words, count: Words) -> Words:
    """``words`` shifted right by ``count``, which may be 64."""
    found: Words = np.where(count > np.uint64(63), np.uint64(0), words >> np.minimum(count, np.uint64(63)))
    return found


@_means("SHF")
def _shift(thread: Thread, code: Instruction, where: Flags | None) -> None:
    result, low, count, high = code.operands
    lo, hi, n = thread.read(low), thread.read(high), thread.read(count)
    wide = bool(code.flags & {"U64", "S64"})
    most = np.uint64(63 if wide else 31)
    n = n & most if "W" in code.flags else np.where(n > most, most + np.uint64(1), n)
    pair = lo | hi << _32
    is_signed = bool(code.flags & {"S32", "S64"})
    words: Words
    if "L" in code.flags:
        words = lo << n
        if "HI" in code.flags:
            words = pair << n
            words = words >> _32
        if (n > np.uint64(63)).any():
            raise UnknownCode(code.text)
    elif "HI" in code.flags and not wide:
        words = (signed(hi) >> n.astype(np.int64)).view(np.uint64) if is_signed else _clamped(hi, n)
    else:
        right = (pair.view(np.int64) >> np.minimum(n, np.uint64(63)).astype(np.int64)).view(np.uint64)
        words = right if is_signed else _clamped(pair, n)
        words = words >> _32 if "HI" in code.flags else words
    thread.write(result, words, where)


@_means("SGXT")
def _extend(thread: Thread, code: Instruction, where: Flags | None) -> None:
    result, source, bits = code.operands
    if not bits.startswith("0x") or code.flags - {"U32"}:
        raise UnknownCode(code.text)
    n, words = int(bits, 16), thread.read(source)
    words = words & np.uint64((1 << n) - 1) if "U32" in code.flags else unsigned(signed(words, n))
    thread.write(result, words, where)


@_means("POPC")
def _count_bits(thread: Thread, code: Instruction, where: Flags | None) -> None:
    words = thread.read(code.operands[1])
    ones = sum((words >> np.uint64(i) & np.uint64(1) for i in range(32)), thread.words(0))
    thread.write(code.operands[0], ones, where)


@_means("I2F", "I2FP")
def _to_float(thread: Thread, code: Instruction, where: Flags | None) -> None:
    if code.flags & {"F64", "F16", "RZ", "RM", "RP"}:
        raise UnknownCode(code.text)
    words = thread.read(code.operands[1])
    bits = next((int(flag[1:]) for flag in sorted(code.flags) if flag in ("S8", "U8", "S16", "U16")), 32)
    if any(flag.startswith("U") for flag in code.flags):
        numbers = (words & np.uint64((1 << bits) - 1)).view(np.int64)
    else:
        numbers = signed(words, bits)
    floats: Words = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    thread.write(code.operands[0], floats, where)
