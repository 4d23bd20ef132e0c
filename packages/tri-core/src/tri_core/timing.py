"""Timing of the stages of a compile and their passes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Span", "chrome_trace", "span", "spans"]


@dataclass(frozen=True)
class Span:
    """Work of a compile: stage ``stage``, or its pass ``pass_name``; ``start`` and ``seconds`` as ``time.perf_counter`` counts."""

    stage: str
    pass_name: str
    start: float
    seconds: float


_spans: ContextVar[list[Span] | None] = ContextVar("tri_spans", default=None)


@contextmanager
def spans() -> Iterator[list[Span]]:
    """A list that gets what this thread does for compiles inside the ``with`` block, in the order in which it ends."""
    found: list[Span] = []
    token = _spans.set(found)
    try:
        yield found
    finally:
        _spans.reset(token)


@contextmanager
def span(stage: str, pass_name: str = "") -> Iterator[None]:
    """The block is work of ``stage``, or of a pass of it; it counts when it ends well."""
    start = time.perf_counter()
    yield
    found = _spans.get()
    if found is not None:
        found.append(Span(stage, pass_name, start, time.perf_counter() - start))


def chrome_trace(found: Sequence[Span], kernel: str) -> str:
    """``found`` in the Trace Event Format (complete events, microseconds), which chrome://tracing and Perfetto read."""
    begin = min((each.start for each in found), default=0.0)
    events = [
        {
            "name": each.pass_name or each.stage,
            "cat": "pass" if each.pass_name else "stage",
            "ph": "X",
            "ts": round(1e6 * (each.start - begin), 1),
            "dur": round(1e6 * each.seconds, 1),
            "pid": 1,
            "tid": 1,
            "args": {"kernel": kernel, "stage": each.stage},
        }
        for each in sorted(found, key=lambda each: each.start)
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1)
