"""Loads of what becomes the right operand of a dot: a thread has neighbours along k, which memory for DPAS wants beside each other.

    b = load [64, 128], a row of 4 in each thread       becomes        8 rows of 4 in each thread

Such an operand (4-bit weights that are unpacked, rows that a table names) goes through local memory, where the elements of a column follow
each other; a thread with one row writes each element by itself, with 8 rows 16 bytes at once.  What rows have in common (a word of eight weights,
a number of a page) is loaded once.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DotOp, LoadOp
from tri_core.ir.traits import is_elementwise
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import all_ops, functions, module_int
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.transforms.layout.coalesce import lay_out
from tri_gpu_dialect.types import tensor_info

__all__ = ["LoadDownColumns"]

#: bits of the widest access of local memory
_WIDEST = 128


@dataclass(frozen=True)
class LoadDownColumns(Pass):
    """See the module; ``policy`` says which dots are on the matrix unit.  Runs after ``coalesce``, whose vectors along rows stay where they fit."""

    name: ClassVar[str] = "load-down-columns"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Change the encodings of such loads of ``module``."""
        warps, lanes, blocks = (
            module_int(module, f"ttg.{name}") for name in ("num-warps", "threads-per-warp", "num-ctas")
        )
        if blocks > 1:
            return
        for function in functions(module):
            for op in [op for op in all_ops(function) if isa(op, LoadOp)]:
                depth = self.depth(op)
                encoding = _deep(op, depth, warps, lanes) if depth > 1 else None
                if encoding is not None:
                    lay_out(op, encoding)

    def depth(self, load: ir.Operation) -> int:
        """The number of elements along k that local memory takes at once of the right operand made of ``load``; 0 where none is made of it."""
        ahead, seen, found = list(load.results), set(load.results), 0
        while ahead:
            for use in ahead.pop().uses:
                user = use.owner.operation
                if isa(user, DotOp) and use.operand_number == 1 and self.policy.mma(user) is not None:
                    found = _WIDEST // cast(user, DotOp).b.type.element_type.width
                elif is_elementwise(user) or isa(user, ConvertLayoutOp):
                    ahead += [r for r in user.results if r not in seen]
                    seen.update(user.results)
                else:
                    return 0
        return found


def _deep(load: ir.Operation, depth: int, warps: int, lanes: int) -> Blocked | None:
    """The encoding of ``load`` with ``depth`` rows in a thread, in vectors along rows; None: it has none in rows."""
    info = tensor_info(load.results[0].type)
    if (
        info is None
        or not isinstance(info.encoding, Blocked)
        or info.rank != 2
        or info.encoding.order[0] != 1
    ):
        return None
    own = max(info.numel // (warps * lanes), 1)
    rows = min(depth, own, info.shape[0])
    columns = min(info.encoding.size_per_thread[1], max(own // rows, 1))
    return Blocked.make(info.shape, (rows, columns), info.encoding.order, warps, lanes, 1)
