"""Machine code of the cases by Triton: ``PYTHON -m integration.published.code.original PACKAGES FOLDER``, in a Python that has it and PyTorch."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from integration.published.code.cases import Case, function_of, read, source_of


def _compile(triton: Any, case: Case, packages: Path) -> tuple[bytes, dict[str, Any]]:
    compiler, backends = (
        importlib.import_module(f"triton.{name}.compiler") for name in ("compiler", "backends")
    )
    source = source_of(compiler.ASTSource, function_of(case, packages), case)
    made = triton.compile(source, target=backends.GPUTarget("cuda", 90, 32), options=dict(case.options))
    return made.asm["cubin"], {"shared": made.metadata.shared, "ptx": made.asm["ptx"]}


def main(packages: Path, folder: Path) -> None:
    """Write ``NUMBER.cubin`` and ``NUMBER.json`` for each case that Triton compiles; the others' errors go to stderr."""
    triton = importlib.import_module("triton")
    for number, case in enumerate(read()):
        try:
            cubin, facts = _compile(triton, case, packages)
        except Exception as error:
            sys.stderr.write(f"{case.name}: {type(error).__name__} {str(error)[:300]}\n")
            continue
        (folder / f"{number}.cubin").write_bytes(cubin)
        (folder / f"{number}.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
