"""Integer instructions against Python's integers."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from ptx_text import evaluate

_EDGES = {
    16: [0, 1, 0x7FFF, 0x8000, 0xFFFF, 0xFF80, 5],
    32: [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 31, 0xFF00FF80],
}
_EDGES[64] = [0, 1, 2**63 - 1, 2**63, 2**64 - 1, 63, 0xFFFFFFFF, 0x80000000]


def s(value: int, bits: int) -> int:
    """The lowest bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def _cut(x: int, y: int) -> int:
    return -1 if y == 0 else int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


def _field(x: int, at: int, size: int, bits: int, signed: bool) -> int:
    at, size = at & 255, size & 255
    top = min(at + size - 1, bits - 1)
    sign = x >> top & 1 if signed and size else 0
    return sum((x >> at + i & 1 if at + i < bits else sign) << i for i in range(min(size, bits))) | sum(
        sign << i for i in range(min(size, bits), bits)
    )


def _inserted(x: int, into: int, at: int, size: int, bits: int) -> int:
    for i in range(size & 255):
        if (at & 255) + i < bits:
            into = into & ~(1 << (at & 255) + i) | (x >> i & 1) << (at & 255) + i
    return into


def _permuted(a: int, b: int, c: int) -> int:
    given = [(a | b << 32) >> 8 * i & 255 for i in range(8)]
    found = 0
    for i in range(4):
        digit = c >> 4 * i & 15
        byte = given[digit & 7]
        found |= (255 * (byte >> 7) if digit & 8 else byte) << 8 * i
    return found


def _funnel(low: int, high: int, n: int, way: str, mode: str) -> int:
    n = n & 31 if mode == "wrap" else min(n, 32)
    both = low | high << 32
    return both >> n if way == "r" else both << n >> 32


#: name -> width of operands, how many, width of the result, meaning
_CASES: dict[str, tuple[int, int, int, Callable[..., int]]] = {
    "add.s16": (16, 2, 16, lambda a, b: a + b),
    "add.s32": (32, 2, 32, lambda a, b: a + b),
    "add.s64": (64, 2, 64, lambda a, b: a + b),
    "add.sat.s32": (32, 2, 32, lambda a, b: max(-(2**31), min(2**31 - 1, s(a, 32) + s(b, 32)))),
    "sub.sat.s32": (32, 2, 32, lambda a, b: max(-(2**31), min(2**31 - 1, s(a, 32) - s(b, 32)))),
    "sub.s32": (32, 2, 32, lambda a, b: a - b),
    "add.u16x2": (32, 2, 32, lambda a, b: (a + b & 0xFFFF) | (a >> 16) + (b >> 16) << 16),
    "max.s16x2": (32, 2, 32, lambda a, b: (max(s(a, 16), s(b, 16)) & 0xFFFF) | max(s(a >> 16, 16), s(b >> 16, 16)) << 16),
    "mul.lo.s32": (32, 2, 32, lambda a, b: a * b),
    "mul.hi.s32": (32, 2, 32, lambda a, b: s(a, 32) * s(b, 32) >> 32),
    "mul.hi.u32": (32, 2, 32, lambda a, b: a * b >> 32),
    "mul.hi.s16": (16, 2, 16, lambda a, b: s(a, 16) * s(b, 16) >> 16),
    "mul.hi.s64": (64, 2, 64, lambda a, b: s(a, 64) * s(b, 64) >> 64),
    "mul.hi.u64": (64, 2, 64, lambda a, b: a * b >> 64),
    "mul.lo.s64": (64, 2, 64, lambda a, b: a * b),
    "mul.wide.s32": (32, 2, 64, lambda a, b: s(a, 32) * s(b, 32)),
    "mul.wide.u16": (16, 2, 32, lambda a, b: a * b),
    "mad.lo.s32": (32, 3, 32, lambda a, b, c: a * b + c),
    "mad.hi.u32": (32, 3, 32, lambda a, b, c: (a * b >> 32) + c),
    "div.s32": (32, 2, 32, lambda a, b: _cut(s(a, 32), s(b, 32))),
    "div.u32": (32, 2, 32, lambda a, b: a // b if b else -1),
    "rem.s32": (32, 2, 32, lambda a, b: s(a, 32) - _cut(s(a, 32), s(b, 32)) * s(b, 32) if b else a),
    "rem.u64": (64, 2, 64, lambda a, b: a % b if b else a),
    "min.s32": (32, 2, 32, lambda a, b: min(s(a, 32), s(b, 32))),
    "max.u64": (64, 2, 64, max),
    "neg.s16": (16, 1, 16, lambda a: -a),
    "abs.s32": (32, 1, 32, lambda a: abs(s(a, 32))),
    "and.b32": (32, 2, 32, lambda a, b: a & b),
    "xor.b64": (64, 2, 64, lambda a, b: a ^ b),
    "not.b16": (16, 1, 16, lambda a: ~a),
    "cnot.b32": (32, 1, 32, lambda a: int(a == 0)),
    "popc.b32": (32, 1, 32, lambda a: a.bit_count()),
    "popc.b64": (64, 1, 32, lambda a: a.bit_count()),
    "clz.b32": (32, 1, 32, lambda a: 32 - a.bit_length()),
    "clz.b64": (64, 1, 32, lambda a: 64 - a.bit_length()),
    "brev.b32": (32, 1, 32, lambda a: int(f"{a:032b}"[::-1], 2)),
    "bfind.u32": (32, 1, 32, lambda a: a.bit_length() - 1),
    "bfind.s32": (32, 1, 32, lambda a: (a if s(a, 32) >= 0 else ~a & 0xFFFFFFFF).bit_length() - 1),
    "bfe.u32": (32, 3, 32, lambda a, b, c: _field(a, b, c, 32, False)),
    "bfe.s32": (32, 3, 32, lambda a, b, c: _field(a, b, c, 32, True)),
    "bfi.b32": (32, 4, 32, lambda a, b, c, d: _inserted(a, b, c, d, 32)),
    "prmt.b32": (32, 3, 32, _permuted),
    "shf.l.wrap.b32": (32, 3, 32, lambda a, b, c: _funnel(a, b, c, "l", "wrap")),
    "shf.r.wrap.b32": (32, 3, 32, lambda a, b, c: _funnel(a, b, c, "r", "wrap")),
    "shf.l.clamp.b32": (32, 3, 32, lambda a, b, c: _funnel(a, b, c, "l", "clamp")),
    "shf.r.clamp.b32": (32, 3, 32, lambda a, b, c: _funnel(a, b, c, "r", "clamp")),
    "shl.b32": (32, 2, 32, lambda a, b: a << min(b, 32)),
    "shr.u32": (32, 2, 32, lambda a, b: a >> min(b, 32)),
    "shr.s32": (32, 2, 32, lambda a, b: s(a, 32) >> min(b, 32)),
    "sad.s32": (32, 3, 32, lambda a, b, c: c + abs(s(a, 32) - s(b, 32))),
}  # fmt: skip


def _inputs(bits: int, count: int) -> list[list[int]]:
    chosen = random.Random(f"{bits} {count}")
    edges = _EDGES[bits]
    rows = [[chosen.choice(edges) for _ in range(count)] for _ in range(60)]
    rows += [[chosen.getrandbits(bits) for _ in range(count)] for _ in range(20)]
    return rows + [
        [chosen.getrandbits(bits), *(chosen.randrange(40) for _ in range(count - 1))] for _ in range(40)
    ]


@pytest.mark.parametrize("name", _CASES)
def test_an_integer_instruction_means_what_the_manual_says(name: str) -> None:
    bits, count, wide, meaning = _CASES[name]
    rows = _inputs(bits, count)
    arrays = [np.array([row[i] for row in rows], f"u{bits // 8}") for i in range(count)]
    result = {16: "%h15", 32: "%r15", 64: "%q15"}[wide]
    operands = ", ".join(f"{{{i}}}" for i in range(count))
    found = evaluate(f"{name} {result}, {operands};", arrays, result, wide)
    expected = [meaning(*row) & (1 << wide) - 1 for row in rows]
    assert found.tolist() == expected


def test_logic_of_three_operands() -> None:
    a, b, c = (np.array([v] * 32, np.uint32) for v in (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA))
    found = evaluate("lop3.b32 %r15, {0}, {1}, {2}, 0x96;", [a, b, c], "%r15", 32)
    assert (found == (a ^ b ^ c)).all()


@pytest.mark.parametrize(("how", "meaning"), [("lt.s32", lambda a, b: s(a, 32) < s(b, 32)), ("hi.u32", lambda a, b: a > b),
                                              ("ne.b32", lambda a, b: a != b)])  # fmt: skip
def test_a_comparison_makes_a_predicate(how: str, meaning: Callable[[int, int], bool]) -> None:
    rows = _inputs(32, 2)
    arrays = [np.array([row[i] for row in rows], np.uint32) for i in range(2)]
    code = f"setp.{how} %p1|%p2, {{0}}, {{1}}; selp.b32 %r15, 1, 0, %p1; @%p2 add.s32 %r15, %r15, 2;"
    found = evaluate(code, arrays, "%r15", 32)
    assert found.tolist() == [1 if meaning(*row) else 2 for row in rows]


def test_a_comparison_is_combined_with_a_predicate() -> None:
    a = np.arange(32, dtype=np.uint32)
    code = "setp.lt.u32 %p1, {0}, 20; setp.gt.and.u32 %p2, {0}, 10, %p1; selp.b32 %r15, 1, 0, %p2;"
    assert evaluate(code, [a], "%r15", 32).tolist() == [int(10 < i < 20) for i in range(32)]


def test_sums_of_several_words_carry() -> None:
    rows = [(2**64 - 1, 1), (2**63, 2**63), (5, 7), (2**64 - 1, 2**64 - 1), (1, 2)]
    arrays = [np.array([row[i] for row in rows], np.uint64) for i in range(2)]
    code = "add.cc.u64 %q14, {0}, {1}; addc.u64 %q15, {0}, {1};"
    total = [(a + b + ((a + b) >> 64)) & 2**64 - 1 for a, b in rows]
    assert evaluate(code, arrays, "%q15", 64).tolist() == total
    code = "sub.cc.u64 %q14, {0}, {1}; subc.u64 %q15, {0}, {1};"
    assert evaluate(code, arrays, "%q15", 64).tolist() == [(a - b - (a < b)) & 2**64 - 1 for a, b in rows]
    low = [a.astype(np.uint32) for a in arrays]
    code = "mad.lo.cc.u32 %r14, {0}, {1}, 7; madc.hi.u32 %r15, {0}, {1}, 0;"
    expected = [((int(a) * int(b)) + 7) >> 32 & 0xFFFFFFFF for a, b in zip(*low, strict=True)]
    assert evaluate(code, low, "%r15", 32).tolist() == expected
