"""Cache modifiers and eviction policies as decorations of pointers."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_intel.spirv.cache_controls import on_casts, with_cache_controls

#: what a kernel asks for -> decoration and control of the extension SPV_INTEL_cache_controls
LOADS = {
    ("", ""): None,
    (".ca", ""): "CacheControlLoadINTEL 0 CachedINTEL",
    (".cg", ""): "CacheControlLoadINTEL 0 UncachedINTEL",
    (".cg", "evict_last"): "CacheControlLoadINTEL 0 UncachedINTEL",
    ("", "evict_first"): "CacheControlLoadINTEL 0 StreamingINTEL",
    ("", "evict_last"): "CacheControlLoadINTEL 0 CachedINTEL",
    (".cv", ""): None,  # volatile
}
STORES = {
    ("", ""): None,
    (".wb", ""): "CacheControlStoreINTEL 0 WriteBackINTEL",
    (".cg", ""): "CacheControlStoreINTEL 0 UncachedINTEL",
    (".cs", ""): "CacheControlStoreINTEL 0 StreamingINTEL",
    (".wt", ""): "CacheControlStoreINTEL 0 WriteThroughINTEL",
    ("", "evict_first"): "CacheControlStoreINTEL 0 StreamingINTEL",
    ("", "evict_last"): "CacheControlStoreINTEL 0 WriteBackINTEL",
}
CONTROL = re.compile(r"OpDecorate (%\S+) (CacheControl\w+ \d \w+)")


@tri.jit
def scaled(x, y, n, LC: tl.constexpr, LE: tl.constexpr, SC: tl.constexpr, SE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    loaded = tl.load(x + i, mask=i < n, other=0.0, cache_modifier=LC, eviction_policy=LE)
    tl.store(y + i, loaded * 2, mask=i < n, cache_modifier=SC, eviction_policy=SE)


@tri.jit
def halves(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    first = tl.load(x + i, mask=mask, other=0.0, cache_modifier=".cg")
    second = tl.load(x + n + i, mask=mask, other=0.0, eviction_policy="evict_first")
    tl.store(y + i, first + second, mask=mask, cache_modifier=".cs")


def constants(load: tuple[str, str], store: tuple[str, str]) -> dict[str, Any]:
    return {"LC": load[0], "LE": load[1], "SC": store[0], "SE": store[1], "B": 256}


@cache
def compiled(arch: str, load: tuple[str, str] = ("", ""), store: tuple[str, str] = ("", "")) -> Any:
    known = constants(load, store)
    types = {
        name: "constexpr" if name in known else "i32" if name == "n" else "*fp32" for name in scaled.arg_names
    }
    hints = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    return tri.compile(tri.ASTSource(scaled, types, known, hints), target=f"intel:{arch}")


def text_of(kernel: Any) -> str:
    if shutil.which("spirv-dis") is None:
        pytest.skip("no spirv-dis")
    return str(kernel.asm["spvasm"])


@pytest.mark.parametrize("load", LOADS)
def test_loads(load: tuple[str, str]) -> None:
    found = {control for _, control in CONTROL.findall(text_of(compiled("pvc", load)))}
    assert found == ({LOADS[load]} if LOADS[load] else set())


@pytest.mark.parametrize("store", STORES)
def test_stores(store: tuple[str, str]) -> None:
    found = {control for _, control in CONTROL.findall(text_of(compiled("pvc", store=store)))}
    assert found == ({STORES[store]} if STORES[store] else set())


def test_every_access_goes_through_a_decorated_pointer() -> None:
    """What a driver looks at is the pointer of the access itself, behind casts."""
    text = text_of(compiled("pvc", (".cg", ""), (".cs", "")))
    decorated = {name for name, _ in CONTROL.findall(text)}
    loads = re.findall(r"OpLoad %v4float (%\S+)", text)
    stores = re.findall(r"OpStore (%\S+)", text)
    assert loads
    assert stores
    assert {*loads, *stores} <= decorated


def test_extension_and_capability_are_declared_where_they_are_used() -> None:
    attrs = compiled("bmg", (".cg", "")).metadata.attrs
    assert "SPV_INTEL_cache_controls" in attrs["spirv_extensions"]
    assert "CacheControlsINTEL" in attrs["spirv_capabilities"]
    assert "SPV_INTEL_cache_controls" not in compiled("bmg").metadata.attrs["spirv_extensions"]


def test_the_driver_for_cpus_gets_none() -> None:
    assert not CONTROL.findall(text_of(compiled("opencl-cpu", (".cg", ""), (".cs", ""))))


def test_modules_are_valid(tmp_path: Path) -> None:
    validator = shutil.which("spirv-val")
    if validator is None:
        pytest.skip("no spirv-val")
    (tmp_path / "k.spv").write_bytes(compiled("pvc", (".cg", ""), (".cs", "")).asm["spv"])
    subprocess.run([validator, str(tmp_path / "k.spv")], check=True)


@pytest.mark.parametrize("target", ["sim:intel:pvc", "sim:intel:opencl-cpu"])
def test_results_stay(target: str) -> None:
    n = 500
    x, y = np.arange(2 * n, dtype=np.float32), np.full(n + 12, -1, np.float32)
    with tri.target(target):
        halves[(2,)](x, y, n, B=256)
    np.testing.assert_array_equal(y[:n], x[:n] + x[n:])
    np.testing.assert_array_equal(y[n:], -1)


# --- text and binary ----------------------------------------------------------------------------------------

TEXT = """\
define spir_kernel void @k(ptr addrspace(1) %x, i64 %i) {
  %p = getelementptr float, ptr addrspace(1) %x, i64 %i
  %q = tail call spir_func ptr addrspace(1) @tri_cache_control_6442_0(ptr addrspace(1) %p)
  %r = call spir_func ptr addrspace(1) @tri_cache_control_6443_3(ptr addrspace(1) nonnull %q)
  %s = call spir_func ptr addrspace(1) @tri_cache_control_6442_2(ptr addrspace(1) %p)
  %t = call spir_func ptr addrspace(1) @tri_cache_control_6442_2(ptr addrspace(1) %x)
  %v = load float, ptr addrspace(1) %q
  store float %v, ptr addrspace(1) %r
  store float %v, ptr addrspace(1) %t
  ret void
}

declare spir_func ptr addrspace(1) @tri_cache_control_6442_0(ptr addrspace(1))
!7 = !{i32 16}"""


def test_calls_become_metadata_of_what_computes_the_pointer() -> None:
    lines = with_cache_controls(TEXT).split("\n")
    assert "  %p = getelementptr float, ptr addrspace(1) %x, i64 %i, !spirv.Decorations !8" in lines
    assert "  %v = load float, ptr addrspace(1) %p" in lines
    assert "  store float %v, ptr addrspace(1) %p" in lines
    assert "  store float %v, ptr addrspace(1) %x" in lines  # a parameter has no place for it
    # of two controls of loads, the first
    assert lines[-1] == "!8 = !{!{i32 6442, i32 0, i32 0}, !{i32 6443, i32 0, i32 3}}"
    assert "tri_cache_control" not in "\n".join(lines)


def test_other_text_and_modules_stay() -> None:
    assert with_cache_controls("define void @k() {\n}") == "define void @k() {\n}"
    module = compiled("pvc").asm["spv"]
    assert on_casts(module) == module
