"""Types that depend on the path: Python goes one way and sees one, compiled code must hold either.

The compiler walks both sides of a branch and the body of a loop that never runs, so it is asked before a kernel
with any of them is interpreted.  What else it refuses is left to the interpreter, which allows more on purpose.
"""

from __future__ import annotations

import ast
import logging
from typing import TYPE_CHECKING

from tri.dependencies import reached
from tri_core.errors import CompilationError, TriError

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["check_paths"]

logger = logging.getLogger(__name__)

#: syntax after which a name may hold one thing or another
_FORKS = (ast.If, ast.IfExp, ast.For, ast.While)
#: what was found right already: sources, targets, options
_right: set[tuple[str, ...]] = set()
_KEPT = 1024


def check_paths(source: ASTSource, target: Target, options: CommonOptions) -> None:
    """Raise the compiler's CompilationError when the type of what ``source`` binds depends on the path."""
    if not any(map(_forks, reached(source.fn))):
        return
    key = (source.fingerprint(), str(target.key), repr(options))
    if key in _right:
        return
    _compare(source, target, options)
    if len(_right) >= _KEPT:
        _right.clear()
    _right.add(key)


def _forks(function: Kernel) -> bool:
    return any(isinstance(node, _FORKS) for node in ast.walk(function.source.tree))


def _compare(source: ASTSource, target: Target, options: CommonOptions) -> None:
    # MLIR is not loaded for kernels without branches and loops
    from tri_core.dialects import tt
    from tri_core.mlir import registry, session

    registry.add_dialect(tt.TT)
    try:
        with session():
            source.build(target, options)
    except TriError as error:
        for found in (error, *error.others):
            if isinstance(found, CompilationError) and found.by_path:
                raise found.with_traceback(None) from None  # its frames hold half-made IR
        logger.debug("not compared, because the compiler refuses: %s", error)
