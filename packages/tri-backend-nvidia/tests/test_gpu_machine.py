"""The simulator against a GPU, bit for bit: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/test_gpu_machine.py``."""

from __future__ import annotations

import ctypes

import pytest

torch = pytest.importorskip("torch")

import cluster_cases  # noqa: E402, F401  more rows of the table
from machine_runs import cubin_of, difference, simulated  # noqa: E402
from tri_backend_nvidia.driver.driver import call  # noqa: E402
from wgmma_cases import CASES  # noqa: E402

pytestmark = pytest.mark.gpu


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


# those of other architectures are here when another file has been read before
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.arch == "sm_90a"])
def test_the_simulator_gives_what_the_gpu_gives(name) -> None:
    case = CASES[name]
    assert difference(case, on_gpu(case), simulated(case)) == ""
