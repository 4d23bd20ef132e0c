"""ptxas, NVIDIA's assembler: PTX text to a cubin."""

from __future__ import annotations

from tri_backend_nvidia.ptxas.assembler import Assembled, assemble
from tri_backend_nvidia.ptxas.faults import FAULTS, Fault, faults, rewritings
from tri_backend_nvidia.ptxas.location import PTXAS, Installed, identity, ptxas
from tri_backend_nvidia.ptxas.registers import (
    all_under_way,
    given_up,
    issues_more,
    limited,
    pays,
    spills_less,
)
from tri_backend_nvidia.ptxas.report import Usage, parse_usage
from tri_backend_nvidia.ptxas.rewritings import Rewriting
from tri_backend_nvidia.ptxas.sound import Sound, every, sound
from tri_backend_nvidia.ptxas.version import architectures_of_ptxas, version_of_ptxas

__all__ = [
    "FAULTS",
    "PTXAS",
    "Assembled",
    "Fault",
    "Installed",
    "Rewriting",
    "Sound",
    "Usage",
    "all_under_way",
    "architectures_of_ptxas",
    "assemble",
    "every",
    "faults",
    "given_up",
    "identity",
    "issues_more",
    "limited",
    "parse_usage",
    "pays",
    "ptxas",
    "rewritings",
    "sound",
    "spills_less",
    "version_of_ptxas",
]
