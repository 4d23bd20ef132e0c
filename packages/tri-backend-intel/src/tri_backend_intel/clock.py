"""How a device's clock becomes nanoseconds: by a specialization constant of the module."""

from __future__ import annotations

__all__ = ["CLOCK_FACTOR", "clock_factor"]

#: SpecId of 1024 over the ticks that a device's clock counts in a nanosecond
CLOCK_FACTOR = 1


def clock_factor(ticks: float) -> int:
    """The value of :data:`CLOCK_FACTOR` for ``ticks`` in a nanosecond, rounded down: less time is seen than passes."""
    return int(1024 / ticks)
