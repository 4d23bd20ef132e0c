"""Recorded kernels compiled: by Triton where it is installed, else by tri.

``PYTHON -m integration.strangers.compiling KERNELS FOLDER JOBS`` compiles the jobs (lines of ``KEY TARGET``) of the file ``JOBS`` and writes
``FOLDER/KEY.TARGET.json`` for each: ``code`` (of NVIDIA's GPUs in base64), ``shared``, ``warps``, ``ms``, ``remarks``; or ``error``.
A line with the job on the output goes before each.
"""

from __future__ import annotations

import base64
import importlib
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from integration.strangers.rebuild import source_of
from integration.strangers.record import Kernel, read

__all__ = ["LIMIT", "TARGETS", "Job", "result_of"]

Job = tuple[str, str]
#: targets as tri writes them, and as Triton does
TARGETS = {
    "nvidia:sm_80": ("cuda", 80, 32),
    "nvidia:sm_90a": ("cuda", 90, 32),
    "amd:gfx942": ("hip", "gfx942", 64),
    "amd:gfx950": ("hip", "gfx950", 64),
    "amd:gfx1201": ("hip", "gfx1201", 32),
}
#: seconds for a kernel
LIMIT = 60
_COMMON = ("num_warps", "num_stages", "num_ctas")
_OPTIONS = {"cuda": (*_COMMON, "maxnreg"), "hip": (*_COMMON, "waves_per_eu", "matrix_instr_nonkdim", "kpack")}
#: threads of a CTA
_THREADS = 1024


class _TooLong(Exception):
    pass


def _late(signum: int, frame: Any) -> None:
    del signum, frame
    raise _TooLong(f"more than {LIMIT} s")


def result_of(folder: Path, job: Job) -> Path:
    """The file of a job's result."""
    key, target = job
    return folder / f"{key}.{target.replace(':', '-')}.json"


def _options(kernel: Kernel, target: str) -> dict[str, Any]:
    """Those that both compilers know; as many warps as the target runs at most: packages count on 32 lanes."""
    kind, _, lanes = TARGETS[target]
    found = {n: v for n, v in kernel.options.items() if n in _OPTIONS[kind] and v is not None}
    return found | ({"num_warps": min(found["num_warps"], _THREADS // lanes)} if "num_warps" in found else {})


def _compiled(kernel: Kernel, target: str, folder: Path) -> dict[str, Any]:
    source = source_of(kernel, folder, ranges=target.startswith("amd"))
    options = _options(kernel, target)
    triton = importlib.import_module("triton")
    begun = time.perf_counter()
    if triton.__name__ == "triton" and "tri" not in sys.modules:
        backends = importlib.import_module("triton.backends.compiler")
        made = triton.compile(source, target=backends.GPUTarget(*TARGETS[target]), options=options)
        facts = {"shared": made.metadata.shared, "remarks": []}
    else:
        made = importlib.import_module("tri").compile(source, target=target, options=options)
        facts = {
            "shared": made.metadata.resources["shared"],
            "remarks": list(made.metadata.attrs.get("remarks", ())),
        }
    taken = round(1000 * (time.perf_counter() - begun))
    code = made.asm.get("cubin") or made.asm["amdgcn"]
    text = code if isinstance(code, str) else base64.b64encode(code).decode()
    return {"code": text, "ms": taken, "warps": made.metadata.num_warps, **facts}


def _outcome(kernel: Kernel, target: str, folder: Path) -> dict[str, Any]:
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(LIMIT)
    try:
        return _compiled(kernel, target, folder)
    except (Exception, _TooLong) as error:
        cause = f" [{error.__cause__!r}]" if error.__cause__ is not None else ""
        return {"error": f"{type(error).__name__}: {error}"[-400:] + cause[:400]}
    finally:
        signal.alarm(0)


def main(kernels: Path, folder: Path, jobs: Path) -> None:
    """Compile the jobs in order."""
    try:
        importlib.import_module("triton")
    except ImportError:
        importlib.import_module("tri.compat.triton").install()
    known = {kernel.key: kernel for kernel in read(kernels)}
    with tempfile.TemporaryDirectory() as texts:
        for line in jobs.read_text().splitlines():
            key, target = line.split()
            print(line, flush=True)
            found = _outcome(known[key], target, Path(texts))
            result_of(folder, (key, target)).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
