"""``tl.semantic``: what the functions of the language mean in IR.

Triton keeps that in one class, here it stands with each function (:mod:`tri.language.arithmetic`,
:mod:`tri.language.memory`, ...).  What functions decorated with ``tl.core.builtin`` get as ``_semantic`` is a
:class:`tri.compiler.builder.Builder`; pass it on to other functions of the language.
"""

from __future__ import annotations

#: read by the code generator when a kernel asks for a name that is not here
__later__ = {
    "TritonSemantic": "pass _semantic on to functions of tri.language instead of calling its methods",
}

__all__: list[str] = []
