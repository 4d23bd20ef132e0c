"""Which accesses become buffer operations, with what operands."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

import tri
import tri.language as tl


@tri.jit
def copy(out, x, first, n, which, BLOCK: tl.constexpr, KIND: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if KIND == "plain":
        place = x + i
    elif KIND == "moved":  # by a scalar first
        place = x + first + i
    elif KIND == "wide":
        place = x + i.to(tl.int64) * first
    elif KIND == "either":
        place = tl.where(i < which, x + i, out + i)
    else:  # twice, across a broadcast
        place = tl.reshape(x + tl.arange(0, BLOCK), (BLOCK,)) + first
    value = tl.load(place, mask=i < n, other=3.0, cache_modifier=".cg")
    tl.store(out + i, value, mask=i < n)


@functools.cache
def ttgir(kind: str, small: bool) -> str:
    names = copy.arg_names
    types = dict(zip(names[:5], ("*fp32", "*fp32", "i32", "i32", "i32"), strict=True))
    types |= {"BLOCK": "constexpr", "KIND": "constexpr"}
    facts: dict[Any, Any] = {(i,): [["tt.pointer_range", 32]] for i in range(2)} if small else {}
    source = tri.ASTSource(copy, types, {"BLOCK": 256, "KIND": kind}, facts)
    return str(tri.compile(source, target="amd:gfx942").asm["ttgir"])


@pytest.mark.parametrize("kind", ["plain", "moved", "wide", "twice"])
def test_accesses_of_small_arrays_are_converted(kind: str) -> None:
    text = ttgir(kind, small=True)
    # mask, other and policy are as they were
    assert re.search(r"amdg.buffer_load %\w+\[%\w+\], %\w+, %\w+ \{cachePolicy = .*cg", text)
    assert re.search(r"amdg.buffer_store %\w+, %out\[%\w+\], %\w+ ", text)
    assert "tt.load" not in text
    assert "x!tt.ptr" not in text


@pytest.mark.parametrize("kind", ["plain", "moved", "wide", "either", "twice"])
def test_others_keep_their_pointers(kind: str) -> None:
    # program ids may be large: nothing says that offsets stay in 2 GiB
    text = ttgir(kind, small=False)
    assert "tt.store" in text
    assert "amdg.buffer_store" not in text


def test_pointers_of_two_arrays_are_in_no_buffer() -> None:
    text = ttgir("either", small=True)
    assert "tt.load" in text
    assert "amdg.buffer_store" in text
