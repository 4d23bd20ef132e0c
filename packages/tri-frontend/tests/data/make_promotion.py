"""Makes promotion.json: the result types of Triton 3.9's operators.

Run with a Python that has ``triton==3.9.0`` (no GPU is needed): ``python make_promotion.py > promotion.json``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import triton._C.libtriton as libtriton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

DTYPES = ["int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "fp8e5", "fp8e4nv", "fp16", "bf16", "fp32", "fp64"]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "=="]
PLAIN = ["True", "3", "-3", "200", "40000", "3000000000", "5000000000", "2.5", "1e300"]
FUNCTIONS = {"where": "tl.where(True, a, b)", "maximum": "tl.maximum(a, b)"}
TARGET = GPUTarget("cuda", 90, 32)

seen: list[str] = []


def record(dtype: Any) -> None:
    seen.append(str(getattr(dtype, "value", dtype)))


def text(expression: str, name: str, plain: str | None) -> str:
    second = f"b: tl.constexpr = {plain}" if plain is not None else "b = tl.load(y)"
    return f"\n\n@triton.jit\ndef {name}(x, y):\n    a = tl.load(x)\n    {second}\n    r = {expression}\n    note(r.dtype)\n"


def module(cases: list[tuple[str, str, str | None]]) -> Any:
    body = "import triton\nimport triton.language as tl\nfrom make_promotion import record\n"
    body += "note = triton.constexpr_function(record)\n"
    body += "".join(text(e, name, plain) for name, e, plain in cases)
    folder = Path(tempfile.mkdtemp())
    (folder / "promotion_kernels.py").write_text(body)
    sys.path[:0] = [str(folder), str(Path(__file__).parent)]
    import promotion_kernels

    return promotion_kernels


def result(kernel: Any, x: str, y: str, backend: Any, options: Any) -> str:
    names = {
        "int1": "i1",
        **{f"int{b}": f"i{b}" for b in (8, 16, 32, 64)},
        **{f"uint{b}": f"u{b}" for b in (8, 16, 32, 64)},
    }
    signature = {"x": "*" + names.get(x, x), "y": "*" + names.get(y, y)}
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    backend.load_dialects(context)
    from make_promotion import seen as shared

    shared.clear()
    try:
        source = ASTSource(kernel, signature, {}, {})
        source.make_ir(
            TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
        )
    except Exception:
        return "-"
    return shared[-1].removeprefix("constexpr[").removesuffix("]") if shared else "-"


def main() -> None:
    expressions = {**{o: f"a {o} b" for o in OPERATORS}, **FUNCTIONS}
    cases = [(f"t{i}", e, None) for i, e in enumerate(expressions.values())]
    cases += [
        (f"p{i}_{j}", e, plain) for i, e in enumerate(expressions.values()) for j, plain in enumerate(PLAIN)
    ]
    kernels = module(cases)
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    result(kernels.t0, "int1", "int1", backend, options)  # the first compile of a process sets itself up
    table = {
        "dtypes": DTYPES,
        "plain": PLAIN,
        "expressions": expressions,
        "tensors": {
            name: [
                " ".join(result(getattr(kernels, f"t{i}"), x, y, backend, options) for y in DTYPES)
                for x in DTYPES
            ]
            for i, name in enumerate(expressions)
        },
        "plains": {
            name: [
                " ".join(
                    result(getattr(kernels, f"p{i}_{j}"), x, "int32", backend, options)
                    for j in range(len(PLAIN))
                )
                for x in DTYPES
            ]
            for i, name in enumerate(expressions)
        },
    }
    json.dump(table, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
