"""What waits is there in machine code: as many loads and stores as in PTX, and the loop around them."""

from __future__ import annotations

import re
from itertools import product

import pytest

import tri
import tri.language as tl
from tri_backend_nvidia.disassembly import NVDISASM, loops
from tri_backend_nvidia.tools import find
from tri_core import knobs

MARKS = [(".cv", True), (".cv", False), ("", True), (".cg", True)]


@tri.jit
def scalar(flag, x, out, n, CACHE: tl.constexpr, VOLATILE: tl.constexpr):
    while tl.load(flag, cache_modifier=CACHE, volatile=VOLATILE) != 1:
        pass
    tl.store(out, tl.load(x, cache_modifier=CACHE, volatile=VOLATILE))


@tri.jit
def masked(flag, x, out, n, CACHE: tl.constexpr, VOLATILE: tl.constexpr):
    while tl.load(flag, mask=n > 3, other=1, cache_modifier=CACHE, volatile=VOLATILE) != 1:
        pass
    tl.store(out, tl.load(x, cache_modifier=CACHE, volatile=VOLATILE))


@tri.jit
def vector(flag, x, out, n, CACHE: tl.constexpr, VOLATILE: tl.constexpr):
    i = tl.arange(0, 512)
    while tl.min(tl.load(flag + i, cache_modifier=CACHE, volatile=VOLATILE)) != 1:
        pass
    tl.store(out + i, tl.load(x + i, mask=i < n, cache_modifier=CACHE, volatile=VOLATILE))


@tri.jit
def halves(flag, x, out, n, CACHE: tl.constexpr, VOLATILE: tl.constexpr):
    while tl.load(flag.to(tl.pointer_type(tl.int16)), cache_modifier=CACHE, volatile=VOLATILE) != 1:
        pass
    tl.store(out, tl.load(x, cache_modifier=CACHE, volatile=VOLATILE))


@tri.jit
def twice(flag, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(flag + i, out + 0 * i, cache_modifier=".wt")
    tl.store(flag + i, out + 1 + 0 * i, cache_modifier=".wt")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("kernel", [scalar, masked, vector, halves], ids=lambda kernel: kernel.fn.__name__)
@pytest.mark.parametrize(("cache", "volatile"), MARKS)
def test_each_load_is_strong_and_the_loop_stays(
    kernel: tri.JITFunction, cache: str, volatile: bool, arch: str
) -> None:
    given = {"CACHE": cache, "VOLATILE": volatile}
    types = {"flag": "*i32", "x": "*fp32", "out": "*fp32", "n": "i32"} | dict.fromkeys(given, "constexpr")
    hints = {(place,): [["tt.divisibility", 16]] for place in range(3)}
    made = tri.compile(tri.ASTSource(kernel, types, given, hints), target=f"nvidia:{arch}")
    loads = re.findall(r"\bld\.\S*global\S*", str(made.asm["ptx"]))
    assert len(loads) >= 2
    assert all(load.startswith("ld.volatile.global") for load in loads)
    if kernel is vector:
        assert any(".v4" in load for load in loads)
    if find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None:
        pytest.skip("no nvdisasm")
    text = str(made.asm["sass"])
    assert len(re.findall(r"\bLDG\.\S*STRONG\.SYS", text)) == len(re.findall(r"\bLDG\b", text)) == len(loads)
    assert any("LDG" in line for loop in loops(text) for line in loop), text


@pytest.mark.parametrize(("arch", "block"), list(product(["sm_80", "sm_90a"], [1, 128, 512])))
def test_each_store_that_writes_through_stays(arch: str, block: int) -> None:
    types = {"flag": "*i32", "out": "i32", "BLOCK": "constexpr"}
    made = tri.compile(
        tri.ASTSource(twice, types, {"BLOCK": block}, {(0,): [["tt.divisibility", 16]]}),
        target=f"nvidia:{arch}",
    )
    stores = re.findall(r"\bst\.\S*global\S*", str(made.asm["ptx"]))
    assert len(stores) >= 2
    assert all(store.startswith("st.volatile.global") for store in stores)
    if find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None:
        pytest.skip("no nvdisasm")
    assert len(re.findall(r"\bSTG\.\S*STRONG\.SYS", str(made.asm["sass"]))) == len(stores)


@tri.jit
def tells(x, flag, BLOCK: tl.constexpr, CACHE: tl.constexpr):
    """A tile, a barrier, a word that says that the tile is there, as stream-K of tritonBLAS does it."""
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i, cache_modifier=".wt")
    tl.debug_barrier()
    tl.store(flag, 1, cache_modifier=CACHE)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("cache", "fences"), [(".wt", 1), ("", 0), (".cg", 0)])
def test_a_word_that_is_written_through_is_seen_last(arch: str, cache: str, fences: int) -> None:
    types = {"x": "*i32", "flag": "*i32", "BLOCK": "constexpr", "CACHE": "constexpr"}
    made = tri.compile(tri.ASTSource(tells, types, {"BLOCK": 256, "CACHE": cache}), target=f"nvidia:{arch}")
    text = str(made.asm["ptx"])
    found = re.findall(r"\bfence\.(?:release|acq_rel)\.sys", text)
    assert len(found) == fences
    if fences:
        assert re.search(r"bar\.sync.*fence.*st\.volatile\.global", text, re.DOTALL)
