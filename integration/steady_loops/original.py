"""Machine code of the cases by Triton: ``PYTHON -m integration.steady_loops.original FOLDER``, in a Python that has it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from integration.steady_loops.cases import CASES, Case, source_of


def _binary(triton: Any, case: Case) -> bytes:
    compiler, backends = (
        importlib.import_module(f"triton.{name}.compiler") for name in ("compiler", "backends")
    )
    kernel = getattr(importlib.import_module(f"integration.kernels.{case.module}"), case.kernel)
    options = {"num_warps": case.warps, "num_stages": case.stages}
    source = source_of(compiler.ASTSource, kernel, case)
    made = triton.compile(source, target=backends.GPUTarget("cuda", 90, 32), options=options)
    binary: bytes = made.asm["cubin"]
    return binary


def main(folder: Path) -> None:
    """Write ``NUMBER.cubin`` for each case that Triton compiles; the others' errors go to stderr."""
    triton = importlib.import_module("triton")
    sys.modules["tri"], sys.modules["tri.language"] = triton, importlib.import_module("triton.language")
    for number, case in enumerate(CASES):
        try:
            (folder / f"{number}.cubin").write_bytes(_binary(triton, case))
        except Exception as error:
            sys.stderr.write(f"{case.name}: {type(error).__name__} {str(error)[:300]}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
