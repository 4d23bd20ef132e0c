"""Pairs of conversions that upstream's canonicalization makes one: those alone that round as often as the pair."""

from __future__ import annotations

from itertools import product

from tri_core import mlir
from tri_core.mlir import ir

FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
#: the second rounds nothing that the first has rounded
SOUND = {
    ("extf", "truncf"), ("extsi", "extsi"), ("extsi", "sitofp"), ("extsi", "trunci"), ("extui", "extsi"), ("extui", "extui"),
    ("extui", "sitofp"), ("extui", "trunci"), ("extui", "uitofp"), ("trunci", "trunci"),
}  # fmt: skip


def conversions() -> list[tuple[str, str, str]]:
    """Each conversion of ``arith`` with its types."""
    found = [("extf" if FLOATS[a] < FLOATS[b] else "truncf", a, b) for a, b in product(FLOATS, FLOATS) if FLOATS[a] != FLOATS[b]]  # fmt: skip
    for a, b in product(INTEGERS, INTEGERS):
        if INTEGERS[a] != INTEGERS[b]:
            found += [
                (name, a, b) for name in (("extsi", "extui") if INTEGERS[a] < INTEGERS[b] else ("trunci",))
            ]
    for f, i in product(FLOATS, INTEGERS):
        found += [("sitofp", i, f), ("uitofp", i, f), ("fptosi", f, i), ("fptoui", f, i)]
    return found


def test_only_sound_pairs_become_one() -> None:
    shortened = set()
    with mlir.session():
        for (first, a, b), (second, c, d) in product(conversions(), conversions()):
            if b != c:
                continue
            module = ir.Module.parse(
                f"func.func @f(%x: {a}) -> {d} {{ %0 = arith.{first} %x : {a} to {b}\n"
                f"%1 = arith.{second} %0 : {c} to {d}\nreturn %1 : {d} }}"
            )
            mlir.run_passes(module, "canonicalize")
            if str(module).count("= arith.") < 2:
                shortened.add((first, second))
    assert shortened == SOUND
