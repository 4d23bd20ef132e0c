"""Writes what the original compiler prints for kernels of ours, as data for the tests of IR text.

    PYTHON integration/make_original_text.py

``PYTHON`` is an interpreter that has Triton 3.9 (no GPU is needed, nor anything of ours).  TTIR goes to the tests
of tri-core, TTGIR for a target without matrix units or asynchronous copies to those of the GPU dialect.
"""

from __future__ import annotations

from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

PACKAGES = Path(__file__).parents[1] / "packages"


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=0.0, eviction_policy="evict_first")
    tl.store(y + offsets, (value * factor).to(tl.float16), mask=mask, cache_modifier=".cg")


@triton.jit
def rows(x, y, best, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + columns, mask=columns < n, other=-float("inf"))
    shifted = tl.exp(value - tl.max(value, axis=0))
    total = tl.cumsum(shifted, axis=0)
    tl.store(y + row * stride + columns, total / tl.sum(shifted, axis=0), mask=columns < n)
    tl.store(best + row, tl.argmax(value, axis=0))


@triton.jit
def matmul(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    at = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, k, K):
        left = tl.load(a + m[:, None] * k + (at + step)[None, :])
        right = tl.load(b + (at + step)[:, None] * N + n[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], tl.trans(tl.trans(total)))


@triton.jit
def search(x, out, limit, BLOCK: tl.constexpr):
    found = 0
    at = tl.program_id(1)
    while at < limit:
        if tl.load(x + at) > 3:
            found += 1
        else:
            found -= at
        at += BLOCK
    tl.atomic_add(out, found, sem="release")
    tl.atomic_cas(out + 1, 0, found)


@triton.jit
def shapes(x, y, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    left, right = tl.split(tl.reshape(value, (BLOCK // 2, 2)))
    joined = tl.join(right, left)
    counts = tl.histogram(joined.reshape(BLOCK).to(tl.int32), 16)
    gathered = tl.gather(counts, tl.arange(0, 16) ^ 3, axis=0)
    tl.device_print("gathered", gathered)
    tl.device_assert(gathered >= 0, "a count is negative")
    tl.store(y + tl.arange(0, 16), tl.cat(gathered, gathered, can_reorder=True).reshape(2, 16).sum(axis=0))


FP, INT = "*fp32", "*i32"
KERNELS = [
    (scale, {"x": FP, "y": "*fp16", "n": "i32", "factor": "fp32"}, {"BLOCK": 512}, [0, 1]),
    (rows, {"x": FP, "y": FP, "best": INT, "stride": "i32", "n": "i32"}, {"BLOCK": 256}, [0, 3]),
    (matmul, {"a": FP, "b": FP, "c": FP, "k": "i32"}, {"M": 32, "N": 64, "K": 16}, []),
    (search, {"x": INT, "out": INT, "limit": "i32"}, {"BLOCK": 64}, []),
    (shapes, {"x": FP, "y": INT}, {"BLOCK": 128}, []),
]


def main() -> None:
    """Compile each kernel and write its two texts."""
    here = str(Path(__file__).resolve().parent)
    for kernel, arguments, constants, aligned in KERNELS:
        signature = arguments | dict.fromkeys(constants, "constexpr")
        attributes = {(i,): [["tt.divisibility", 16]] for i in aligned}
        source = ASTSource(kernel, signature, constants, attributes)
        compiled = triton.compile(
            source, target=GPUTarget("cuda", 75, 32), options={"num_warps": 4, "debug": True}
        )
        for package, stage in (("tri-core", "ttir"), ("tri-gpu-dialect", "ttgir")):
            text = compiled.asm[stage].replace(triton.__path__[0], "triton").replace(here, "integration")
            path = PACKAGES / package / "tests" / "text" / "original" / f"{kernel.__name__}.{stage}"
            path.write_text(text)


if __name__ == "__main__":
    main()
