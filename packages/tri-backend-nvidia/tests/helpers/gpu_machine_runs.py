"""Cases of machine ops on a GPU."""

from __future__ import annotations

import ctypes

import pytest

import cluster_cases  # noqa: F401  more rows of the table
from machine_runs import cubin_of
from tri_backend_nvidia.driver.driver import call

torch = pytest.importorskip("torch")


def on_gpu(case):
    """What the GPU makes of the case."""
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    inputs, outputs = case.arguments()
    arrays = [torch.frombuffer(bytearray(a.tobytes()), dtype=torch.uint8).cuda() for a in (*inputs, *outputs)]
    module = call("cuModuleLoadData", cubin_of(case))
    function = call("cuModuleGetFunction", module, b"k")
    pointers = tuple(a.data_ptr() for a in arrays)
    parameters = (pointers, (ctypes.c_void_p,) * len(pointers))
    call("cuLaunchKernel", function, *case.grid, 32 * case.warps, 1, 1, case.shared, 0, parameters, 0)
    torch.cuda.synchronize()
    call("cuModuleUnload", module)
    chosen = [*case.changes, *range(len(inputs), len(arrays))]
    like = (*inputs, *outputs)
    return [arrays[i].cpu().numpy().view(like[i].dtype).reshape(like[i].shape) for i in chosen]
