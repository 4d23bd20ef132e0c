"""Check that the original compiler reads the TTIR and TTGIR that we print.

    python integration/check_ttir_with_triton.py --triton-python PYTHON [k.ttir ...]

Files may hold Triton's syntax or generic form: each module is read and printed by us first.  ``PYTHON`` is an interpreter that has Triton 3.9 (no GPU is needed, nor anything of ours).  Without files, the
samples of the dialects' tests are given to it: every op, every optional attribute.  Reading verifies too.  What
the original understood is printed in its own syntax, where names of enumeration values can be compared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = Path(__file__).parents[1] / "packages"
SAMPLES = [
    PACKAGES / "tri-core/tests/dialects/tt_samples.mlir",
    PACKAGES / "tri-gpu-dialect/tests/text/ttg_samples.mlir",
]
SEPARATOR = "// -----\n"


def original_text(path: Path) -> str:
    """The modules of ``path``, printed by us, in the original's syntax."""
    from tri_core import mlir
    from tri_core.dialects import tt  # noqa: F401  registers the dialect
    from tri_core.text import parse_module, print_module
    from tri_gpu_dialect import text as _ttg  # noqa: F401  registers the dialect's text
    from tri_gpu_dialect.dialect import TTG  # noqa: F401  registers the dialect

    texts = []
    with mlir.session():
        for text in path.read_text().split(SEPARATOR):
            texts.append(print_module(parse_module(text, path.name)))
    return SEPARATOR.join(texts)


def understood(text: str) -> str:
    """Module that Triton reads from ``text``, in its own syntax; RuntimeError if it refuses.  Needs Triton."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
        module.context = context
        return str(module.str_nodebug())


def read(path: Path) -> int:
    """Print what Triton understands of the modules of ``path``; the number that it refuses."""
    refused = 0
    for number, text in enumerate(path.read_text().split(SEPARATOR)):
        try:
            print(understood(text))
        except RuntimeError as error:
            refused += 1
            print(f"module {number}: {error}\n{text}")
    return refused


def main() -> int:
    """0 when Triton reads every module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triton-python", help="an interpreter that has Triton")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("files", type=Path, nargs="*", default=SAMPLES)
    given = parser.parse_args()
    if given.read is not None:
        return read(given.read)
    failures = 0
    for path in given.files:
        with tempfile.NamedTemporaryFile("w", suffix=".ttir") as file:
            file.write(original_text(path))
            file.flush()
            failures += subprocess.run([given.triton_python, __file__, "--read", file.name]).returncode
    return failures


if __name__ == "__main__":
    sys.exit(main())
