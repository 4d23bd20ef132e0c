"""The Triton dialect ``tt``: block-level kernels, before any layout.

Op and attribute names are Triton's, so that what we print in generic form can be given to Triton.  Two
differences are forced by IRDL: a name takes no second dot (``tt.reduce_return``), and optional attributes
are not declared but set as discardable ones (see ``OPTIONAL_ATTRIBUTES`` in :mod:`.ops`).
"""

from __future__ import annotations

from tri_core.dialects.tt.constraints import CONSTRAINTS as _CONSTRAINTS
from tri_core.dialects.tt.constraints import check as _check
from tri_core.dialects.tt.dialect import TT, PointerType, TensorDescType
from tri_core.dialects.tt.memory import *  # noqa: F403  the tables of ops are the public face of the dialect
from tri_core.dialects.tt.memory import __all__ as _memory
from tri_core.dialects.tt.ops import *  # noqa: F403
from tri_core.dialects.tt.ops import __all__ as _ops
from tri_core.mlir import registry as _registry

__all__ = ["TT", "PointerType", "TensorDescType", *_memory, *_ops]

for _op in TT.operations:
    if _op.OPERATION_NAME in _CONSTRAINTS:
        _op.verify_invariants = lambda self: _check(self.operation)

_registry.add_dialect(TT)  # whoever imports the dialect may use it
