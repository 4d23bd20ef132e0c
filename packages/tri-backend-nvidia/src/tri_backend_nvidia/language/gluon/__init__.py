"""``gl.nvidia``: what Gluon has for NVIDIA's GPUs; its layouts are also names of ``gl`` itself."""

from __future__ import annotations

from tri_backend_nvidia.language.gluon import ampere, blackwell, hopper
from tri_backend_nvidia.language.gluon.layouts import NVMMADistributedLayout, NVMMASharedLayout

__all__ = ["TOP_LEVEL", "NVMMADistributedLayout", "NVMMASharedLayout", "ampere", "blackwell", "hopper"]

#: names that Triton has at the top of the language
TOP_LEVEL = ("NVMMADistributedLayout", "NVMMASharedLayout")

#: namespaces that are not here yet, and what to do instead
__later__ = {
    "rubin": "use tri.language",
}
