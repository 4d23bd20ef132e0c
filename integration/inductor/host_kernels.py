"""The kernels that ``integration.inductor.host_times`` launches, in whatever ``triton`` is."""

# mypy: disable-error-code="import-not-found,import-untyped,misc,untyped-decorator,no-untyped-call"

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

__all__ = ["fresh", "grid"]


def add(x: Any, y: Any, out: Any, n: Any, BLOCK: tl.constexpr) -> None:
    """The sum of ``n`` elements of ``x`` and ``y``."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def fresh() -> tuple[Any, Any]:
    """The kernel, and with its blocks tuned, of which nothing was launched."""
    configs = [triton.Config({"BLOCK": 32}, num_warps=warps) for warps in (1, 2)]
    return triton.jit(add), triton.autotune(configs, key=["n"])(triton.jit(add))


def grid(meta: Any) -> tuple[int]:
    """Programs for 1000 elements."""
    return (triton.cdiv(1000, meta["BLOCK"]),)
