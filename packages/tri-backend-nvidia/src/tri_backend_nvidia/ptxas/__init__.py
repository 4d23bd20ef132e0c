"""ptxas, NVIDIA's assembler: PTX text to a cubin."""

from __future__ import annotations

from tri_backend_nvidia.ptxas.assembler import Assembled, assemble
from tri_backend_nvidia.ptxas.location import PTXAS, identity, ptxas
from tri_backend_nvidia.ptxas.registers import limited, pays
from tri_backend_nvidia.ptxas.report import Usage, parse_usage

__all__ = ["PTXAS", "Assembled", "Usage", "assemble", "identity", "limited", "parse_usage", "pays", "ptxas"]
