"""CUDA graphs: launches that the driver records once and repeats without the host.

CUDA Driver API, "Graph Management".  Where PyTorch uses CUDA, its own graphs record, because its allocator has
to know; otherwise a stream of ours does.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tri_backend_nvidia.driver.driver import call, driver
from tri_backend_nvidia.driver.streams import framework_stream, instead_of

__all__ = ["capture", "outside_of_captures"]


class _Graph:
    """Recorded launches; calling it enqueues them on the current stream of device ``index``."""

    def __init__(self, executable: Any, index: int) -> None:
        self._executable, self._index = executable, index
        weakref.finalize(self, call, "cuGraphExecDestroy", executable)

    def __call__(self) -> None:
        call("cuGraphLaunch", self._executable, driver().CUstream(framework_stream(self._index)))


def capture(function: Callable[[], object], index: int) -> Callable[[], None]:
    """Function that replays the launches by ``function`` on device ``index``, whose context is current.

    A kernel that is loaded meanwhile is loaded now, and its launch recorded.  DeviceError for what cannot be recorded,
    such as waiting.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            function()
        replay: Callable[[], None] = graph.replay
        return replay
    return _capture_with_driver(function, index)


def _capture_with_driver(function: Callable[[], object], index: int) -> _Graph:
    bindings = driver()
    stream = call("cuStreamCreate", bindings.CUstream_flags.CU_STREAM_NON_BLOCKING)
    try:
        mode = bindings.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        call("cuStreamBeginCapture", stream, mode)
        try:
            with instead_of(int(stream)):
                function()
        finally:
            graph = call("cuStreamEndCapture", stream)  # also after an error, before it is destroyed
        try:
            return _Graph(call("cuGraphInstantiate", graph, 0), index)
        finally:
            call("cuGraphDestroy", graph)
    finally:
        call("cuStreamDestroy", stream)


@contextmanager
def outside_of_captures() -> Iterator[None]:
    """A block in which this thread may do what captures forbid because they do not record it: to load a module, say.

    CUDA Driver API, ``cuThreadExchangeStreamCaptureMode``.
    """
    relaxed = driver().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = call("cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", before)
