"""Barriers for LDS alone: what LLVM makes of them, by generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from amd_support import compile_body, llvm_of
from tri_core.mlir import ir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tri_backend_amd.lowering import AmdPrimitives
    from tri_gpu_dialect.lowering import Builder


def kernel(b: Builder, words: AmdPrimitives, arguments: Sequence[ir.Value], *, shared: bool) -> None:
    """A load that is under way at a barrier."""
    thread = words.thread_id(b)
    value = b.load(b.gep(arguments[0], thread, b.i32), b.i32, 4)
    if shared:
        words.shared_barrier(b)
    else:
        words.barrier(b)
    b.store(value, b.gep(arguments[1], thread, b.i32), 4)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx1250"])
def test_rdna_keeps_its_first_level_cache_and_loads_under_way(arch: str) -> None:
    def one(b: Builder, words: AmdPrimitives, arguments: Sequence[ir.Value]) -> None:
        kernel(b, words, arguments, shared=True)

    def all_(b: Builder, words: AmdPrimitives, arguments: Sequence[ir.Value]) -> None:
        kernel(b, words, arguments, shared=False)

    assert "amdgpu-synchronize-as" in llvm_of(arch, one)
    assert "amdgpu-synchronize-as" not in llvm_of(arch, all_)
    invalidates = ("buffer_gl0_inv", "global_inv")
    # LLVM invalidates nothing for a work group on CDNA5
    found = any(name in compile_body(arch, all_).assembly for name in invalidates)
    assert found == (arch != "gfx1250")
    assert "s_wait_loadcnt 0x0" in compile_body(arch, all_).assembly or arch == "gfx1100"
    assert not any(name in compile_body(arch, one).assembly for name in invalidates)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_cdna_s_barrier_is_the_same_where_nothing_is_copied(arch: str) -> None:
    def one(b: Builder, words: AmdPrimitives, arguments: Sequence[ir.Value]) -> None:
        kernel(b, words, arguments, shared=True)

    def all_(b: Builder, words: AmdPrimitives, arguments: Sequence[ir.Value]) -> None:
        kernel(b, words, arguments, shared=False)

    assert llvm_of(arch, one) == llvm_of(arch, all_)
