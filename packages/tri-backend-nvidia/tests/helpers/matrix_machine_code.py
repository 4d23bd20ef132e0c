"""Kernels of dots compiled for a GPU that is not here, to look at their machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import tri
import tri.language as tl
from matrix_kernels import attention, matmul, tiles

__all__ = ["Compiler"]


def _types(dtype):
    return {"a": f"*{dtype}", "b": f"*{dtype}", "c": "*i32" if dtype == "i8" else "*fp32"}


def _total(dtype):
    return {"i8": tl.int32}.get(dtype, tl.float32)


@dataclass(frozen=True)
class Compiler:
    """Compiles for ``target`` with ``options``; pointers and sizes but ``steps`` are divisible by 16."""

    target: str
    options: Mapping[str, object] = field(default_factory=dict)

    def compiled(self, kernel, constants, types, *, warps, stages=3, **options):
        """``kernel`` with ``constants`` and parameters of ``types``."""
        names = kernel.arg_names
        signature = {n: "constexpr" if n in constants else types[n] for n in names}
        aligned = {
            (i,): [["tt.divisibility", 16]]
            for i, n in enumerate(names)
            if signature[n].startswith("*") or (signature[n] == "i32" and n != "steps")
        }
        source = tri.ASTSource(kernel, signature, constants, aligned)
        options = {"num_warps": warps, "num_stages": stages, **self.options, **options}
        return tri.compile(source, target=self.target, options=options)

    def gemm(self, block, warps, stages, dtype="fp16", *, k_major=False, total=None, **options):
        """A loop over tiles; sums are of ``total`` (None: as wide as ``dtype`` has them)."""
        constants = dict(zip(("BM", "BN", "BK"), block, strict=True))
        constants |= {
            "OUT": total or _total(dtype),
            "STAGES": stages,
            "sak": 1,
            "sbk" if k_major else "sbn": 1,
        }
        types = dict.fromkeys(("M", "N", "K", "sam", "sbk", "sbn"), "i32") | _types(dtype)
        return self.compiled(tiles, constants, types, warps=warps, stages=stages, **options)

    def flash(self, d, block, warps, stages, causal):
        """Attention, forward."""
        constants = {"BM": block[0], "BN": block[1], "D": d, "CAUSAL": causal, "STAGES": stages}
        types = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "o": "*fp32", "N": "i32", "scale": "fp32"}
        return self.compiled(attention, constants, types, warps=warps)

    def one(self, dtype, columns, *, size=(128, 128, 64), warps=4):
        """One dot of whole matrices."""
        constants = dict(zip("MNK", size, strict=True))
        constants |= {
            "A_COLUMNS": columns[0],
            "B_COLUMNS": columns[1],
            "OUT": _total(dtype),
            "PRECISION": "tf32",
        }
        return self.compiled(matmul, constants, _types(dtype), warps=warps)
