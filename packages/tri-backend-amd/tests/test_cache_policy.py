"""Cache modifiers become bits of the aux word, and the assembler's words for these are the chip's."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
import pytest

import tri
import tri.language as tl
from amd_support import TARGETS, compile_body
from tri_backend_amd.architectures import ARCHITECTURES
from tri_backend_amd.dialect.buffers import AROUND
from tri_backend_amd.lowering import AmdPrimitives
from tri_backend_amd.lowering.cache_policy import aux_word
from tri_core.dialects.tt.enums import CacheModifier, EvictionPolicy
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder

PLAIN = Access(4)


def copy(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value], *, access: Access) -> None:
    for source, other in ((0, 1), (1, 0)):
        with hw.buffer(b, args[source], AROUND):
            place = b.gep(args[source], hw.thread_id(b), b.f32)
            if other:
                loaded = hw.load_global(b, place, b.f32, None, None, access)
            else:
                hw.store_global(b, place, loaded, None, access)


def words(arch: str, access: Access) -> tuple[str, str]:
    """What follows the operands of the load and of the store."""
    lines = [
        line.strip()
        for line in compile_body(arch, functools.partial(copy, access=access)).assembly.splitlines()
    ]
    load, store = (next(line for line in lines if line.startswith(f"buffer_{w}")) for w in ("load", "store"))
    return load.partition("offen")[2].strip(), store.partition("offen")[2].strip()


@pytest.mark.parametrize("arch", TARGETS)
def test_usual_accesses_have_no_bits(arch: str) -> None:
    assert words(arch, PLAIN) == ("", "")
    assert words(arch, Access(4, CacheModifier.CA)) == ("", "")


@pytest.mark.parametrize(
    ("arch", "modifier", "load", "store"),
    [
        ("gfx90a", CacheModifier.CG, "glc", ""),
        ("gfx90a", CacheModifier.CS, "slc", "slc"),
        ("gfx90a", CacheModifier.WT, "", "glc slc"),
        ("gfx942", CacheModifier.CG, "sc0 nt", ""),
        ("gfx942", CacheModifier.CS, "sc0 nt", "sc0 nt"),
        ("gfx942", CacheModifier.CV, "sc0 sc1", ""),
        ("gfx950", CacheModifier.WT, "", "sc0 sc1"),
        ("gfx1100", CacheModifier.CG, "glc", ""),
        ("gfx1100", CacheModifier.CS, "glc slc dlc", "glc slc dlc"),
        ("gfx1201", CacheModifier.CG, "scope:SCOPE_DEV", "scope:SCOPE_DEV"),
        ("gfx1201", CacheModifier.CS, "th:TH_LOAD_NT", "th:TH_STORE_NT"),
        ("gfx1250", CacheModifier.CG, "scope:SCOPE_DEV", "scope:SCOPE_DEV"),
        ("gfx1250", CacheModifier.CS, "th:TH_LOAD_NT", "th:TH_STORE_NT"),
        ("gfx1201", CacheModifier.CV, "th:TH_LOAD_BYPASS scope:SCOPE_SYS", ""),
    ],
)
def test_modifiers(arch: str, modifier: CacheModifier, load: str, store: str) -> None:
    assert words(arch, Access(4, modifier)) == (load, store)


@pytest.mark.parametrize("arch", TARGETS)
def test_what_is_used_once_is_evicted_first(arch: str) -> None:
    once = Access(4, evict=EvictionPolicy.EVICT_FIRST)
    assert all(any(w in said for w in ("nt", "slc", "NT")) for said in words(arch, once))


@pytest.mark.parametrize("row", ARCHITECTURES.values(), ids=str)
def test_volatile_is_the_highest_bit(row: object) -> None:
    family = getattr(row, "family")  # noqa: B009
    assert aux_word(family, Access(4, volatile=True), store=False) == -(1 << 31)


@tri.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr, EVICT: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0, cache_modifier=LOAD, eviction_policy=EVICT)
    tl.store(y + i, v + 1.0, mask=i < n, cache_modifier=STORE, eviction_policy=EVICT)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250"])
@pytest.mark.parametrize(
    ("load", "store", "evict"),
    [
        (".ca", "", ""),
        (".cg", ".cg", ""),
        ("", ".cs", "evict_first"),
        (".cv", ".wt", ""),
        ("", "", "evict_first"),
    ],
)
def test_kernels_keep_their_buffers_and_results(arch: str, load: str, store: str, evict: str) -> None:
    small = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
    constants = {"BLOCK": 256, "LOAD": load, "STORE": store, "EVICT": evict}
    types = {"x": "*fp32", "y": "*fp32", "n": "i32"} | dict.fromkeys(constants, "constexpr")
    source = tri.ASTSource(copy_kernel, types, constants, {(0,): small, (1,): small})
    text = str(tri.compile(source, target=f"amd:{arch}").asm["amdgcn"])
    assert len(re.findall(r"\tbuffer_(?:load|store)_", text)) >= 2
    assert not re.search(r"\t(?:global|flat)_(?:load|store)", text)
    x, y = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    tri.compile(source, target=f"sim:amd:{arch}")[(2, 1, 1)](x, y, 401)
    np.testing.assert_array_equal(y, np.where(np.arange(512) < 401, x + 1, 0))
