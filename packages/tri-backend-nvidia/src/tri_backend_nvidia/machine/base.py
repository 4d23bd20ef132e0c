"""The dialect object of ``nvm``, and what its ops share."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import TYPE_CHECKING, Any

from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder

__all__ = [
    "NVM",
    "Array",
    "In",
    "Out",
    "always",
    "bits_of",
    "from_words",
    "numpy_type",
    "steps_of",
    "text",
    "to_words",
    "word_bits",
]

In = ext.Operand[Any]
Out = ext.Result[Any]
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = Any


class NVM(ext.Dialect, name="nvm"):  # type: ignore[call-arg]  # the bindings are untyped
    """Machine ops of NVIDIA GPUs."""


def steps_of(op: ir.Operation) -> list[tuple[int, int, int]]:
    """Increments of three addresses for each of the instructions that ``op`` stands for."""
    flat = list(ir.DenseI32ArrayAttr(op.attributes["steps"]))
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


def text(attribute: ir.Attribute) -> str:
    """The value of a string attribute."""
    return ir.StringAttr(attribute).value


def bits_of(type_: ir.Type) -> int:
    """Bits of a scalar, pointer or vector type."""
    if isinstance(type_, ir.VectorType):
        return type_.shape[0] * bits_of(type_.element_type)
    return 64 if _is_pointer(type_) else type_.width


def _is_pointer(type_: ir.Type) -> bool:
    return str(type_).startswith("!llvm.ptr")


def numpy_type(type_: ir.Type) -> "np.dtype[Any]":
    """NumPy dtype by which a simulator holds an element of ``type_``: bf16 and f8 as integers, pointers as
    int64.
    """
    import numpy as np

    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    match str(element):
        case "f16" | "f32" | "f64":
            return np.dtype(f"f{bits_of(element) // 8}")
        case "bf16":
            return np.dtype("u2")
        case "i1":
            return np.dtype(bool)
        case _:
            return np.dtype(f"i{max(bits_of(element) // 8, 1)}")


def always(predicate: ir.Value) -> bool:
    """True if an i1 is the constant true."""
    op = predicate.owner
    if not isinstance(op, ir.Operation | ir.OpView) or op.name != "llvm.mlir.constant":
        return False
    return bool(ir.IntegerAttr(op.attributes["value"]).value)


# --- values as machine words ------------------------------------------------------------------------------


def word_bits(type_: ir.Type) -> int:
    """The width of the registers that a value of ``type_`` is moved in: 8, 16, 32 or 64 bits."""
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return 64 if bits_of(element) == 64 else min(bits_of(type_), 32)


def to_words(b: Builder, value: ir.Value) -> list[ir.Value]:
    """``value`` (a scalar, pointer or vector) as integers of :func:`word_bits` bits."""
    width = word_bits(value.type)
    count = bits_of(value.type) // width
    word = b.int_type(width)
    if _is_pointer(value.type):
        return [b.ptr_to_int(value)]
    return b.unpack(b.bitcast(value, b.vector_type(word, count)))


def from_words(b: Builder, words: list[ir.Value], type_: ir.Type) -> ir.Value:
    """The value of ``type_`` that integers stand for; undoes :func:`to_words`."""
    if _is_pointer(type_):
        return b.int_to_ptr(words[0], type_)
    return b.bitcast(b.pack(words), type_)
