"""From TTIR to linalg: kernels in upstream dialects alone, for compilers that start at ``linalg``.

:func:`to_linalg` gives the module, :func:`linalg_stage` the stage of a pipeline; ``docs/design/linalg.md`` says what becomes of what.
"""

from __future__ import annotations

from tri_core.linalg.lower import to_linalg
from tri_core.linalg.stage import linalg_stage

__all__ = ["linalg_stage", "to_linalg"]
