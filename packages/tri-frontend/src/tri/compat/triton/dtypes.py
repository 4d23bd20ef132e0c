"""Names of dtypes in Triton's signatures: ``float32`` is ``fp32`` there."""

from __future__ import annotations

from typing import Any

from tri.language import types
from tri.launch.dtype_names import DTYPES

__all__ = [
    "BITWIDTH_DICT",
    "canonicalize_dtype",
    "canonicalize_ptr_dtype",
    "get_primitive_bitwidth",
    "type_canonicalisation_dict",
]

_OWN = [d for d in types.ALL_DTYPES if not d.is_void()]
_SHORT = {d.codegen_name(): "u1" if d.is_bool() else d.mangle() for d in _OWN}
#: names of dtypes in frameworks and in Python -> in signatures
type_canonicalisation_dict: dict[str, str] = {
    **_SHORT,
    **{name: "u1" if name == "bool" else short for name, short in DTYPES.items()},
    "half": "fp16",
    "float": "fp32",
    "double": "fp64",
    "int": "i32",
    "uint": "u32",
    "void": "void",
    **{short: short for short in _SHORT.values()},
    "i1": "i1",
}
#: name -> bits of a value
BITWIDTH_DICT: dict[str, int] = {
    **{d.mangle(): d.primitive_bitwidth for d in _OWN},
    "u1": 1,
    "i1": 1,
    "void": 0,
}
BITWIDTH_DICT |= {name: BITWIDTH_DICT[short] for name, short in type_canonicalisation_dict.items()}


def canonicalize_dtype(dtype: Any) -> str:
    """The name in signatures of ``dtype``, an object of any library or a name; KeyError when there is none."""
    return type_canonicalisation_dict[str(dtype).rpartition(".")[2]]


def canonicalize_ptr_dtype(dtype: Any, is_const: bool) -> str:
    """As :func:`canonicalize_dtype`, of a pointer to ``dtype``."""
    return f"{'*k' if is_const else '*'}{canonicalize_dtype(dtype)}"


def get_primitive_bitwidth(dtype: str) -> int:
    """Bits of a value of ``dtype``, a name; KeyError for an unknown one."""
    return BITWIDTH_DICT[dtype]
