"""Whether the original compiler reads the TTIR that we print: run by hand with an interpreter that has Triton.

    python integration/check_ttir_with_triton.py k.ttir [more.ttir ...]

Each file holds modules in the original's syntax (``tri_core.dialects.tt.text.to_original_syntax``), separated by
``// -----``.  Reading verifies too.  `nox -s check_ttir` writes such files from the samples of the dialect's tests.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from triton._C.libtriton import ir


def read(text: str) -> str:
    """What the original understood by ``text``, in its own syntax; RuntimeError when it refused."""
    context = ir.context()
    ir.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
        module.context = context
        return module.str_nodebug()


def main(paths: list[str]) -> int:
    """The number of modules that the original refuses."""
    refused = 0
    for path in paths:
        for number, text in enumerate(Path(path).read_text().split("// -----\n")):
            try:
                understood = read(text)
            except RuntimeError as error:
                refused += 1
                print(f"{path}: module {number}: {error}\n{text}")
            else:
                print(f"// {path}: module {number}\n{understood}")
    return refused


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
