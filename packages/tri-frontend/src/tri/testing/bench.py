"""Timing calls by the clock of the device that they launch on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import Place, ReadOnly, array_reader, place_like
from tri_core.errors import TriError, Unsupported
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.launch.hooks import LaunchFacts
    from tri_core.runtime import Runtime
    from tri_core.target import DeviceInfo
    from tri_runtime.benchmark import ReturnMode

__all__ = ["check_graphs", "do_bench", "do_bench_cudagraph", "do_bench_graph", "quantiles_of", "summarize"]


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: ReturnMode = "mean",
    *,
    runtime: Runtime | None = None,
) -> Any:
    """Milliseconds that ``fn()`` keeps its device busy, with the caches flushed before each run.

    ``warmup`` and ``rep`` are milliseconds to spend; ``grad_to_none``: tensors whose ``grad`` is cleared before
    each run; ``quantiles``: those of the times instead (a number for one of them); ``return_mode``: ``mean``,
    ``median``, ``min``, ``max`` or ``all``.  The device is that of the kernels that ``fn`` launches, or of the arrays that it gives.
    ValueError for another ``return_mode``, or a quantile outside of 0 to 1; what ``fn`` raises reaches the caller.
    """
    from tri_runtime.benchmark import do_bench as bench

    owner = runtime if runtime is not None else _runtime_of(fn)
    flush = getattr(owner, "flush_cache", None)
    cleared = list(grad_to_none or ())

    def prepare() -> None:
        for tensor in cleared:
            tensor.grad = None
        if flush is not None:
            flush()

    found = bench(
        fn, owner, warmup=warmup, rep=rep, quantiles=quantiles, return_mode=return_mode, flush=prepare
    )
    return _one_of(found, quantiles)


def do_bench_graph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: ReturnMode = "mean",
    *,
    runtime: Runtime | None = None,
) -> Any:
    """As :func:`do_bench`, of launches that the device's driver recorded once and repeats without the host.

    Unsupported where the runtime of the device cannot record.
    """
    from tri_runtime.benchmark import do_bench as bench

    owner = runtime if runtime is not None else _runtime_of(fn)
    check_graphs(owner)
    for tensor in grad_to_none or ():
        tensor.grad = None
    fn()  # compiles and loads, which cannot be recorded
    owner.synchronize()
    replay = owner.capture(fn)  # type: ignore[attr-defined]  # what check_graphs looks for
    found = bench(replay, owner, warmup=0, rep=rep, quantiles=quantiles, return_mode=return_mode)
    return _one_of(found, quantiles)


def summarize(
    times: Sequence[float], quantiles: Sequence[float] | None = None, return_mode: ReturnMode = "mean"
) -> Any:
    """Result of :func:`do_bench` for ``times`` with ``quantiles`` and ``return_mode``; ValueError as there."""
    from tri_runtime.benchmark import summarize as summary

    return _one_of(summary(times, quantiles, return_mode), quantiles)


def quantiles_of(a: Sequence[float], q: Sequence[float]) -> list[float]:
    """The quantiles ``q`` of the times ``a``, linear between neighbours; ValueError for one outside of 0 to 1."""
    from tri_runtime.benchmark import summarize as summary

    found = summary(a, q)
    assert isinstance(found, list)
    return found


def _one_of(found: float | list[float], quantiles: Sequence[float] | None) -> Any:
    """``found``; a number where one quantile was asked for."""
    return found[0] if isinstance(found, list) and quantiles is not None and len(found) == 1 else found


#: the name that users know
do_bench_cudagraph = do_bench_graph


def check_graphs(runtime: Runtime) -> None:
    """Unsupported unless ``runtime`` can record launches (has ``capture(function)``)."""
    if getattr(runtime, "capture", None) is None:
        raise Unsupported(
            f"the runtime of {runtime.device_kind!r} devices cannot record launches as a graph",
            remedy="time with tri.testing.do_bench, or autotune without graphs",
        )


def _runtime_of(fn: Callable[[], Any]) -> Runtime:
    """The runtime of the device on which ``fn``, called once, works.

    That is where it launches kernels; else the target of a ``tri.target`` block; else where the arrays are that it gives;
    else PyTorch's accelerator, or the host where PyTorch has none; else, without PyTorch, the default target's device.
    """
    from tri.context import chosen
    from tri.launch.hooks import LAUNCH_ENTER
    from tri_core.target_selection import default, for_host, resolve
    from tri_runtime import runtime

    thread = threading.get_ident()
    kinds: list[str] = []

    def note(facts: LaunchFacts) -> None:
        if threading.get_ident() == thread:
            kinds.append(resolve(facts.target).device_kind)

    LAUNCH_ENTER.add(note)
    try:
        given = fn()
    finally:
        LAUNCH_ENTER.remove(note)
    if kinds:
        return runtime(kinds[-1])
    choice = chosen()
    if choice is not None:
        return runtime(choice.target.device_kind)
    place = _place_of(given)
    if place is None:
        return runtime(default().device_kind)
    return runtime(for_host().device_kind if place.device is None else place.device.kind)


@dataclass(frozen=True)
class _Where:
    """Place where a function works: ``device``, or the host for None."""

    device: DeviceInfo | None


def _place_of(given: Any) -> _Where | None:
    """Place of a function's result; None if it has none."""
    for item in given if isinstance(given, (tuple, list)) else (given,):
        try:
            place = array_reader(type(item))(item)[2]
        except (LookupError, TriError):
            continue
        return _Where(_device_of(place))
    if "torch" in sys.modules:
        return _Where(_device_of(place_like(None)))
    return None


def _device_of(place: Place | ReadOnly | None) -> DeviceInfo | None:
    where = place.place if isinstance(place, ReadOnly) else place
    return None if where is None else where.device
