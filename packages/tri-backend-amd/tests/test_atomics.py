"""Atomics become the processor's instructions, with the caches kept coherent at the scope asked for."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest

from amd_support import TARGETS, compile_body
from tri_backend_amd.hsaco.atomics import on_device_memory
from tri_backend_amd.lowering import AmdPrimitives
from tri_core.dialects.tt.enums import AtomicOp, MemSemantic, MemSyncScope
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import AtomicAccess, Builder

RELAXED = AtomicAccess(MemSemantic.RELAXED, MemSyncScope.GPU)


def relaxed(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value]) -> None:
    thread = hw.thread_id(b)
    hw.atomic_rmw(b, AtomicOp.FADD, b.gep(args[0], thread, b.f32), b.float_(1.5), None, RELAXED)
    hw.atomic_rmw(b, AtomicOp.MAX, b.gep(args[1], thread, b.i32), thread, None, RELAXED)


def ordered(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value], *, scope: MemSyncScope) -> None:
    access = AtomicAccess(MemSemantic.ACQUIRE_RELEASE, scope)
    hw.atomic_rmw(b, AtomicOp.ADD, args[0], hw.thread_id(b), None, access)


@pytest.mark.parametrize("arch", TARGETS)
def test_no_loop_of_swaps_is_made(arch: str) -> None:
    text = compile_body(arch, relaxed).assembly
    assert "global_atomic_add_f32" in text
    assert "global_atomic_max_i32" in text or "global_atomic_smax" in text
    assert "cmpswap" not in text


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_scope_decides_what_is_flushed(arch: str) -> None:
    texts = {
        scope: compile_body(arch, functools.partial(ordered, scope=scope)).assembly
        for scope in (MemSyncScope.CTA, MemSyncScope.GPU, MemSyncScope.SYSTEM)
    }
    assert "buffer_wbl2" not in texts[MemSyncScope.CTA]
    assert "buffer_wbl2 sc1" in texts[MemSyncScope.GPU]
    assert "buffer_wbl2 sc0 sc1" in texts[MemSyncScope.SYSTEM]


def test_other_text_stays_as_it_is() -> None:
    assert on_device_memory("define void @f() {\n  ret void\n}\n") == "define void @f() {\n  ret void\n}\n"
