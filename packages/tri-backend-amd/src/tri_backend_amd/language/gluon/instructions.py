"""Buffer operations and MFMA, which the namespaces of CDNA's generations share; each checks the generation first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.agreement import mismatch
from tri.experimental.gluon.builder import of_gluon
from tri.experimental.gluon.layouts import DotOperandLayout
from tri.experimental.gluon.types import layout_in
from tri.language import types as t
from tri.language.accesses import load_policies, store_policies
from tri.language.casts import convert, value_of
from tri.language.dot import check_operands, precision_attribute
from tri.language.shapes import stretch
from tri.language.tensor import dimensions, tensor
from tri_backend_amd.language.gluon.layouts import AMDMFMALayout
from tri_backend_amd.processors import versions
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.experimental.gluon.builder import GluonBuilder

__all__ = ["loaded", "multiplied", "stored"]

#: versions of MFMA that a generation's namespace works on, and the generation in words
_GENERATIONS = {"cdna3": ((3, 4), "CDNA3 (gfx942) and CDNA4"), "cdna4": ((4,), "CDNA4 (gfx950)")}


def _for_target(b: Builder, generation: str, name: str) -> tuple[GluonBuilder, int]:
    """``b`` for builtin ``name`` of ``generation``, and the target's version of MFMA; Unsupported on another target."""
    own = of_gluon(b, name)
    key, (known, words) = own.target.key, _GENERATIONS[generation]
    version = versions("mfma").get(key.arch, 0) if key.backend == "amd" else 0
    if version not in known:
        raise Unsupported(
            f"gl.amd.{generation}.{name} on {own.target}: it is an instruction of {words}",
            remedy="use the namespace of the target's own architecture, or gl's common functions",
        )
    return own, version


# --- buffers --------------------------------------------------------------------------------------------


def _place(ptr: Any, offsets: Any, name: str) -> t.dtype:
    """The type of elements at ``ptr``; CompilationError where it and ``offsets`` are no place in a buffer."""
    if not isinstance(ptr, tensor) or not isinstance(ptr.type, t.pointer_type):
        got = ptr.type if isinstance(ptr, tensor) else repr(ptr)
        raise CompilationError(f"{name} from {got}", remedy="pass a scalar pointer, and a tensor of offsets")
    is_tensor = isinstance(offsets, tensor) and dimensions(offsets)
    if not is_tensor or offsets.dtype not in (t.int32, t.uint32):
        got = offsets.type if isinstance(offsets, tensor) else repr(offsets)
        raise CompilationError(f"{name} with offsets {got}", remedy="pass a tensor of int32, in elements")
    if layout_in(offsets.type) is None:
        raise CompilationError(
            f"{name} with offsets whose layout is left open", remedy="make them with a layout"
        )
    return ptr.type.element_ty


def _beside(b: GluonBuilder, value: Any, dtype: t.dtype, offsets: tensor, what: str) -> tensor:
    """``value`` as ``dtype`` in the shape and layout of ``offsets``; CompilationError where it has another layout."""
    found = stretch(b, convert(b, value_of(b, value), dtype), dimensions(offsets))
    have, wanted = layout_in(found.type), layout_in(offsets.type)
    assert wanted is not None
    if have is None:
        return b.placed(found, wanted)
    first, second = have.encoding(), wanted.encoding()
    assert first is not None
    assert second is not None
    if first != second:
        raise mismatch(what, first, second, dimensions(offsets))
    return found


def loaded(
    b: Builder, generation: str, ptr: Any, offsets: Any, mask: Any, other: Any, cache: str | None
) -> tensor:
    """The elements at ``ptr[offsets]`` where ``mask``, elsewhere ``other`` or zero."""
    own, _ = _for_target(b, generation, "buffer_load")
    element = _place(ptr, offsets, "buffer_load")
    if other is not None and mask is None:
        raise CompilationError("buffer_load has other and no mask", remedy="pass mask=, or leave other out")
    given = [] if mask is None else [_beside(own, mask, t.int1, offsets, "buffer_load")]
    if other is not None:
        given.append(_beside(own, other, element, offsets, "buffer_load"))
    attributes = {
        **load_policies(own, cache, None),
        "operandSegmentSizes": own.segments(1, 1, 0, int(mask is not None), int(other is not None)),
    }
    type_ = offsets.type.with_element_ty(element)
    return own.value("amdg.buffer_load", type_, ptr, offsets, *given, attributes=attributes)


def stored(
    b: Builder, generation: str, value: Any, ptr: Any, offsets: Any, mask: Any, cache: str | None
) -> None:
    """Write ``value`` to ``ptr[offsets]`` where ``mask``."""
    own, _ = _for_target(b, generation, "buffer_store")
    element = _place(ptr, offsets, "buffer_store")
    given = _beside(own, value, element, offsets, "buffer_store")
    masks = [] if mask is None else [_beside(own, mask, t.int1, offsets, "buffer_store")]
    attributes = {
        **store_policies(own, cache, None),
        "operandSegmentSizes": own.segments(1, 1, 1, 0, len(masks)),
    }
    own.create("amdg.buffer_store", operands=[given, ptr, offsets, *masks], attributes=attributes)


# --- matrix instructions --------------------------------------------------------------------------------


def multiplied(b: Builder, generation: str, left: Any, right: Any, acc: Any, cd_regclass: Any) -> tensor:
    """``left @ right + acc`` by MFMA in the layout of ``acc``, an AMDMFMALayout of the target's version."""
    own, version = _for_target(b, generation, "mfma")
    if cd_regclass not in (None, "a", "v"):
        raise CompilationError(f"cd_regclass is {cd_regclass!r}", remedy="use None, 'a' or 'v'")
    if cd_regclass is not None:
        raise Unsupported("mfma with cd_regclass", remedy="leave it out: the compiler chooses registers")
    layout = layout_in(acc.type)
    if not isinstance(layout, AMDMFMALayout) or layout.version != version:
        raise CompilationError(
            f"mfma's acc has layout {layout}", remedy=f"make acc in an AMDMFMALayout of version {version}"
        )
    check_operands(own, left, right)
    for index, operand in enumerate((left, right)):
        have = layout_in(operand.type)
        if not isinstance(have, DotOperandLayout) or (have.operand_index, have.parent) != (index, layout):
            wanted = DotOperandLayout(index, layout, 64 // operand.dtype.primitive_bitwidth)
            raise CompilationError(
                f"mfma's operand {'ab'[index]} has layout {have}",
                remedy=f"convert it: gl.convert_layout(x, {wanted})",
            )
    shape = (*dimensions(left)[:-1], dimensions(right)[-1])
    if dimensions(acc) != shape:
        raise CompilationError(
            f"mfma's acc has shape {list(dimensions(acc))}; its operands make {list(shape)}",
            remedy="use MxK, KxN and MxN",
        )
    attributes = {"inputPrecision": precision_attribute(own, "ieee")}
    return own.value("tt.dot", acc.type, left, right, acc, attributes=attributes)
