"""Kernels as Inductor writes them, compiled for GPUs that are not here by a worker whose driver libraries are blocked."""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call"

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile, _load_triton_kernel_from_source
from torch._inductor.runtime.compile_tasks import _worker_compile_triton

from tri_core.lazy_dataclasses import dataclass

__all__ = ["GPUS", "Gpu", "compiled_by_worker"]

#: what the worker runs: an indirect load with its assertion, behind a guard against drivers
SOURCE = """
import sys

DRIVERS = ("libcuda.so", "libamdhip64", "libhsa-runtime", "libze_loader", "libsycl")

def blocked(event, args):
    if event == "ctypes.dlopen" and any(name in str(args[0]) for name in DRIVERS):
        raise OSError(f"{{args[0]}} is blocked")

sys.addaudithook(blocked)

import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties

triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={{"x": 4096}},
    filename=__file__,
    triton_meta={{
        "signature": {{"in_ptr0": "*i64", "in_ptr1": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}},
        "device": DeviceProperties(
            type={type!r}, index=0, multi_processor_count=64, cc={cc!r}, major=9, regs_per_multiprocessor=65536,
            max_threads_per_multi_processor=2048, warp_size={warp},
        ),
        "constants": {{}},
        "configs": [{{(i,): [["tt.divisibility", 16]] for i in range(4)}}],
    }},
    inductor_meta={{"kernel_name": "triton_poi_fused_0", "mutated_arg_names": [], "force_disable_caches": True}},
    min_elem_per_thread=0,
)
@triton.jit
def triton_poi_fused_0(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + xindex, xmask)
    tl.device_assert(((0 <= tmp0) & (tmp0 < 100)) | ~xmask, "index out of bounds")
    tmp1 = tl.load(in_ptr1 + tmp0, xmask)
    tl.store(out_ptr0 + xindex, triton_helpers.maximum(tmp1, 0), xmask)
"""


@dataclass(frozen=True)
class Gpu:
    """A GPU as Inductor names it, the target of tri's that it is, and the image that the static launcher takes ("": none)."""

    type: str
    cc: int | str
    warp: int
    target: str
    image: str = ""


GPUS = (
    Gpu("cuda", 80, 32, "nvidia:sm_80", "cubin"),
    Gpu("cuda", 90, 32, "nvidia:sm_90a", "cubin"),
    Gpu("cuda", 100, 32, "nvidia:sm_100a", "cubin"),
    Gpu("hip", "gfx942", 64, "amd:gfx942", "hsaco"),
    Gpu("xpu", "pvc", 32, "intel:pvc"),
)


def compiled_by_worker(gpu: Gpu, folder: Path, **options: Any) -> Any:
    """Inductor's record of the kernel for ``gpu``, as it comes back from a worker with Inductor's ``options``; images are in ``folder``."""
    config.compile_threads = 2
    source = SOURCE.format(type=gpu.type, cc=gpu.cc, warp=gpu.warp)
    load = partial(_load_triton_kernel_from_source, "triton_poi_fused_0", source)
    settings = {"TRI_TARGET": gpu.target, "TRITON_CACHE_DIR": str(folder)}
    job = AsyncCompile.process_pool().submit(_worker_compile_triton, load, settings, options)
    kernel, _ = job.result(timeout=300)
    kernel.restore_after_unpickle(None)
    return kernel
