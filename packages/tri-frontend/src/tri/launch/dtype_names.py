"""The dtypes of frameworks by the names that signatures use."""

from __future__ import annotations

from typing import Any

from tri_core.errors import LaunchError

__all__ = ["DTYPES", "dtype_names"]

#: names of dtypes in NumPy (with ml_dtypes) and PyTorch -> Triton's names
DTYPES: dict[str, str] = {
    "bool": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"fp{bits}" for bits in (16, 32, 64)},
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}


class _DtypeNames(dict[Any, str]):
    """A framework's dtype objects -> Triton's names, filled as they are met."""

    def __missing__(self, dtype: Any) -> str:
        name = DTYPES.get(str(dtype).rpartition(".")[2])
        if name is None or getattr(dtype, "byteorder", "=") == ">":
            raise LaunchError(
                f"an array of dtype {dtype} was passed to a kernel",
                remedy=f"convert it to one of {', '.join(DTYPES)}",
            )
        self[dtype] = name
        return name


dtype_names = _DtypeNames()
