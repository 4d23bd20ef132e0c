"""Assembly of the cases by Triton: ``PYTHON -m integration.bench_amd_static.original FOLDER``, in a Python that has it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from integration.bench_amd_static.cases import CASES, kernel_of, source_of


def main(folder: Path) -> None:
    """Write ``NUMBER.s`` and ``NUMBER.ttgir`` for each case that Triton compiles; the others' errors go to stderr.

    The assembly begins with the bytes of local memory.
    """
    triton = importlib.import_module("triton")
    sys.modules["tri"], sys.modules["tri.language"] = triton, importlib.import_module("triton.language")
    compiler, backends = (
        importlib.import_module(f"triton.{name}.compiler") for name in ("compiler", "backends")
    )
    for number, case in enumerate(CASES):
        options = {"num_warps": case.warps, "num_stages": case.stages}
        try:
            source = source_of(compiler.ASTSource, kernel_of(case), case)
            made = triton.compile(
                source,
                target=backends.GPUTarget("hip", case.chip, 64 if case.chip.startswith("gfx9") else 32),
                options=options,
            )
        except Exception as error:
            sys.stderr.write(f"{case.name}: {type(error).__name__} {str(error)[:300]}\n")
            continue
        # Triton's local memory is given at the launch: its size is not in the assembly
        facts = f"\t.group_segment_fixed_size: {made.metadata.shared}\n"
        (folder / f"{number}.s").write_text(facts + made.asm["amdgcn"])
        (folder / f"{number}.ttgir").write_text(made.asm["ttgir"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
