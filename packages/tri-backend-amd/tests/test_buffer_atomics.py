"""Atomics through buffer descriptors: which are made, and what they do."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl

SMALL = [["tt.divisibility", 16], ["tt.pointer_range", 32]]


@tri.jit
def update(out, old, x, bins, n, BLOCK: tl.constexpr, KIND: tl.constexpr, SEM: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place, value, mask = out + tl.load(bins + i), tl.load(x + i), i < n
    if KIND == "add":
        was = tl.atomic_add(place, value, mask=mask, sem=SEM)
    elif KIND == "max":
        was = tl.atomic_max(place, value, mask=mask, sem=SEM)
    elif KIND == "min":
        was = tl.atomic_min(place, value, mask=mask, sem=SEM)
    elif KIND == "and":
        was = tl.atomic_and(place, value, mask=mask, sem=SEM)
    elif KIND == "or":
        was = tl.atomic_or(place, value, mask=mask, sem=SEM)
    elif KIND == "xor":
        was = tl.atomic_xor(place, value, mask=mask, sem=SEM)
    else:
        was = tl.atomic_xchg(place, value, mask=mask, sem=SEM)
    tl.store(old + i, was, mask=mask)


@functools.cache
def compiled(target: str, kind: str, element: str = "i32", sem: str = "relaxed", small: bool = True) -> Any:
    types = {**dict.fromkeys(("out", "old", "x"), f"*{element}"), "bins": "*i32", "n": "i32"}
    types |= dict.fromkeys(("BLOCK", "KIND", "SEM"), "constexpr")
    facts: dict[Any, Any] = {(i,): SMALL for i in range(4)} if small else {}
    source = tri.ASTSource(update, types, {"BLOCK": 64, "KIND": kind, "SEM": sem}, facts)
    return tri.compile(source, target=target, options={"num_warps": 1})


REDUCED = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32"])
@pytest.mark.parametrize("kind", [*REDUCED, "xchg"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx1201", "gfx1250"])
def test_updates(arch: str, kind: str, dtype: str) -> None:
    if dtype == "float32" and kind not in ("add", "xchg"):
        pytest.skip("of integers only; those of floats are made of them")
    rng = np.random.default_rng(5)
    n, distinct = 101, kind == "xchg"
    x = rng.integers(0, 1 << 20, 128).astype(dtype) - np.array(500).astype(dtype)
    bins = (np.arange(128) if distinct else rng.integers(0, 16, 128)).astype(np.int32)
    out = rng.integers(0, 99, 128).astype(dtype)
    wanted, old = out.copy(), np.zeros(128, dtype)
    element = {"int32": "i32", "uint32": "u32", "float32": "fp32"}[dtype]
    compiled(f"sim:amd:{arch}", kind, element)[(2, 1, 1)](out, old, x, bins, n)
    if distinct:
        np.testing.assert_array_equal(old[:n], wanted[:n])
        wanted[:n] = x[:n]
    else:
        REDUCED[kind].at(wanted, bins[:n], x[:n])
    np.testing.assert_array_equal(out, wanted)
    assert (old[n:] == 0).all()


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
@pytest.mark.parametrize(
    ("kind", "element"), [("add", "i32"), ("add", "fp32"), ("max", "i32"), ("xchg", "i32")]
)
def test_instructions(arch: str, kind: str, element: str) -> None:
    made = compiled(f"amd:{arch}", kind, element)
    assert "amdg.buffer_atomic_rmw" in str(made.asm["ttgir"])
    text = str(made.asm["amdgcn"])
    assert re.search(r"\tbuffer_atomic_", text)
    assert "cmpswap" not in text
    assert ("scope:SCOPE_DEV" in text) == (arch in ("gfx1201", "gfx1250"))


@pytest.mark.parametrize(("arch", "small", "sem"), [("gfx942", False, "relaxed"), ("gfx908", True, "relaxed"), ("gfx1030", True, "relaxed")])  # fmt: skip
def test_others_have_whole_addresses(arch: str, small: bool, sem: str) -> None:
    text = str(compiled(f"amd:{arch}", "add", "fp32", sem, small).asm["amdgcn"])
    assert "buffer_atomic" not in text


@pytest.mark.parametrize(
    ("arch", "before", "behind"),
    [
        ("gfx942", ["buffer_wbl2"], ["buffer_inv"]),
        ("gfx90a", [], ["buffer_wbinvl1_vol"]),
        ("gfx1201", [], ["global_inv"]),
    ],
)
def test_a_tile_has_one_fence_on_either_side(arch: str, before: list[str], behind: list[str]) -> None:
    text = str(compiled(f"amd:{arch}", "add", "fp32", "acq_rel", True).asm["amdgcn"])
    found = re.findall(
        r"\t(buffer_wbl2|buffer_inv|buffer_wbinvl1_vol|global_inv|buffer_atomic_add_f32)\b", text
    )
    atomics = len(found) - len(before) - len(behind)
    assert found == [*before, *["buffer_atomic_add_f32"] * atomics, *behind]
    assert atomics == (2 if arch == "gfx1201" else 1)


@tri.jit
def wait_for(flag, out, SEM: tl.constexpr):
    while tl.atomic_add(flag, 0, sem=SEM) < 3:
        pass
    tl.atomic_poll(flag + 1, 3, sem=SEM)
    tl.store(out, 1)


@pytest.mark.parametrize("sem", ["relaxed", "acquire"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_what_changes_nothing_is_a_load(arch: str, sem: str) -> None:
    kinds = {"flag": "*i32", "out": "*i32", "SEM": "constexpr"}
    made = tri.compile(tri.ASTSource(wait_for, kinds, {"SEM": sem}, {}), target=f"amd:{arch}")
    text = str(made.asm["amdgcn"])
    assert "_atomic_" not in text
    assert len(re.findall(r"\t(?:global|flat)_load", text)) == 2


@tri.jit
def spread_old(out, old, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    was = tl.atomic_add(out + rows, rows, sem="relaxed")
    tl.store(old + rows[:, None] * COLUMNS + columns[None, :], was[:, None] + columns[None, :])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_threads_that_hold_copies_have_the_old_values_too(arch: str) -> None:
    """One thread of those that hold an element adds; all of them store."""
    rows, columns = 8, 256
    facts: dict[Any, Any] = {(i,): [["tt.divisibility", 16], ["tt.pointer_range", 32]] for i in range(2)}
    kinds = {"out": "*i32", "old": "*i32", "ROWS": "constexpr", "COLUMNS": "constexpr"}
    source = tri.ASTSource(spread_old, kinds, {"ROWS": rows, "COLUMNS": columns}, facts)
    made = tri.compile(source, target=f"sim:amd:{arch}", options={"num_warps": 4})
    out, old = np.arange(rows, dtype=np.int32) * 1000, np.zeros((rows, columns), np.int32)
    before = out.copy()
    made[(1, 1, 1)](out, old)
    np.testing.assert_array_equal(old, before[:, None] + np.arange(columns))
    np.testing.assert_array_equal(out, before + np.arange(rows))
