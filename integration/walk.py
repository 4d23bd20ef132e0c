"""One small GEMM through every stage: ``python -m integration.walk`` writes ``docs/walk.md``.

The kernel is ``integration/kernels/whole_matmul.py`` with the sizes that the Korean article on Triton's move to MLIR walks through:
16 x 8 results, k in steps of 16 up to 64, f16 in, f32 out, one warp of sm_80, three stages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tri
from integration.kernels.whole_matmul import whole_matmul
from tri import ASTSource
from tri_core.compiler.optimize import optimize

__all__ = ["PAGE", "matmul", "page", "stages"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "walk.md"
_TARGET = "nvidia:sm_80"
_OPTIONS = {"num_warps": 1, "num_stages": 3}
_POINTERS = {"a": "*fp16", "b": "*fp16", "c": "*fp32"}
_STRIDES = ("stride_am", "stride_bk", "stride_cm")
_SIZES = {"M": 16, "N": 8, "K": 64, "BLOCK_M": 16, "BLOCK_N": 8, "BLOCK_K": 16}

_INTRODUCTION = """\
Made by `python -m integration.walk`, and checked by a test. The strides that are not 1 are multiples of 16. Shown of each stage are
its layouts, the loop, and what copies, waits and stores around it."""

#: passes over TTGIR in their order, and what the page says of each that is shown
_PASSES = {
    "convert-triton-to-tritongpu": "Every tensor gets a blocked layout by its shape alone, and conversions where ops want others.",
    "coalesce": "Loads get layouts along their addresses: rows of `a` are known to be contiguous and aligned, so a thread reads 8 halves.",
    "accelerate-matmul": "The dot gets the layout of `mma.m16n8k16`, its operands `dot_op` of it.",
    "stage-dot-operands": "",
    "remove-layout-conversions": "All conversions are decided anew; one per operand is left.",
    "pipeline": "The loads become asynchronous copies, two iterations ahead, into three stages of swizzled shared memory.",
    "prefetch": (
        "The operands of an iteration are read at the end of the one before, behind the wait for their copies; k is one step of the "
        "instruction, so a slice is all of it. A first wait, copy and read stand before the loop."
    ),
    "stage-matrix-operands": "",
    "sink-conversions": "",
    "subtile-epilogue": "",
    "fit-shared-memory": "",
    "create-tensormaps": "",
    "allocate-shared-memory": "",
    "insert-barriers": "Buffers have offsets, and a barrier follows every wait.",
}  # fmt: skip


def matmul(*divisible: str) -> ASTSource:
    """The kernel's source; pointers and the strides named in ``divisible`` are multiples of 16."""
    names = list(whole_matmul.arg_names)
    types = {**_POINTERS, **dict.fromkeys(_STRIDES, "i32")}
    constants = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1, **_SIZES}
    attrs: Any = {(names.index(n),): [["tt.divisibility", 16]] for n in (*_POINTERS, *divisible)}
    return ASTSource(whole_matmul, {n: types.get(n, "constexpr") for n in names}, constants, attrs)


def stages(source: ASTSource) -> Mapping[str, str]:
    """The text after TTIR (``ttir``), after each pass over TTGIR, and as LLVM IR and PTX."""
    asm: Mapping[str, Any] = tri.compile(source, target=_TARGET, options=_OPTIONS).asm
    # read and printed again: without locations
    found = {"ttir": optimize(str(asm["ttir"]), "")}
    optimize(
        found["ttir"],
        ",".join(_PASSES),
        target=_TARGET,
        options=_OPTIONS,
        after=found.__setitem__,
    )
    return {**found, "llir": str(asm["llir"]), "ptx": str(asm["ptx"])}


def page() -> str:
    """Expected text of ``docs/walk.md``."""
    found = stages(matmul(*_STRIDES))
    source = inspect.getsource(whole_matmul.fn)
    parts = [
        "# A small GEMM, stage by stage",
        _INTRODUCTION,
        f"```python\n{source}```",
        _section(
            "TTIR",
            "What the front end makes, after its passes: loads without masks, one loop.",
            found["ttir"],
        ),
    ]
    parts += [_section(f"After `{name}`", note, found[name]) for name, note in _PASSES.items() if note]
    parts.append("## PTX\n\n" + _instructions(found["ptx"]))
    return "\n\n".join(parts) + "\n"


def _section(title: str, note: str, text: str) -> str:
    return f"## {title}\n\n{note}\n\n```mlir\n{_excerpt(text)}\n```"


def _excerpt(text: str) -> str:
    """The layouts, and the loop with the memory ops before and after it."""
    lines = [line for line in text.splitlines() if line.strip()]
    first = next(i for i, line in enumerate(lines) if "scf.for" in line)
    last = next(i for i, line in enumerate(lines) if i > first and line.startswith("    }"))
    shown = [line for line in lines[:first] if line.startswith("#")]
    kept = ("ttg.local_", "ttg.async_", "ttg.barrier", "tt.store", "ttg.convert_layout")
    for i, line in enumerate(lines):
        if first <= i <= last or (i > 0 and any(op in line for op in kept)):
            shown.append(line)
        elif shown and shown[-1] != "    ...":
            shown.append("    ...")
    return "\n".join(shown).removesuffix("\n    ...")


#: what is counted in PTX, and what it comes from
_COUNTED = {
    "cp.async.c[ag]": "`ttg.async_copy_global_to_local`",
    "cp.async.commit_group": "`ttg.async_commit_group`",
    "cp.async.wait": "`ttg.async_wait`",
    "bar(?:rier)?.(?:warp.)?sync": "`ttg.barrier`",
    "ldmatrix": "`ttg.local_load`",
    "mma.sync": "`tt.dot`",
    "st.global": "`tt.store`",
}


def _instructions(ptx: str) -> str:
    rows = []
    for pattern, op in _COUNTED.items():
        found = re.findall(rf"(?<![\w.])(?:@%p\d+ )?({pattern}[\w.:]*)", ptx)
        rows.append(f"| {op} | {', '.join(f'`{name}`' for name in sorted(set(found)))} | {len(found)} |")
    return "\n".join(["| op | instruction | times in the text |", "| --- | --- | --- |", *rows])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
