"""Numbers of a profile as text."""

from __future__ import annotations

__all__ = ["amount", "percent", "rate", "seconds"]

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def amount(value: float) -> str:
    """``value`` in three digits with a prefix of 1000: ``1.05 M``."""
    index = 0
    while abs(value) >= 999.5 and index < len(_PREFIXES) - 1:
        value /= 1000
        index += 1
    text = f"{value:.3g}"
    return f"{text} {_PREFIXES[index]}".rstrip()


def rate(value: float, seconds: float | None) -> str:
    """``value`` a second; empty without a time or a value."""
    return amount(value / seconds) if seconds and value else ""


def seconds(value: float | None) -> str:
    """``value`` seconds, in us below a millisecond, in ms below a second; a dash for None."""
    if value is None:
        return "-"
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def percent(share: float | None) -> str:
    """``share`` of 1 in percent; a dash for None."""
    return "-" if share is None else f"{100 * share:.0f} %"
