"""The whole module of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tri.compiler import (  # noqa: F401  they register the rules
    assignment,
    branches,
    calls,
    expressions,
    loops,
    members,
    operators,
)
from tri.compiler.builder import Builder
from tri.compiler.functions import make_kernel

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.mlir import ir
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["build_module"]


def build_module(source: ASTSource, target: Target, options: CommonOptions) -> ir.Module:
    """TTIR of ``source``: its kernel, with every call expanded."""
    builder = Builder(target, options)
    make_kernel(builder, source)
    return builder.module
