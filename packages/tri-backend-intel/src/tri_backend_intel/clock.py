"""Conversion of a device's clock to nanoseconds, by a specialization constant of the module.

GPUs count ticks of the time stamp register ``tm0``, the CPU device nanoseconds.  The factor is that of the highest frequency, which the
driver says when the kernel is loaded, or else :attr:`.architectures.Architecture.ticks`.  So a timeout may end late, and never early.
"""

from __future__ import annotations

__all__ = ["CLOCK_FACTOR", "clock_factor"]

#: SpecId of 1024 over the ticks that a device's clock counts in a nanosecond
CLOCK_FACTOR = 1


def clock_factor(ticks: float) -> int:
    """The value of :data:`CLOCK_FACTOR` for ``ticks`` in a nanosecond, rounded down: less time is seen than passes."""
    return int(1024 / ticks)
