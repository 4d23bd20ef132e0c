"""A kernel for the stand-in, its compiled form, and its launch through HIP's runtime of this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tri
import tri.language as tl
from tri_backend_amd.runtime import HipRuntime
from tri_core import knobs
from tri_core.api import KernelImage

N = 64


@tri.jit
def doubled(x: Any, y: Any, add: Any, N: tl.constexpr) -> None:
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, 2 * tl.load(x + i) + add)


def image(target: str = "amd:gfx942", *, carry: bool = True) -> KernelImage:
    """``doubled`` of fp32, which the stand-in can run if it is to ``carry``."""
    types = {"x": "*fp32", "y": "*fp32", "add": "fp32", "N": "constexpr"}
    with knobs.scope(AMD_STANDIN=("gfx942",) if carry else ()):
        made = tri.compile(tri.ASTSource(doubled, types, {"N": N}), target=target)
    found: KernelImage = made.image
    return found


def run(runtime: HipRuntime, index: int, stream: int | None = None) -> npt.NDArray[np.float32]:
    """Launch it on device ``index`` with x of 0, 1, ..., add of 0.5 and two programs: y."""
    device = runtime.devices()[index]
    memory, made = runtime.memory(device), image()
    x, y = np.arange(2 * N, dtype=np.float32), np.zeros(2 * N, np.float32)
    addresses = [memory.alloc(x.nbytes) for _ in range(2)]
    memory.copy_in(addresses[0], x.ctypes.data, x.nbytes)
    launch = runtime.launcher(runtime.load(made, device), made)
    launch((2, 1, 1), stream, [*addresses, 0.5])
    memory.copy_out(y.ctypes.data, addresses[1], y.nbytes)
    for address in addresses:
        memory.free(address)
    return y
