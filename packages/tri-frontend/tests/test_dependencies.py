"""A kernel's key changes with everything that its code depends on, and with nothing else."""

from __future__ import annotations

import pytest

from tri.compiler.source import ASTSource

BASE = """
import math

SCALE = tl.constexpr(3)
UNUSED = tl.constexpr(4)


FACTOR = 2


def plain(x):
    return x + 3


@tri.constexpr_function
def inner(x):
    return x - 1


@tri.constexpr_function
def helper(x, y=5):
    return x + 1 + FACTOR + plain(x) + inner(x) + y


@tri.aggregate
class Pair:
    a: tl.tensor
    k: tl.constexpr = 6

    @tri.jit
    def total(self):
        return self.a + self.k + leaf(self.a)


@tri.jit
def leaf(x):
    return x * SCALE


@tri.jit
def middle(x):
    return leaf(x) + 1


@tri.jit
def k(q, n, C: tl.constexpr = 2):
    # a comment
    tl.store(q, middle(n) + helper(C) + tl.cdiv(n, 2) + Pair(n).total())
"""

CHANGES = {
    "the kernel": ("tl.store(q, middle(n)", "tl.store(q, 2 * middle(n)"),
    "a function it calls": ("leaf(x) + 1", "leaf(x) + 2"),
    "a function called by that": ("x * SCALE", "x * SCALE * 2"),
    "a global that one reads": ("SCALE = tl.constexpr(3)", "SCALE = tl.constexpr(5)"),
    "a constexpr function": ("return x + 1 +", "return x + 7 +"),
    "a global of a constexpr function": ("FACTOR = 2", "FACTOR = 3"),
    "a function that it calls": ("return x + 3", "return x + 4"),
    "a constexpr function that it calls": ("return x - 1", "return x - 2"),
    "a default of it": ("y=5", "y=6"),
    "a method of an aggregate": ("self.a + self.k", "self.a * self.k"),
    "a default of a field": ("tl.constexpr = 6", "tl.constexpr = 7"),
    "a field": ("    a: tl.tensor", "    a: object"),
    "the type of a global": ("SCALE = tl.constexpr(3)", "SCALE = tl.constexpr(3.0)"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_key_changes_with(kernel_file, change):
    old, new = CHANGES[change]
    assert old in BASE
    assert kernel_file(BASE).k.cache_key != kernel_file(BASE.replace(old, new)).k.cache_key


def test_key_does_not_change_with_a_global_that_nobody_reads(kernel_file):
    module, other = kernel_file(BASE), kernel_file(BASE.replace("tl.constexpr(4)", "tl.constexpr(9)"))
    for found in (module, other):
        for value in (found.leaf, found.middle, found.k, found.Pair, found.Pair.total):
            value.__module__ = "kernels"
        for value in (found.plain, found.leaf.fn, found.middle.fn, found.k.fn, found.Pair.total.fn):
            value.__module__ = "kernels"
    assert module.k.cache_key == other.k.cache_key


def test_functions_that_call_each_other_have_a_key(kernel_file):
    module = kernel_file(
        "@tri.jit\ndef f(x):\n    return g(x)\n\n\n@tri.jit\ndef g(x):\n    return f(x)\n\n\n"
        "@tri.jit\ndef k(q):\n    tl.store(q, f(1))\n"
    )
    assert module.k.cache_key != module.f.cache_key


def test_closures_are_part_of_the_key(kernel_file):
    module = kernel_file(
        "def make(c):\n    C = tl.constexpr(c)\n\n    @tri.jit\n    def k(q):\n        tl.store(q, C)\n\n    return k\n"
    )
    assert module.make(1).cache_key != module.make(2).cache_key
    assert module.make(1).cache_key == module.make(1).cache_key


def test_fingerprint_of_a_source_holds_signature_constants_and_attributes(kernel_file):
    k = kernel_file(BASE).k
    signature = {"q": "*i32", "n": "i32"}
    sources = [
        ASTSource(k, signature, {"C": 2}),
        ASTSource(k, {"q": "*i32", "n": "i64"}, {"C": 2}),
        ASTSource(k, signature, {"C": 3}),
        ASTSource(k, signature, {"C": 2.0}),
        ASTSource(k, signature, {"C": True}),
        ASTSource(k, signature, {"C": 2}, {(0,): [["tt.divisibility", 16]]}),
        ASTSource(k, {"q": "*ki32", "n": "i32"}, {"C": 2}),
    ]
    assert len({s.fingerprint() for s in sources}) == len(sources)
    assert sources[0].fingerprint() == ASTSource(k, {1: "i32", 0: "*i32"}, {(2,): 2}).fingerprint()


def test_a_global_with_the_name_of_a_local_is_nothing(kernel_file):
    module = kernel_file(BASE.replace("UNUSED = tl.constexpr(4)", "x = 4"))
    before = module.k.cache_key
    module.x = 5
    del module.k.__dict__["cache_key"]
    assert module.k.cache_key == before
