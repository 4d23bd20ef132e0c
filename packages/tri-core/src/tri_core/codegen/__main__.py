"""``python -m tri_core.codegen k.ll --triple ...``: one module through the code generator, as a kernel goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tri_core.codegen import service
from tri_core.errors import TriError
from tri_core.pipeline import CodegenRequest

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile the file named on the command line; 1 and the error when LLVM fails."""
    given = _parser().parse_args(arguments)
    request = CodegenRequest(
        llvm_ir=given.file.read_text(),
        triple=given.triple,
        cpu=given.cpu,
        features=given.features,
        emit=tuple(given.emit or ["asm"]),
        opt_level=given.opt_level,
        libraries=tuple(given.library),
        llvm_options=tuple(given.llvm_option),
        passes=given.passes,
    )
    try:
        reply = service().compile(request)
    except TriError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for text in reply.texts.values():
        sys.stdout.write(text)
    for data in reply.objects.values():
        sys.stdout.buffer.write(data)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tri_core.codegen", description=__doc__)
    parser.add_argument("file", type=Path, help="LLVM IR as text")
    parser.add_argument("--triple", required=True)
    parser.add_argument("--cpu", default="")
    parser.add_argument("--features", default="")
    parser.add_argument("--emit", action="append", choices=("llvm-ir", "asm", "object"))
    parser.add_argument("--opt-level", type=int, default=3, choices=range(4))
    parser.add_argument("--library", action="append", default=[], help="a bitcode library; repeatable")
    parser.add_argument(
        "--llvm-option", action="append", default=[], help="a global option of LLVM; repeatable"
    )
    parser.add_argument("--passes", help="passes by LLVM's names instead of the default pipeline")
    return parser


if __name__ == "__main__":
    sys.exit(main())
