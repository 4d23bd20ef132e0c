"""A profile as a flame chart: the Trace Event Format, which Perfetto and chrome://tracing read."""

from __future__ import annotations

import json
from typing import Any

from tri.profiling.records import Profile

__all__ = ["trace"]


def trace(profile: Profile) -> str:
    """``profile`` as JSON: a process for each target, a thread for each stream; a launch is a complete event (microseconds).

    A launch starts when the host asked for it, or when the one before on its stream ended; one without a time is an instant.
    """
    events: list[dict[str, Any]] = []
    targets = {target: i for i, target in enumerate(dict.fromkeys(k.target for k in profile.kernels), 1)}
    for target, number in targets.items():
        events.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": target}})
    ends: dict[tuple[int, int], float] = {}
    launches = [(launch, kernel) for kernel in profile.kernels for launch in kernel.launches]
    for launch, kernel in sorted(launches, key=lambda pair: pair[0].start):
        where = targets[kernel.target], launch.stream or 0
        event: dict[str, Any] = {
            "name": kernel.name,
            "cat": "kernel",
            "pid": where[0],
            "tid": where[1],
            "args": {"grid": list(launch.grid), "scope": "/".join(launch.scopes), "hash": kernel.hash},
        }
        start = max(launch.start, ends.get(where, 0.0))
        event["ts"] = round(1e6 * start, 3)
        if launch.seconds is None:
            events.append({**event, "ph": "i", "s": "t"})
            continue
        ends[where] = start + launch.seconds
        events.append({**event, "ph": "X", "dur": round(1e6 * launch.seconds, 3)})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1)
