# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton import runtime as runtime

from tri.testing import Benchmark as Benchmark
from tri.testing import Mark as Mark
from tri.testing import Table as Table
from tri.testing import assert_close as assert_close
from tri.testing import check_graphs as check_graphs
from tri.testing import do_bench as do_bench
from tri.testing import do_bench_cudagraph as do_bench_cudagraph
from tri.testing import do_bench_graph as do_bench_graph
from tri.testing import get_dram_gbps as get_dram_gbps
from tri.testing import get_max_simd_tflops as get_max_simd_tflops
from tri.testing import get_max_tensorcore_tflops as get_max_tensorcore_tflops
from tri.testing import perf_report as perf_report

def __getattr__(name: str) -> _Any: ...
