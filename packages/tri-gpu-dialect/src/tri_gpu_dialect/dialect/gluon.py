"""The dialect ``gluon``: what stands for a layout that is left open, until a pass resolves it."""

# mypy: disable-error-code="call-arg,name-defined"
# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import Any

from tri_core.ir.traits import Pure
from tri_core.mlir import ext

__all__ = ["Gluon", "SetAutoLayoutOp"]


class Gluon(ext.Dialect, name="gluon"):
    """Ops and attributes of the explicit language beside ``tt`` and ``ttg``."""


class SetAutoLayoutOp(Gluon.Operation, name="set_auto_layout", traits=[Pure]):
    """``src``, whose layout is left open, in the layout of the result: ``src`` gets it, too."""

    src: ext.Operand[Any]
    result: ext.Result[Any]
