"""Helpers for tests and benchmarks of kernels (``triton.testing``'s names).

Names that belong to one vendor's tools come from that vendor's backend; where it is not installed they raise
:class:`tri_core.errors.Unsupported` when used.
"""

from __future__ import annotations

import importlib
from typing import Any

from tri.testing.bench import check_graphs, do_bench, do_bench_cudagraph, do_bench_graph
from tri.testing.compare import assert_close
from tri.testing.device import get_dram_gbps, get_max_simd_tflops, get_max_tensorcore_tflops
from tri.testing.report import Benchmark, Mark, Table, perf_report
from tri_core.errors import Unsupported

__all__ = [
    "Benchmark",
    "Mark",
    "Table",
    "assert_close",
    "check_graphs",
    "do_bench",
    "do_bench_cudagraph",
    "do_bench_graph",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "perf_report",
]

#: names of Triton's that a vendor's backend may have, with what to do where none has
_VENDORS: dict[str, str] = {
    "cublas": "call the matmul of your array library",
    "do_bench_proton": "use tri.testing.do_bench",
    "do_bench_cudagraph_proton": "use tri.testing.do_bench_cudagraph",
    "nvsmi": "use the vendor's management tool",
    "set_gpu_clock": "set the clocks with the vendor's management tool",
}


def __getattr__(name: str) -> Any:
    from tri_core.plugins import manager

    if name.startswith("__"):
        raise AttributeError(f"module 'tri.testing' has no attribute {name!r}")
    for info in manager().backends().values():
        place = info.testing.get(name)
        if place is not None:
            module, _, attribute = place.partition(":")
            return getattr(importlib.import_module(module), attribute)
    if name not in _VENDORS:
        raise AttributeError(f"module 'tri.testing' has no attribute {name!r}")
    return _refused(name)


def _refused(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        raise Unsupported(
            f"tri.testing.{name} belongs to one vendor's tools, and no installed backend has it",
            remedy=_VENDORS[name],
        )

    refuse.__name__ = name
    return refuse
