"""The run-time signature of a TTIR or TTGIR module, read from its public function."""

from __future__ import annotations

from typing import Any

from tri_core.abi import KernelSignature, Parameter
from tri_core.errors import VerificationError
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


def signature_of(module: ir.Module) -> KernelSignature:
    """Name and parameters of the one public function; VerificationError when there is none, or are two."""
    public = [op for op in module.body.operations if _is_public_function(op.operation)]
    names = [ir.StringAttr(op.attributes["sym_name"]).value for op in public]
    if len(public) != 1:
        raise VerificationError(
            f"a module holds one public tt.func, the kernel; this one has {len(public)}: {', '.join(names)}"
        )
    arguments = public[0].regions[0].blocks[0].arguments
    parameters = tuple(Parameter(_parameter(a, i), _name(a.type)) for i, a in enumerate(arguments))
    return KernelSignature(name=names[0], parameters=parameters)


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
    from tri_core.dialects.tt import PointerType, TensorDescType

    if isinstance(type_, PointerType):
        return f"*{_name(type_.pointee_type)}"
    if isinstance(type_, TensorDescType):
        block = type_.block_type
        return f"tensordesc<{_name(block.element_type)}{list(block.shape)}>"
    text = str(type_)
    return _FLOATS.get(text, text)
