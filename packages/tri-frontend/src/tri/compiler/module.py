"""The whole module of a kernel."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tri.compiler import (  # noqa: F401  they register the rules
    assignment,
    branches,
    calls,
    expressions,
    loops,
    members,
    operators,
    scopes,
)
from tri.compiler.functions import make_kernel
from tri.context import compiling

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.mlir import ir
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["build_module"]

#: Python frames that the deepest nest of calls takes
_FRAMES = 4000


def build_module(source: ASTSource, target: Target, options: CommonOptions) -> ir.Module:
    """TTIR of ``source``: its kernel, with every call expanded."""
    builder = source.fn.make_builder(target, options)
    # jit functions may call themselves with other constexprs, and each call takes a dozen frames of ours
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _FRAMES)
    try:
        with compiling(target):
            make_kernel(builder, source)
    finally:
        sys.setrecursionlimit(limit)
    return builder.module
