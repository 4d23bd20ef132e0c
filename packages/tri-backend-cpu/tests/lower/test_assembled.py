"""Inline assembly that is not this processor's: refused in a few words, where it stands."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import Unsupported


@tri.jit
def assembled(x: Any, o: Any, ASSEMBLY: tl.constexpr, CONSTRAINTS: tl.constexpr) -> None:
    i = tl.arange(0, 16)
    v = tl.inline_asm_elementwise(
        ASSEMBLY, CONSTRAINTS, [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(o + i, v)


def launched(assembly: str, constraints: str = "=r,r") -> np.ndarray:
    x = np.arange(16, dtype=np.int32)
    o = np.zeros_like(x)
    with tri.target("cpu"):
        assembled[(1,)](x, o, assembly, constraints)
    return o


REFUSED = {
    "AMD's": ("v_add_u32 $0, $1, $1", "line 1 ('v_add_u32 $0, $1, $1')"),
    "Arm's vectors": ("nop\nfmla v0.4s, v1.4s, v2.4s\nnop", "line 2 ('fmla v0.4s, v1.4s, v2.4s')"),
    "RISC-V's": ("addi a0, a0, 1", "line 1 ('addi a0, a0, 1')"),
    "a register": ("mov %rax, %eaxx", "line 1 ('mov %rax, %eaxx')"),
    "no instruction": ("{", "line 1 ('{')"),
    "an operand that is not given": ("nop $7", "$ operand"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_machines_assembly(name: str) -> None:
    assembly, words = REFUSED[name]
    with pytest.raises(Unsupported, match="inline assembly does not assemble for cpu:") as caught:
        launched(assembly)
    error = caught.value
    assert words in error.message
    assert len(str(error)) < 800
    assert error.location is not None
    assert error.location.file == __file__
    assert "ASSEMBLY, CONSTRAINTS, [tl.load" in str(error)
    assert "tl.target_info" in str(error.remedy)


def test_registers_that_it_has_not() -> None:
    with pytest.raises(Unsupported, match="constraint 'w'"):
        launched("nop", "=w,w")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the assembly is x86's")
def test_what_assembles_runs() -> None:
    np.testing.assert_array_equal(launched("movl $1, $0\naddl $$3, $0"), np.arange(16) + 3)
