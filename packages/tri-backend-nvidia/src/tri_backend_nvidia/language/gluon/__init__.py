"""``gl.nvidia``: what Gluon has for NVIDIA's GPUs; its layouts are also names of ``gl`` itself."""

from __future__ import annotations

from tri_backend_nvidia.language.gluon import ampere, hopper
from tri_backend_nvidia.language.gluon.layouts import NVMMADistributedLayout, NVMMASharedLayout

__all__ = ["TOP_LEVEL", "NVMMADistributedLayout", "NVMMASharedLayout", "ampere", "hopper"]

#: names that Triton has at the top of the language
TOP_LEVEL = ("NVMMADistributedLayout", "NVMMASharedLayout")

#: namespaces that are not here yet, and what to do instead
__later__ = {
    "blackwell": "use tri.language, whose dots run on tensor memory there",
    "rubin": "use tri.language",
}
