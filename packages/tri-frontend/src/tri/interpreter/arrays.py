"""The values of the interpreter: NumPy arrays, with what has to be known about where they come from.

Integers are kept signed whatever the language says (signedness is in the ops, as in the IR), int1 as NumPy's
bool, pointers as int64 addresses in bytes, fp8e4b15 (which no library has) as its bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tri.interpreter.location import here
from tri.language import types as t
from tri_core.errors import CompilationError, SourceLocation, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Array", "Data", "Diverged", "numpy_type", "read_as", "shape_of", "unsigned", "wide"]

Data = npt.NDArray[Any]

_TYPES: dict[str, Any] = {
    "int1": np.bool_, "int8": np.int8, "uint8": np.int8, "int16": np.int16, "uint16": np.int16,
    "int32": np.int32, "uint32": np.int32, "int64": np.int64, "uint64": np.int64,
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64,
    "fp8e5": ml_dtypes.float8_e5m2, "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e4b8": ml_dtypes.float8_e4m3fnuz, "fp8e4b15": np.int8,
}  # fmt: skip
_DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(type_) for name, type_ in _TYPES.items()}
_ADDRESS = np.dtype(np.int64)


class Diverged(Exception):
    """A branch on a value that stands for many elements: they have to be computed one by one."""


@dataclass(slots=True, eq=False)
class Array:
    """The handle of an interpreted :class:`~tri.language.tensor`.

    ``exact``: the integers (of pointers: addresses) as they would be without wrap-around, int64, where they
    differ from ``data`` in some place; ``origin``: where that happened first.  ``owner``: of pointers, the
    number of the argument pointed into, one for all elements or one for each; None where it is not known.
    """

    data: Data
    exact: Data | None = None
    origin: SourceLocation | None = None
    owner: int | Data | None = None

    def shaped(self, function: Callable[[Data], Data]) -> Array:
        """This with ``function``, which only moves elements, applied to all that is known of each."""
        exact, owner = self.exact, self.owner
        if exact is None and owner is None:
            return Array(function(self.data))
        return Array(
            function(self.data),
            None if exact is None else function(exact),
            self.origin,
            function(owner) if isinstance(owner, np.ndarray) else owner,
        )

    def number(self, type_: t.dtype, what: str) -> int | float:
        """This scalar of ``type_`` as a Python number, ``what`` is wanted; Diverged when it stands for many."""
        if type_.is_block():
            raise CompilationError(
                f"a block ({type_}) has no {what}",
                remedy="reduce it, e.g. with tl.max, or use tl.where",
                location=here(),
            )
        if self.data.ndim:
            raise Diverged
        value = (unsigned(self.data) if type_.is_int_unsigned() else self.data).item()
        return value if isinstance(value, (int, float)) else float(value)

    def shown(self, type_: t.dtype) -> str:
        """The elements, for people."""
        signless = type_.scalar.is_int_unsigned() or type_.scalar.is_ptr()
        return str(unsigned(self.data) if signless else self.data)


def numpy_type(type_: t.dtype) -> np.dtype[Any]:
    """NumPy dtype of elements of ``type_``."""
    scalar = type_.scalar
    if scalar.is_ptr():
        return _ADDRESS
    found = _DTYPES.get(scalar.name)
    if found is None:
        raise Unsupported(f"the interpreter has no values of type {scalar}")
    return found


def shape_of(type_: t.dtype) -> tuple[int, ...]:
    """The shape of ``type_``; ``()`` for a scalar."""
    return type_.shape if isinstance(type_, t.block_type) else ()


_UNSIGNED = {np.dtype(f"i{n}"): np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def unsigned(data: Data) -> Data:
    """The same bits read as unsigned integers."""
    kind = _UNSIGNED.get(data.dtype)
    return data if kind is None else data.view(kind)


def read_as(type_: t.dtype, data: Data) -> Data:
    """Integers as ``type_`` of the language says: with a sign or without."""
    return unsigned(data) if type_.scalar.is_int_unsigned() else data


def wide(value: Array, *, signed: bool) -> Data:
    """The integers of ``value`` without wrap-around, as int64."""
    if value.exact is not None:
        return value.exact
    return (value.data if signed else unsigned(value.data)).astype(np.int64)
