"""A kernel of TTIR as a graph of plain Python objects, read once: what a backend that leaves at TTIR starts from.

:func:`read_kernel` gives the one function; its ``body`` is a :class:`Block` of :class:`Op` s, the last of which is the block's
terminator.  Of which class an op is, one asks as of the IR's ops: ``isa(op, tt.LoadOp)``; operands have the names that the class
declares (``op.operand("ptr")``, ``op.optional("mask")``), attributes are plain Python values, and regions are ``op.blocks``
(:func:`as_for` for counted loops).  Analyses walk values, users and blocks many times; plain objects make that cheap.
:class:`Rules` keeps what a lowering does with each class of op, and refuses all others at their lines.
"""

from __future__ import annotations

from tri_core.ttir.loops import ForLoop, as_for
from tri_core.ttir.nodes import Block, Op, Value, constant_of
from tri_core.ttir.reader import Kernel, read_kernel
from tri_core.ttir.rules import Rules
from tri_core.ttir.types import DType, FloatFormat, Type, dtype_of

__all__ = [
    "Block",
    "DType",
    "FloatFormat",
    "ForLoop",
    "Kernel",
    "Op",
    "Rules",
    "Type",
    "Value",
    "as_for",
    "constant_of",
    "dtype_of",
    "read_kernel",
]
