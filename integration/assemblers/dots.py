"""Dots in straight lines, compiled by tri and assembled by one ptxas: machine code has every matrix instruction that PTX has.

ptxas 13.3.73 to 13.5.37 drops a ``wgmma`` as a copy of the one before it where both name the same registers, although their descriptors are
written anew in between: of a dot with k of 32 half is lost.  Values are not evaluated here: an instruction that is missing is missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tri
import tri.language as tl
from integration.assemblers.net import disassembled

__all__ = ["Dot", "dots", "missing", "text"]

#: PTX's matrix instructions, and what they are in machine code
_PTX = re.compile(r"\bwgmma\.mma_async\b|\bmma\.sync\b")
_SASS = re.compile(r"\b[HIQBD](?:GMMA|MMA)\b")


@tri.jit
def added(a: Any, b: Any, c: Any, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr) -> None:
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.load(c + i[:, None] * BN + j[None, :])
    x, y = tl.load(a + i[:, None] * BK + k[None, :]), tl.load(b + k[:, None] * BN + j[None, :])
    tl.store(c + i[:, None] * BN + j[None, :], tl.dot(x, y, total))


@tri.jit
def constant(a: Any, b: Any, c: Any, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr) -> None:
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x, y = tl.load(a + i[:, None] * BK + k[None, :]), tl.load(b + k[:, None] * BN + j[None, :])
    total = tl.full((BM, BN), 3, c.dtype.element_ty)
    tl.store(c + i[:, None] * BN + j[None, :], tl.dot(x, y, total))


@tri.jit
def repeated(a: Any, b: Any, c: Any, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr) -> None:
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x, y = tl.load(a + i[:, None] * BK + k[None, :]), tl.load(b + k[:, None] * BN + j[None, :])
    total = tl.dot(x, y, out_dtype=c.dtype.element_ty)
    for _ in tl.static_range(3):
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * BN + j[None, :], total)


@tri.jit
def transposed(a: Any, b: Any, c: Any, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr) -> None:
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.load(c + i[:, None] * BN + j[None, :])
    x, y = tl.load(a + k[:, None] * BM + i[None, :]), tl.load(b + j[:, None] * BK + k[None, :])
    tl.store(c + i[:, None] * BN + j[None, :], tl.dot(tl.trans(x), tl.trans(y), total))


@dataclass(frozen=True)
class Dot:
    """A kernel of one block: ``shape`` is (m, n, k), ``a`` the operands' and ``c`` the sum's type."""

    kernel: Any
    shape: tuple[int, int, int]
    a: str
    c: str
    num_warps: int

    @property
    def name(self) -> str:
        """Kernel, shape, types and warps."""
        shape = "x".join(map(str, self.shape))
        return f"{self.kernel.fn.__name__} {shape} {self.a} {self.c} w{self.num_warps}"


def dots() -> Iterator[Dot]:
    """All of the table: each form by shapes that take one to eight instructions a warp group, and by types."""
    for kernel in (added, constant, repeated, transposed):
        for m, warps in ((64, 4), (128, 4), (128, 8)):
            for n in (16, 32, 64, 128):
                for k in (16, 32, 64, 128):
                    yield Dot(kernel, (m, n, k), "fp16", "fp32", warps)
        for shape in ((64, 32, 32), (64, 64, 32), (64, 32, 64), (128, 64, 64)):
            yield Dot(kernel, shape, "bf16", "fp32", 4)
            yield Dot(kernel, shape, "fp16", "fp16", 4)
            yield Dot(kernel, shape, "fp8e4nv", "fp32", 4)
            yield Dot(kernel, shape, "i8", "i32", 4)


def text(dot: Dot, target: str = "nvidia:sm_90a") -> str:
    """PTX of ``dot``."""
    signature = {"a": f"*{dot.a}", "b": f"*{dot.a}", "c": f"*{dot.c}"}
    constants = dict(zip(("BM", "BN", "BK"), dot.shape, strict=True))
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = tri.ASTSource(dot.kernel, signature, constants, aligned)
    return str(tri.compile(source, target, {"num_warps": dot.num_warps}).asm["ptx"])


def missing(ptx: str, ptxas: Path, nvdisasm: Path, architecture: str = "sm_90a") -> int:
    """Matrix instructions of ``ptx``, straight-line code, that the machine code of ``ptxas`` has not; below 0 where it has more."""
    wanted = len(_PTX.findall(ptx))
    made = disassembled(ptxas, nvdisasm, ptx, architecture)
    return wanted - sum(bool(_SASS.search(line)) for lines in made.values() for line in lines)
