"""Small floats: PTX programs that convert and multiply them, with their meanings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from integration.assemblers.programs import Program
from tri_backend_nvidia.sass.floats import FORMATS, SHARING, pair, value

__all__ = ["small_floats"]

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
            return pair(_made(one, a) >> 16 * half & 0xFFFF, form)

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
            value(x >> 8 * i & 255, *FORMATS[left]) * value(y >> 8 * i & 255, *FORMATS[right])
            for i in range(4)
        )
        return int(np.float32(2 * SHARING * found).view(np.uint32))

    return meaning


def small_floats(capability: int) -> Iterator[Program]:
    """Producers by conversions and dots of packed 8-bit floats, for compute capability ``capability`` (times ten); dots where f16 emulates them."""
    formats = dict.fromkeys(_DOTTED, "f16") if capability >= 89 else {}
    if 100 <= capability < 120:
        formats |= dict.fromkeys(("E2M3", "E3M2"), "f16") | {"UE8M0": "bf16"}
    yield from _conversions(formats)
    if 90 <= capability < 120:
        yield from _dots()
