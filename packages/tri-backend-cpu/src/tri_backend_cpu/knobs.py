"""Environment knobs of the CPU backend."""

from __future__ import annotations

import os
from pathlib import Path

from tri_core.api import Knob, KnobGroup
from tri_core.knobs import parse_size

__all__ = ["KNOBS"]


def _threads(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError("write a number of threads, at least 1")
    return count


def _default_threads() -> int:
    """The processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _last_cache() -> int:
    """Bytes of the last level of cache; 32 MiB where the system does not tell."""
    sizes = []
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            sizes.append(parse_size(file.read_text()))
        except (OSError, ValueError):
            continue
    return max(sizes, default=32 << 20)


KNOBS = KnobGroup(
    prefix="CPU",
    knobs=(
        Knob(
            name="CPU_THREADS",
            default=_default_threads(),
            parse=_threads,
            help="threads that share the programs of a launch; the processors of this process by default",
        ),
        Knob(
            name="CPU_STREAM_BYTES",
            default=_last_cache() // 2,
            parse=parse_size,
            help="a launch that stores this much writes past the caches; half of the last cache by default",
        ),
    ),
)
