"""The parameters that a kernel has in the IR, by those that it has in the source.

All are the same but a tensor descriptor, which is its base, its sizes and all strides but the last (which is 1).
Nothing here needs the IR.
"""

from __future__ import annotations

from tri.language.types import dtype, int32, int64, pointer_type, tensor_descriptor_type

__all__ = ["parameter_types", "signature_text"]


def parameter_types(name: str, type_: dtype) -> dict[str, dtype]:
    """The parameters that ``name`` stands for, in order: ``d``, ``d.shape.0``, ..., ``d.stride.0``, ..."""
    if not isinstance(type_, tensor_descriptor_type):
        return {name: type_}
    rank = len(type_.block_type.shape)
    return {
        name: pointer_type(type_.block_type.element_ty),
        **{f"{name}.shape.{i}": int32 for i in range(rank)},
        **{f"{name}.stride.{i}": int64 for i in range(rank - 1)},
    }


def signature_text(type_: dtype) -> str:
    """``type_`` as a signature writes it."""
    return f"*{type_.element_ty.mangle()}" if isinstance(type_, pointer_type) else type_.mangle()
