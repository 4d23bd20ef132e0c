"""``gl.amd.cdna4``: buffer operations and matrix instructions of CDNA4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.layouts import DotOperandLayout
from tri.language import builtin, constexpr_function
from tri.language.types import int8, uint8
from tri_backend_amd.language.gluon.instructions import loaded, multiplied, stored
from tri_backend_amd.language.gluon.layouts import AMDMFMALayout

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.language.tensor import tensor

__all__ = [
    "AMDMFMALayout",
    "DotOperandLayout",
    "buffer_load",
    "buffer_store",
    "builtin",
    "constexpr_function",
    "int8",
    "mfma",
    "uint8",
]

_ATOMICS = "use gl.atomic_add and its like on pointers"
_SCALES = "use tl.dot_scaled in a @tri.jit kernel"
#: names that are not here yet, and what to do instead
__later__ = {
    **dict.fromkeys(
        (f"buffer_atomic_{op}" for op in ("add", "and", "max", "min", "or", "xchg", "xor")), _ATOMICS
    ),
    "async_copy": "load with buffer_load and store to shared memory",
    "compute_efficient_padded_shared_layout": "write a PaddedSharedLayout",
    "get_mfma_scale_layout": _SCALES,
    "get_scaled_upcast_fp4_scale_layout": _SCALES,
    "load_shared_fp4_repacked": _SCALES,
    "mfma_scaled": _SCALES,
    "scaled_downcast": _SCALES,
    "scaled_upcast": _SCALES,
}


@builtin
def buffer_load(
    ptr: Any, offsets: Any, mask: Any = None, other: Any = None, cache: Any = None, *, _semantic: Builder
) -> tensor:
    """The elements at ``offsets`` (int32, in elements) from ``ptr``, a scalar pointer, in the layout of ``offsets``.

    Where ``mask`` is false it gives ``other``, or zero.  CompilationError for another kind of pointer or offsets.
    """
    return loaded(_semantic, "cdna4", ptr, offsets, mask, other, cache)


@builtin
def buffer_store(
    stored_value: Any, ptr: Any, offsets: Any, mask: Any = None, cache: Any = None, *, _semantic: Builder
) -> None:
    """Write ``stored_value`` at ``offsets`` (int32, in elements) from ``ptr``, a scalar pointer, where ``mask``."""
    stored(_semantic, "cdna4", stored_value, ptr, offsets, mask, cache)


@builtin
def mfma(a: Any, b: Any, acc: Any, cd_regclass: Any = None, *, _semantic: Builder) -> tensor:
    """``a @ b + acc`` by MFMA: ``acc`` in an AMDMFMALayout, ``a`` (M x K) and ``b`` (K x N) in its DotOperandLayouts.

    CompilationError for other layouts or shapes, Unsupported on another generation.
    """
    return multiplied(_semantic, "cdna4", a, b, acc, cd_regclass)
