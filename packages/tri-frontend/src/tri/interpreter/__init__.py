"""Kernels as Python on NumPy, one program after the other: for debugging, and as a reference."""

from __future__ import annotations

from tri.interpreter.errors import (
    AssertionFailed,
    InvalidAccess,
    KernelDataRace,
    KernelDeadlock,
    KernelError,
    OffsetOverflow,
    OutOfBounds,
)
from tri.interpreting import interpret

__all__ = [
    "AssertionFailed",
    "InvalidAccess",
    "KernelDataRace",
    "KernelDeadlock",
    "KernelError",
    "OffsetOverflow",
    "OutOfBounds",
    "interpret",
]
