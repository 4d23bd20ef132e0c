"""A kernel as a graph of plain Python objects, read once from TTIR.

Analyses walk values, users and blocks many times; plain objects make that cheap.  Of which class an op is, they
ask as of the IR's ops: ``isa(op, tt.LoadOp)``.
"""

from __future__ import annotations

from tri_backend_cpu.graph.loops import ForLoop, as_for
from tri_backend_cpu.graph.nodes import Block, Op, Value, constant_of
from tri_backend_cpu.graph.reader import read_kernel
from tri_backend_cpu.graph.types import DType, Type, dtype_of

__all__ = [
    "Block",
    "DType",
    "ForLoop",
    "Op",
    "Type",
    "Value",
    "as_for",
    "constant_of",
    "dtype_of",
    "read_kernel",
]
