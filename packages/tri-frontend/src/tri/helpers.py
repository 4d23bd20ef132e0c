"""Small functions for launching code."""

from __future__ import annotations

__all__ = ["cdiv", "next_power_of_2"]


def cdiv(x: int, y: int) -> int:
    """``x / y``, rounded up, of non-negative integers; ZeroDivisionError where ``y`` is 0."""
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least ``n``, which must be an int; 1 for ``n`` of at most 1."""
    return 1 << max(n - 1, 0).bit_length()


# kernels may call them with compile-time values; the mark is that of tri.constexpr_function, which costs an import
for _function in (cdiv, next_power_of_2):
    setattr(_function, "__tri_constexpr_function__", True)  # noqa: B010  a function has no such attribute to mypy
