"""``gl.amd``: what Gluon has for AMD's GPUs; its layouts are also names of ``gl.amd`` itself."""

from __future__ import annotations

from tri.language import builtin
from tri_backend_amd.language.gluon import cdna3, cdna4
from tri_backend_amd.language.gluon.layouts import AMDMFMALayout

__all__ = ["TOP_LEVEL", "AMDMFMALayout", "builtin", "cdna3", "cdna4"]

#: names that Triton has at the top of the language
TOP_LEVEL: tuple[str, ...] = ()

#: names that are not here yet, and what to do instead
__later__ = {
    "AMDWMMALayout": "use tri.language, whose dots run on WMMA",
    "cdna5": "use tri.language",
    "gfx1250": "use tri.language",
    "hint": "leave hints out: they change no result",
    "rdna3": "use tri.language, whose dots run on WMMA",
    "rdna4": "use tri.language, whose dots run on WMMA",
    "slice": "reshape and split the tensor",
    "warp_pipeline": "leave it out: it changes no result",
    "warp_pipeline_stage": "leave it out: it changes no result",
}
