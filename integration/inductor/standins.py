"""``python -m integration.inductor.standins [hip] [xpu]``: Inductor's kernel, compiled by a worker without a driver, on a driver that stands in for a GPU's.

The worker's driver libraries are blocked (:mod:`integration.inductor.workers`).  What comes back is launched by ``kernel.run``, as Inductor
does, on a device of tri's stand-in for HIP or Level Zero, whose devices are simulators, and compared with eager.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tri_core.compiler import CompiledKernel

__all__ = ["STANDINS", "main", "run_on_device"]

#: by Inductor's name of the GPU, what has its runtime be the stand-in
STANDINS = {
    "hip": {"TRI_AMD_STANDIN": "gfx942"},
    "xpu": {"TRI_INTEL_STANDIN": "pvc", "TRI_INTEL_DRIVER": "level_zero"},
}
_ELEMENTS, _ROWS = 3000, 100


def run_on_device(made: CompiledKernel, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
    """Launch ``made`` as Inductor does, with copies of the tensors in the memory of its target's first device; the tensors get what it leaves there.

    ``arguments``: of all parameters, in order.
    """
    from tri_core.target_selection import resolve
    from tri_runtime import Buffer, runtime

    owner: Any = runtime(resolve(made.metadata.target).device_kind)
    device = owner.devices()[0]
    memory = owner.memory(device)
    source: Any = made.src
    types = {p.name: p.type.removeprefix("*") for p in made.metadata.signature.parameters}
    with ExitStack() as stack:
        given = list(arguments)
        buffers: dict[int, Any] = {}
        for i, (name, value) in enumerate(zip(source.fn.arg_names, arguments, strict=True)):
            if not hasattr(value, "untyped_storage"):
                continue
            storage = value.untyped_storage()
            buffers[i] = stack.enter_context(Buffer(memory, max(storage.nbytes(), 1), device))
            buffers[i].copy_from(storage.data_ptr(), storage.nbytes())
            given[i] = buffers[i].argument(types[name])
        made._init_handles()
        stream = owner.current_stream(device)
        made.run(*grid, stream, made.function, made.packed_metadata, None, None, None, *given)
        for i, buffer in buffers.items():
            storage = arguments[i].untyped_storage()
            buffer.copy_to(storage.data_ptr(), storage.nbytes())


def _versions(name: str) -> tuple[int, int]:
    """Number of versions of the kernel for GPU ``name`` that the worker made, and number of eager's."""
    import torch

    from integration.inductor.workers import GPUS, compiled_by_worker

    (gpu,) = (gpu for gpu in GPUS if gpu.type == name)
    indices = torch.randint(0, _ROWS, (_ELEMENTS,))
    table = torch.randn(_ROWS)
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        results = compiled_by_worker(gpu, Path(folder), use_static_cuda_launcher=False).compile_results
    for result in results:
        out = torch.full((_ELEMENTS,), float("nan"))
        block = result.config.kwargs["XBLOCK"]
        run_on_device(result.kernel, (-(-_ELEMENTS // block), 1, 1), (indices, table, out, _ELEMENTS, block))
        right += bool((out == table[indices].relu()).all())
    return len(results), right


def main() -> int:
    """Compile and launch for the GPUs that are named; 1 where a version is not eager's."""
    parser = argparse.ArgumentParser(prog="python -m integration.inductor.standins", description=__doc__)
    parser.add_argument("gpus", nargs="*", help=f"of {', '.join(STANDINS)}; all by default")
    given = parser.parse_args()
    import tri.compat.triton

    tri.compat.triton.install()
    wrong = 0
    for name in given.gpus or STANDINS:
        os.environ |= STANDINS[name]  # before the workers begin, whose images carry what a stand-in runs
    for name in given.gpus or STANDINS:
        number, right = _versions(name)
        print(f"{name}: {right} of {number} versions are eager's", flush=True)
        wrong += right != number or not number
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
