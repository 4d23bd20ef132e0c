"""Small PTX programs with their meanings: producers by consumers by positions, of 16, 32 and 64 bits.

A program reads three words ``a, b, c`` and stores one.  Meanings compute with Python's integers, of which the lowest bits count.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

__all__ = ["Program", "chains", "halves", "module", "packed", "quads", "words"]

Meaning = Callable[[int, int, int], int]
#: text with ``{d}`` for the result and ``{s}`` for the operand, and what it gives
Unary = tuple[str, Callable[[int], int]]
#: text with ``{x}``, ``{y}``, ``{z}``, whose result is ``{d}``, and what it gives of unsigned operands
Consumer = tuple[str, Meaning]


@dataclass(frozen=True)
class Program:
    """One kernel: ``body`` reads registers ``a, b, c`` of ``bits`` and stores; ``stored`` bits of the result are looked at.

    ``version``: of PTX that it needs.
    """

    name: str
    bits: int
    body: str
    stored: int
    meaning: Meaning
    version: tuple[int, int] = (8, 0)

    def inputs(self) -> list[tuple[int, int, int]]:
        """Edge values and random ones, the same each time."""
        chosen = random.Random(self.bits)
        edges = _edges(self.bits)
        found = [(chosen.choice(edges), chosen.choice(edges), chosen.choice(edges)) for _ in range(80)]
        found += [(edge, other, 3) for edge in (1 << self.bits - 1, edges[3]) for other in edges[:4]]
        return found + [tuple(chosen.getrandbits(self.bits) for _ in "abc") for _ in range(24)]  # type: ignore[misc]

    def expected(self) -> list[int]:
        """The result for each of :meth:`inputs`."""
        mask = (1 << self.stored) - 1
        return [self.meaning(*each) & mask for each in self.inputs()]


def _edges(bits: int) -> list[int]:
    top = 1 << bits - 1
    near = [
        0,
        1,
        top,
        top - 1,
        top + 1,
        2 * top - 1,
        5,
        127,
        128,
        255,
        top >> 1,
        0x1234,
        0xFF80 if bits == 16 else 2 * top - 16,
    ]
    return [*near, *([0x8000, 2 * top - 0x8000] if bits > 16 else [])]


def s(value: int, bits: int) -> int:
    """The lowest ``bits`` as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def _float(value: int) -> int:
    return int(np.float32(value).view(np.uint32))


#: registers of a program, by prefix and how many
_REGISTERS = {"h": ("b16", 64), "r": ("b32", 64), "d": ("b64", 64), "p": ("pred", 16), "f": ("f32", 8)}
_PREFIX = {16: "h", 32: "r", 64: "d"}


def module(programs: Sequence[Program], architecture: str, version: str) -> str:
    """The PTX of ``programs``, kernels ``k0``, ``k1``, ... of two pointers."""
    registers = "\n".join(f".reg .{type_} %{name}<{count}>;" for name, (type_, count) in _REGISTERS.items())
    parts = [f".version {version}\n.target {architecture}\n.address_size 64\n"]
    for number, program in enumerate(programs):
        name, nbytes = _PREFIX[program.bits], program.bits // 8
        loads = "\n".join(f"ld.global.b{program.bits} %{name}{i + 1}, [%d60+{i * nbytes}];" for i in range(3))
        parts.append(
            f".visible .entry k{number}(.param .u64 p, .param .u64 q)\n{{\n{registers}\n"
            f"ld.param.b64 %d60, [p];\nld.param.b64 %d61, [q];\n{loads}\n{program.body}\nret;\n}}\n"
        )
    return "".join(parts)


# --- 16 bits --------------------------------------------------------------------------------------------------

#: of registers {a} and {b} of 16 bits to {d}; {t}, {u} of 16 and {w}, {v} of 32 bits are free
_HALF_PRODUCERS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "id": ("mov.b16 {d}, {a};", lambda a, b: a),
    "neg": ("neg.s16 {d}, {a};", lambda a, b: -a),
    "abs": ("abs.s16 {d}, {a};", lambda a, b: abs(s(a, 16))),
    "not": ("not.b16 {d}, {a};", lambda a, b: ~a),
    "add": ("add.s16 {d}, {a}, {b};", lambda a, b: a + b),
    "sub": ("sub.s16 {d}, {a}, {b};", lambda a, b: a - b),
    "sub zero": ("sub.s16 {d}, 0, {a};", lambda a, b: -a),
    "sub zero register": ("mov.b16 {t}, 0;\nsub.s16 {d}, {t}, {a};", lambda a, b: -a),
    "sub u16 zero": ("sub.u16 {d}, 0, {a};", lambda a, b: -a),
    "sub one": ("sub.s16 {d}, 1, {a};", lambda a, b: 1 - a),
    "add one": ("add.s16 {d}, {a}, 1;", lambda a, b: a + 1),
    "add minus one": ("add.s16 {d}, {a}, -1;", lambda a, b: a - 1),
    "mul": ("mul.lo.s16 {d}, {a}, {b};", lambda a, b: a * b),
    "mul minus one": ("mul.lo.s16 {d}, {a}, -1;", lambda a, b: -a),
    "mul three": ("mul.lo.s16 {d}, {a}, 3;", lambda a, b: 3 * a),
    "mad": ("mad.lo.s16 {d}, {a}, {b}, {a};", lambda a, b: a * b + a),
    "mul hi": ("mul.hi.s16 {d}, {a}, {b};", lambda a, b: s(a, 16) * s(b, 16) >> 16),
    "mul hi u": ("mul.hi.u16 {d}, {a}, {b};", lambda a, b: a * b >> 16),
    "min": ("min.s16 {d}, {a}, {b};", lambda a, b: min(s(a, 16), s(b, 16))),
    "max": ("max.s16 {d}, {a}, {b};", lambda a, b: max(s(a, 16), s(b, 16))),
    "min u": ("min.u16 {d}, {a}, {b};", min),
    "max u": ("max.u16 {d}, {a}, {b};", max),
    "shl": ("cvt.u32.u16 {w}, {b};\nand.b32 {w}, {w}, 15;\nshl.b16 {d}, {a}, {w};", lambda a, b: a << (b & 15)),
    "shr": ("cvt.u32.u16 {w}, {b};\nand.b32 {w}, {w}, 15;\nshr.s16 {d}, {a}, {w};", lambda a, b: s(a, 16) >> (b & 15)),
    "shr u": ("cvt.u32.u16 {w}, {b};\nand.b32 {w}, {w}, 15;\nshr.u16 {d}, {a}, {w};", lambda a, b: a >> (b & 15)),
    "shl one": ("shl.b16 {d}, {a}, 1;", lambda a, b: a << 1),
    "shr three": ("shr.s16 {d}, {a}, 3;", lambda a, b: s(a, 16) >> 3),
    "shr u three": ("shr.u16 {d}, {a}, 3;", lambda a, b: a >> 3),
    "and": ("and.b16 {d}, {a}, {b};", lambda a, b: a & b),
    "or": ("or.b16 {d}, {a}, {b};", lambda a, b: a | b),
    "xor": ("xor.b16 {d}, {a}, {b};", lambda a, b: a ^ b),
    "narrow": ("cvt.u32.u16 {w}, {a};\ncvt.u32.u16 {v}, {b};\nmul.lo.s32 {w}, {w}, {v};\ncvt.u16.u32 {d}, {w};", lambda a, b: a * b),
    "sext8": ("cvt.s16.s8 {d}, {a};", lambda a, b: s(a, 8)),
    "zext8": ("and.b16 {d}, {a}, 255;", lambda a, b: a & 255),
    "neg of 8": ("cvt.s16.s8 {t}, {a};\nneg.s16 {d}, {t};", lambda a, b: -s(a, 8)),
    "neg to 8": ("neg.s16 {t}, {a};\ncvt.s16.s8 {d}, {t};", lambda a, b: s(-a, 8)),
    "abs to 8": ("cvt.s16.s8 {t}, {a};\nabs.s16 {u}, {t};\ncvt.s16.s8 {d}, {u};", lambda a, b: s(abs(s(a, 8)), 8)),
    "neg neg": ("neg.s16 {t}, {a};\nneg.s16 {d}, {t};", lambda a, b: a),
    "abs of neg": ("neg.s16 {t}, {a};\nabs.s16 {d}, {t};", lambda a, b: abs(s(a, 16))),
    "neg of abs": ("abs.s16 {t}, {a};\nneg.s16 {d}, {t};", lambda a, b: -abs(s(a, 16))),
    "neg guarded": ("setp.gt.s16 %p3, {b}, 0;\nmov.b16 {d}, {a};\n@%p3 neg.s16 {d}, {a};", lambda a, b: -a if s(b, 16) > 0 else a),
    "abs guarded": ("setp.gt.s16 %p3, {b}, 0;\nmov.b16 {d}, {a};\n@!%p3 abs.s16 {d}, {a};", lambda a, b: a if s(b, 16) > 0 else abs(s(a, 16))),
    "neg in place": ("mov.b16 {d}, {a};\n{{ neg.s16 {d}, {d}; }}", lambda a, b: -a),
    "neg u": ("neg.s16 {t}, {a};\nmax.u16 {d}, {t}, {b};", lambda a, b: max(-a & 0xFFFF, b)),
    "max with neg": ("neg.s16 {t}, {a};\nmax.s16 {d}, {t}, {a};", lambda a, b: abs(s(a, 16))),
    "select": ("setp.gt.s16 %p3, {a}, {b};\nselp.b16 {d}, {a}, {b}, %p3;", lambda a, b: max(s(a, 16), s(b, 16))),
}  # fmt: skip

_ONE_ZERO = "\nselp.b32 {r}, 1, 0, %p1;"
#: of {x}, the produced value, and {b} to {r} of 32 bits or {q} of 64
_HALF_CONSUMERS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "s32": ("cvt.s32.s16 {r}, {x};", lambda x, b: s(x, 16)),
    "u32": ("cvt.u32.u16 {r}, {x};", lambda x, b: x),
    "s64": ("cvt.s64.s16 {q}, {x};", lambda x, b: s(x, 16)),
    "u64": ("cvt.u64.u16 {q}, {x};", lambda x, b: x),
    "gt": ("setp.gt.s16 %p1, {x}, {b};" + _ONE_ZERO, lambda x, b: s(x, 16) > s(b, 16)),
    "lt": ("setp.lt.s16 %p1, {x}, {b};" + _ONE_ZERO, lambda x, b: s(x, 16) < s(b, 16)),
    "gt u": ("setp.gt.u16 %p1, {x}, {b};" + _ONE_ZERO, lambda x, b: x > b),
    "eq": ("setp.eq.b16 %p1, {x}, {b};" + _ONE_ZERO, lambda x, b: x == b),
    "lt zero": ("setp.lt.s16 %p1, {x}, 0;" + _ONE_ZERO, lambda x, b: s(x, 16) < 0),
    "gt minus one": ("setp.gt.s16 %p1, {x}, -1;" + _ONE_ZERO, lambda x, b: s(x, 16) > -1),
    "shr": ("shr.s16 {t}, {x}, 2;\ncvt.s32.s16 {r}, {t};", lambda x, b: s(x, 16) >> 2),
    "shr u": ("shr.u16 {t}, {x}, 2;\ncvt.u32.u16 {r}, {t};", lambda x, b: x >> 2),
    "max": ("max.s16 {t}, {x}, {b};\ncvt.s32.s16 {r}, {t};", lambda x, b: max(s(x, 16), s(b, 16))),
    "min": ("min.s16 {t}, {x}, {b};\ncvt.s32.s16 {r}, {t};", lambda x, b: min(s(x, 16), s(b, 16))),
    "max u": ("max.u16 {t}, {x}, {b};\ncvt.u32.u16 {r}, {t};", max),
    "wide": ("mul.wide.s16 {r}, {x}, {b};", lambda x, b: s(x, 16) * s(b, 16)),
    "wide u": ("mul.wide.u16 {r}, {x}, {b};", lambda x, b: x * b),
    "float": ("cvt.rn.f32.s16 %f1, {x};\nmov.b32 {r}, %f1;", lambda x, b: _float(s(x, 16))),
    "float u": ("cvt.rn.f32.u16 %f1, {x};\nmov.b32 {r}, %f1;", lambda x, b: _float(x)),
    "add": ("add.s16 {t}, {x}, {b};\ncvt.s32.s16 {r}, {t};", lambda x, b: s(x + b, 16)),
    "mul": ("mul.lo.s16 {t}, {x}, {b};\ncvt.s32.s16 {r}, {t};", lambda x, b: s(x * b, 16)),
    "abs": ("abs.s16 {t}, {x};\ncvt.s32.s16 {r}, {t};", lambda x, b: s(abs(s(x, 16)), 16)),
    "neg": ("neg.s16 {t}, {x};\ncvt.s32.s16 {r}, {t};", lambda x, b: s(-x, 16)),
    "sext8": ("cvt.s16.s8 {t}, {x};\ncvt.s32.s16 {r}, {t};", lambda x, b: s(x, 8)),
    "pack": ("mov.b32 {r}, {{{x}, {b}}};", lambda x, b: x | b << 16),
}  # fmt: skip


def halves() -> Iterator[Program]:
    """Producers by consumers of 16 bits."""
    for (one, (make, made)), (other, (use, used)) in product(
        _HALF_PRODUCERS.items(), _HALF_CONSUMERS.items()
    ):
        wide = "{q}" in use
        text = make.format(a="%h1", b="%h2", d="%h20", t="%h21", u="%h22", w="%r20", v="%r21")
        text += "\n" + use.format(x="%h20", b="%h2", t="%h23", r="%r30", q="%d30")
        text += "\nst.global.b64 [%d61], %d30;" if wide else "\nst.global.b32 [%d61], %r30;"

        def meaning(
            a: int,
            b: int,
            c: int,
            made: Callable[[int, int], int] = made,
            used: Callable[[int, int], int] = used,
        ) -> int:
            del c
            return int(used(made(a, b) & 0xFFFF, b))

        yield Program(f"16 {one} | {other}", 16, text, 64 if wide else 32, meaning)


# --- 32 and 64 bits -------------------------------------------------------------------------------------------


def _unary(bits: int) -> dict[str, Unary]:
    found: dict[str, Unary] = {
        "id": ("mov.b# {d}, {s};", lambda a: a),
        "neg": ("neg.s# {d}, {s};", lambda a: -a),
        "abs": ("abs.s# {d}, {s};", lambda a: abs(s(a, bits))),
        "not": ("not.b# {d}, {s};", lambda a: ~a),
        "sub zero": ("sub.s# {d}, 0, {s};", lambda a: -a),
        "sub zero register": ("mov.b# %REG, 0;\nsub.s# {d}, %REG, {s};", lambda a: -a),
        "mul minus one": ("mul.lo.s# {d}, {s}, -1;", lambda a: -a),
        "neg of mul": ("mul.lo.s# {d}, {s}, 3;\nneg.s# {d}, {d};", lambda a: -3 * a),
        "neg of add": ("add.s# {d}, {s}, 5;\nneg.s# {d}, {d};", lambda a: -(a + 5)),
        "neg of abs": ("abs.s# {d}, {s};\nneg.s# {d}, {d};", lambda a: -abs(s(a, bits))),
        "abs of neg": ("neg.s# {d}, {s};\nabs.s# {d}, {d};", lambda a: abs(s(a, bits))),
        "max with neg": ("neg.s# {d}, {s};\nmax.s# {d}, {d}, {s};", lambda a: abs(s(a, bits))),
        "shl": ("shl.b# {d}, {s}, 2;", lambda a: a << 2),
    }
    spare = f"%{_PREFIX[bits]}50"
    return {
        name: (text.replace("#", str(bits)).replace("%REG", spare), meaning)
        for name, (text, meaning) in found.items()
    }


_NARROWED: dict[str, Unary] = {
    "sext16": ("cvt.s32.s16 {d}, {s};", lambda a: s(a, 16)),
    "neg of sext16": ("cvt.s32.s16 {d}, {s};\nneg.s32 {d}, {d};", lambda a: -s(a, 16)),
    "sext8": ("cvt.s32.s8 {d}, {s};", lambda a: s(a, 8)),
    "neg of sext8": ("cvt.s32.s8 {d}, {s};\nneg.s32 {d}, {d};", lambda a: -s(a, 8)),
    "zext16": ("and.b32 {d}, {s}, 65535;", lambda a: a & 0xFFFF),
}


def _shared_consumers(bits: int) -> dict[str, Consumer]:
    """Of {x}, {y}, {z} to {d}, with {t} to spare; ``@`` stands for a register of 32 bits."""

    def n(value: int) -> int:
        return s(value, bits)

    one = "\nselp.b# {d}, 1, 0, %p1;"
    found: dict[str, Consumer] = {
        "add": ("add.s# {d}, {x}, {y};", lambda x, y, z: x + y),
        "sub": ("sub.s# {d}, {x}, {y};", lambda x, y, z: x - y),
        "add three": ("add.s# {t}, {x}, {y};\nadd.s# {d}, {t}, {z};", lambda x, y, z: x + y + z),
        "sub of sub": ("sub.s# {t}, {x}, {y};\nsub.s# {d}, {z}, {t};", lambda x, y, z: z - x + y),
        "mul": ("mul.lo.s# {d}, {x}, {y};", lambda x, y, z: x * y),
        "mad": ("mad.lo.s# {d}, {x}, {y}, {z};", lambda x, y, z: x * y + z),
        "and": ("and.b# {d}, {x}, {y};", lambda x, y, z: x & y),
        "or": ("or.b# {d}, {x}, {y};", lambda x, y, z: x | y),
        "xor three": ("xor.b# {t}, {x}, {y};\nxor.b# {d}, {t}, {z};", lambda x, y, z: x ^ y ^ z),
        "shl": ("cvt.u32.u# @, {y};\nand.b32 @, @, 31;\nshl.b# {d}, {x}, @;", lambda x, y, z: x << (y & 31)),
        "shr": ("cvt.u32.u# @, {y};\nand.b32 @, @, 31;\nshr.s# {d}, {x}, @;", lambda x, y, z: n(x) >> (y & 31)),
        "shr u": ("cvt.u32.u# @, {y};\nand.b32 @, @, 31;\nshr.u# {d}, {x}, @;", lambda x, y, z: x >> (y & 31)),
        "shr four": ("shr.s# {d}, {x}, 4;", lambda x, y, z: n(x) >> 4),
        "sign": (f"shr.s# {{d}}, {{x}}, {bits - 1};", lambda x, y, z: n(x) >> bits - 1),
        "sign u": (f"shr.u# {{d}}, {{x}}, {bits - 1};", lambda x, y, z: x >> bits - 1),
        "add of shl": ("shl.b# {t}, {x}, 3;\nadd.s# {d}, {t}, {y};", lambda x, y, z: (x << 3) + y),
        "sub of shl": ("shl.b# {t}, {x}, 3;\nsub.s# {d}, {y}, {t};", lambda x, y, z: y - (x << 3)),
        "min": ("min.s# {d}, {x}, {y};", lambda x, y, z: min(n(x), n(y))),
        "max": ("max.s# {d}, {x}, {y};", lambda x, y, z: max(n(x), n(y))),
        "min u": ("min.u# {d}, {x}, {y};", lambda x, y, z: min(x, y)),
        "max u": ("max.u# {d}, {x}, {y};", lambda x, y, z: max(x, y)),
        "min three": ("min.s# {t}, {x}, {y};\nmin.s# {d}, {t}, {z};", lambda x, y, z: min(n(x), n(y), n(z))),
        "max three": ("max.s# {t}, {x}, {y};\nmax.s# {d}, {t}, {z};", lambda x, y, z: max(n(x), n(y), n(z))),
        "min three u": ("min.u# {t}, {x}, {y};\nmin.u# {d}, {t}, {z};", lambda x, y, z: min(x, y, z)),
        "min of sum": ("add.s# {t}, {x}, {y};\nmin.s# {d}, {t}, {z};", lambda x, y, z: min(n(x + y), n(z))),
        "max of sum": ("add.s# {t}, {x}, {y};\nmax.s# {d}, {t}, {z};", lambda x, y, z: max(n(x + y), n(z))),
        "max of difference": ("sub.s# {t}, {x}, {y};\nmax.s# {d}, {t}, {z};", lambda x, y, z: max(n(x - y), n(z))),
        "relu": ("max.s# {d}, {x}, 0;", lambda x, y, z: max(n(x), 0)),
        "relu of sum": ("add.s# {t}, {x}, {y};\nmax.s# {d}, {t}, 0;", lambda x, y, z: max(n(x + y), 0)),
        "relu of min": ("min.s# {t}, {x}, {y};\nmax.s# {d}, {t}, 0;", lambda x, y, z: max(min(n(x), n(y)), 0)),
        "clamp": ("max.s# {t}, {x}, {y};\nmin.s# {d}, {t}, {z};", lambda x, y, z: min(max(n(x), n(y)), n(z))),
        "selected min": (
            "setp.lt.s# %p1, {x}, {y};\nselp.b# {t}, {x}, {y}, %p1;\nsetp.lt.s# %p2, {t}, {z};\nselp.b# {d}, {t}, {z}, %p2;",
            lambda x, y, z: min(n(x), n(y), n(z)),
        ),
        "gt": ("setp.gt.s# %p1, {x}, {y};" + one, lambda x, y, z: n(x) > n(y)),
        "gt u": ("setp.gt.u# %p1, {x}, {y};" + one, lambda x, y, z: x > y),
        "eq": ("setp.eq.s# %p1, {x}, {y};" + one, lambda x, y, z: x == y),
        "lt zero": ("setp.lt.s# %p1, {x}, 0;" + one, lambda x, y, z: n(x) < 0),
        "ge zero": ("setp.ge.s# %p1, {x}, 0;" + one, lambda x, y, z: n(x) >= 0),
        "gt minus one": ("setp.gt.s# %p1, {x}, -1;" + one, lambda x, y, z: n(x) > -1),
        "selected by sign": ("setp.lt.s# %p1, {x}, 0;\nselp.b# {d}, {y}, {z}, %p1;", lambda x, y, z: y if n(x) < 0 else z),
        "select": ("setp.gt.s# %p1, {z}, 0;\nselp.b# {d}, {x}, {y}, %p1;", lambda x, y, z: x if n(z) > 0 else y),
        "abs": ("abs.s# {d}, {x};", lambda x, y, z: abs(n(x))),
    }  # fmt: skip
    return {
        name: (text.replace("#", str(bits)).replace("@", "%r40"), meaning)
        for name, (text, meaning) in found.items()
    }


_WORD_CONSUMERS: dict[str, Consumer] = {
    "mul hi": ("mul.hi.s32 {d}, {x}, {y};", lambda x, y, z: s(x, 32) * s(y, 32) >> 32),
    "mul hi u": ("mul.hi.u32 {d}, {x}, {y};", lambda x, y, z: x * y >> 32),
    "wide": ("mul.wide.s32 %d40, {x}, {y};\nshr.u64 %d40, %d40, 16;\ncvt.u32.u64 {d}, %d40;", lambda x, y, z: s(x, 32) * s(y, 32) >> 16),
    "s64": ("cvt.s64.s32 %d40, {x};\nshr.s64 %d40, %d40, 1;\ncvt.u32.u64 {d}, %d40;", lambda x, y, z: s(x, 32) >> 1),
    "high of s64": ("cvt.s64.s32 %d40, {x};\nshr.u64 %d40, %d40, 32;\ncvt.u32.u64 {d}, %d40;", lambda x, y, z: s(x, 32) >> 32),
    "narrow": ("cvt.u16.u32 %h40, {x};\ncvt.s32.s16 {d}, %h40;", lambda x, y, z: s(x, 16)),
    "narrow u": ("cvt.u16.u32 %h40, {x};\ncvt.u32.u16 {d}, %h40;", lambda x, y, z: x & 0xFFFF),
    "narrow 8": ("cvt.s32.s8 {d}, {x};", lambda x, y, z: s(x, 8)),
    "bfe": ("bfe.s32 {d}, {x}, 5, 9;", lambda x, y, z: s(x >> 5, 9)),
    "bfe u": ("bfe.u32 {d}, {x}, 5, 9;", lambda x, y, z: x >> 5 & 511),
    "popc": ("popc.b32 {d}, {x};", lambda x, y, z: x.bit_count()),
    "prmt": ("prmt.b32 {d}, {x}, {y}, 0x7610;", lambda x, y, z: x & 0xFFFF | y & 0xFFFF0000),
    "float": ("cvt.rn.f32.s32 %f1, {x};\nmov.b32 {d}, %f1;", lambda x, y, z: _float(s(x, 32))),
    "float u": ("cvt.rn.f32.u32 %f1, {x};\nmov.b32 {d}, %f1;", lambda x, y, z: _float(x)),
}  # fmt: skip

_QUAD_CONSUMERS: dict[str, Consumer] = {
    "low": ("cvt.u32.u64 %r41, {x};\ncvt.s64.s32 {d}, %r41;", lambda x, y, z: s(x, 32)),
    "high": ("shr.u64 {d}, {x}, 32;", lambda x, y, z: x >> 32),
}


def _all(
    bits: int, unary: dict[str, Unary], consumers: dict[str, Consumer], positions: Sequence[str]
) -> Iterator[Program]:
    letter = _PREFIX[bits]
    for (one, (make, made)), (other, (use, used)), places in product(
        unary.items(), consumers.items(), positions
    ):
        if not all(f"{{{place}}}" in use for place in places) or (one == "id" and places != positions[0]):
            continue
        text, names = "", {}
        for i, place in enumerate("xyz"):
            source = f"%{letter}{i + 1}"
            names[place] = f"%{letter}{20 + i}" if place in places else source
            text += make.format(d=names[place], s=source) + "\n" if place in places else ""
        text += (
            use.format(**names, d=f"%{letter}30", t=f"%{letter}31")
            + f"\nst.global.b{bits} [%d61], %{letter}30;"
        )

        def meaning(
            a: int,
            b: int,
            c: int,
            made: Callable[[int], int] = made,
            used: Meaning = used,
            places: str = places,
        ) -> int:
            mask = (1 << bits) - 1
            given = [
                made(v) & mask if place in places else v for place, v in zip("xyz", (a, b, c), strict=True)
            ]
            return int(used(*given))

        yield Program(f"{bits} {one} | {other} | {places}", bits, text, bits, meaning)


def words() -> Iterator[Program]:
    """Producers by consumers by positions of 32 bits."""
    consumers = _shared_consumers(32) | _WORD_CONSUMERS
    return _all(32, _unary(32) | _NARROWED, consumers, ("x", "y", "z", "xyz"))


def quads() -> Iterator[Program]:
    """Producers by consumers by positions of 64 bits."""
    return _all(64, _unary(64), _shared_consumers(64) | _QUAD_CONSUMERS, ("x", "y", "xyz"))


# --- chains ---------------------------------------------------------------------------------------------------


def chains() -> Iterator[Program]:
    """Minima and maxima of three, signed and unsigned, of 16 and 32 bits, where some operands are computed."""
    for bits, sign in product((32, 16), "su"):
        for one, (make, made) in _unary(bits).items():
            for places, first, second, left in product(
                ("x", "y", "z", "xy", "yz", "xyz"), ("min", "max"), ("min", "max"), (True, False)
            ):
                if one != "id":
                    yield _chain(bits, sign, (one, make, made), places, (first, second), left)


def _chain(
    bits: int,
    sign: str,
    unary: tuple[str, str, Callable[[int], int]],
    places: str,
    ops: tuple[str, str],
    left: bool,
) -> Program:
    name, make, made = unary
    letter, mask = _PREFIX[bits], (1 << bits) - 1
    text, names = "", []
    for i, place in enumerate("xyz"):
        names.append(f"%{letter}{20 + i}" if place in places else f"%{letter}{1 + i}")
        text += make.format(d=names[i], s=f"%{letter}{1 + i}") + "\n" if place in places else ""
    inner, outer, t, d = *ops, f"%{letter}31", f"%{letter}30"
    type_ = f"{sign}{bits}"
    if left:
        text += f"{inner}.{type_} {t}, {names[0]}, {names[1]};\n{outer}.{type_} {d}, {t}, {names[2]};\n"
    else:
        text += f"{inner}.{type_} {t}, {names[1]}, {names[2]};\n{outer}.{type_} {d}, {names[0]}, {t};\n"
    text += f"st.global.b{bits} [%d61], {d};"
    known = {"min": min, "max": max}

    def meaning(a: int, b: int, c: int) -> int:
        x, y, z = (
            made(v) & mask if place in places else v for place, v in zip("xyz", (a, b, c), strict=True)
        )
        if sign == "s":
            x, y, z = (s(v, bits) for v in (x, y, z))
        return known[outer](known[inner](x, y), z) if left else known[outer](x, known[inner](y, z))

    shape = "left" if left else "right"
    return Program(f"chain {type_} {name} | {inner} {outer} {shape} | {places}", bits, text, bits, meaning)


# --- packed ---------------------------------------------------------------------------------------------------


_PAIRS: dict[str, Callable[[int, int], int]] = {"min": min, "max": max, "add": lambda a, b: a + b}


def packed() -> Iterator[Program]:
    """Two halves at once (from sm_90 on), of which each is computed first."""
    for one, op, sign in product(("id", "neg", "abs", "not"), ("min", "max", "add"), "su"):
        make, made = _unary(16)[one]
        text = "\n".join(make.format(d=f"%h{20 + i}", s=f"%h{1 + i}") for i in range(2))
        text += (
            f"\nmov.b32 %r20, {{%h20, %h21}};\nmov.b32 %r21, {{%h2, %h3}};\n{op}.{sign}16x2 %r30, %r20, %r21;"
        )
        known = _PAIRS[op]

        def meaning(
            a: int,
            b: int,
            c: int,
            made: Callable[[int], int] = made,
            known: Callable[[int, int], int] = known,
            sign: str = sign,
        ) -> int:
            found = 0
            for shift, (x, y) in ((0, (made(a) & 0xFFFF, b)), (16, (made(b) & 0xFFFF, c))):
                if sign == "s":
                    x, y = s(x, 16), s(y, 16)
                found |= (known(x, y) & 0xFFFF) << shift
            return found

        yield Program(
            f"packed {sign}16x2 {one} | {op}", 16, text + "\nst.global.b32 [%d61], %r30;", 32, meaning
        )
