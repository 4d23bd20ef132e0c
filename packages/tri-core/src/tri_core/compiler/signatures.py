"""The run-time signature of a TTIR or TTGIR module, read from its public function."""

from __future__ import annotations

from typing import Any

from tri_core.abi import KernelSignature, Parameter
from tri_core.errors import SourceLocation, VerificationError
from tri_core.locations import source_location
from tri_core.mlir import ir

__all__ = ["signature_of"]

#: Triton's names for MLIR's float types; integers have the same
_FLOATS = {
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
    "f8E5M2": "fp8e5",
    "f8E4M3FN": "fp8e4nv",
    "f8E4M3FNUZ": "fp8e4b8",
    "f8E5M2FNUZ": "fp8e5b16",
    "f8E4M3B11FNUZ": "fp8e4b15",
}


def signature_of(module: ir.Module, path: str = "-") -> KernelSignature:
    """Name and parameters of the one public function in the module of ``path``.

    VerificationError when there is none, or are two, or it is only declared.
    """
    public = [op for op in module.body.operations if _is_public_function(op.operation)]
    names = [ir.StringAttr(op.attributes["sym_name"]).value for op in public]
    if len(public) != 1:
        raise VerificationError(
            f"a module holds one public tt.func, the kernel; this one has {len(public)}: {', '.join(names) or 'none'}",
            location=SourceLocation(path, 1),
        )
    blocks = list(public[0].regions[0].blocks)
    if not blocks:
        raise VerificationError(
            f"the kernel {names[0]} has no body", remedy="define it", location=SourceLocation(path, 1)
        )
    arguments = blocks[0].arguments
    for argument in arguments:
        if isinstance(argument.type, ir.RankedTensorType):
            raise VerificationError(
                f"the kernel {names[0]} has a parameter of type {argument.type}; nobody can launch it",
                location=source_location(argument.location) or SourceLocation(path, 1),
                remedy="give it pointers, and load the tensor from them; or make the function private",
            )
    parameters = [p for i, a in enumerate(arguments) for p in _parameters(_parameter(a, i), a.type)]
    return KernelSignature(name=names[0], parameters=tuple(parameters))


def _parameters(name: str, type_: ir.Type) -> list[Parameter]:
    """The parameter called ``name``; of a descriptor its parts, as passes without native descriptors make them."""
    from tri_core.dialects.tt import TensorDescType

    if not isinstance(type_, TensorDescType):
        return [Parameter(name, _name(type_))]
    block = type_.block_type
    element = block.element_type
    if isinstance(element, ir.IntegerType):
        element = ir.IntegerType.get_signless(element.width)
    parts = [f"{name}.{what}.{i}" for what in ("shape", "stride") for i in range(block.rank)]
    return [
        Parameter(name, f"*{_name(element)}"),
        *(Parameter(part, "i64") for part in parts),
        Parameter(f"{name}.padding", "i1"),
    ]


def _parameter(argument: ir.BlockArgument, index: int) -> str:
    """The parameter's name in the source, which its location carries; else one made from its position."""
    location = argument.location
    return location.name_str if isinstance(location, ir.NameLoc) else f"arg{index}"


def _is_public_function(op: Any) -> bool:
    if op.name != "tt.func":
        return False
    attributes = op.attributes
    return "sym_visibility" not in attributes or ir.StringAttr(attributes["sym_visibility"]).value == "public"


def _name(type_: ir.Type) -> str:
    from tri_core.dialects.tt import PointerType

    if isinstance(type_, PointerType):
        return f"*{_name(type_.pointee_type)}"
    text = str(type_)
    return _FLOATS.get(text, text)
