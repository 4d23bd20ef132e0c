"""The text level: PTX as the assembler is given it, parsed and executed in the simulator.

See docs/design/text-level.md.
"""

from __future__ import annotations

from tri_backend_nvidia.text.program import TextProgram
from tri_backend_nvidia.text.syntax import read_kernel

__all__ = ["TextProgram", "read_kernel"]
