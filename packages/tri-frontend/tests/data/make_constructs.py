"""Make ``constructs.json``: which bodies of ``constructs.py`` Triton 3.9 accepts.  Run by hand with Triton installed."""

from __future__ import annotations

import collections
import importlib.util
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import constructs
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

HERE = Path(__file__).parent
View = collections.namedtuple("View", "ptr n")  # noqa: PYI024  as in the kernels
SIGNATURE = {
    "p": "*fp32",
    "q": "*i32",
    "n": "i32",
    "f": "fp32",
    "B": "constexpr",
    "S": "constexpr",
    "T": ("i32", "fp32", "constexpr"),
    "V": View("*fp32", "i32"),
    "F": "constexpr",
}


def module_of(body: str, folder: str, number: int):
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    text = (
        f"import triton as tri\nimport triton.language as tl\n{constructs.HEADER}\n\n@tri.jit\n"
        f"def k(p, q, n, f, B: tl.constexpr, S: tl.constexpr, T, V, F: tl.constexpr):\n{indented}"
    )
    path = Path(folder) / f"k{number}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def accepts(body: str, folder: str, number: int) -> bool:
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({"debug": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = module_of(body, folder, number)
    constants = {(4,): 16, (5,): "add", (6, 2): None, (8,): module.twice}
    source = ASTSource(module.k, SIGNATURE, constants, {})
    try:
        source.make_ir(
            target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
        )
    except Exception:
        return False
    return True


def main() -> None:
    warnings.simplefilter("ignore")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # what kernels and the verifier print
    os.dup2(quiet, 2)
    with tempfile.TemporaryDirectory() as folder:
        verdicts = {b: accepts(b, folder, i) for i, b in enumerate(constructs.BODIES)}
    (HERE / "constructs.json").write_text(json.dumps(verdicts, indent=0) + "\n")


if __name__ == "__main__":
    main()
