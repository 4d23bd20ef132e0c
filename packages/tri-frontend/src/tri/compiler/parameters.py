"""A kernel's parameters as values: descriptors are made of their parts when the kernel begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.compiler.signature import parameter_types
from tri.language import types as t
from tri.language.descriptors import descriptor_of
from tri.language.tensor import tensor

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["Facts", "parameter_facts", "parameter_values", "runtime_parameters"]

#: what is known of parameters, by name, as pairs: ``("tt.divisibility", 16)``
Facts = Mapping[str, Sequence[tuple[str, int]]]

#: how a source says that a descriptor pads with NaN; no attribute of the IR
_PADS_WITH_NAN = ("tt.padding", 2)
#: how it says that what is read through one is rounded to TF32; no attribute of the IR either
_ROUNDS = ("tt.round_f32_to_tf32", 1)
#: what bases and strides of descriptors are aligned to, in bytes
_ALIGNMENT = 16


def runtime_parameters(types: Mapping[str, t.dtype]) -> dict[str, t.dtype]:
    """The parameters in the IR, by name, in order."""
    return {
        part: part_type
        for name, type_ in types.items()
        for part, part_type in parameter_types(name, type_).items()
    }


def parameter_facts(types: Mapping[str, t.dtype], attributes: Facts) -> Facts:
    """Facts of the parameters in the IR; descriptors are aligned, as the host has checked."""
    found = dict(attributes)
    for name, type_ in types.items():
        if isinstance(type_, t.tensor_descriptor_type):
            block = type_.block_type
            found[name] = [("tt.divisibility", _ALIGNMENT)]
            step = max(_ALIGNMENT // block.element_ty.itemsize, 1)
            for i in range(len(block.shape) - 1):
                found[f"{name}.stride.{i}"] = [("tt.divisibility", step)]
    return found


def parameter_values(
    b: Builder, types: Mapping[str, t.dtype], values: Mapping[str, tensor], attributes: Facts
) -> dict[str, Any]:
    """The value of every parameter in the source, of ``values`` of those in the IR."""
    return {
        name: _descriptor(b, name, type_, values, attributes)
        if isinstance(type_, t.tensor_descriptor_type)
        else values[name]
        for name, type_ in types.items()
    }


def _descriptor(
    b: Builder, name: str, type_: t.tensor_descriptor_type, values: Mapping[str, tensor], attributes: Facts
) -> Any:
    block = type_.block_type.shape
    shape = [values[f"{name}.shape.{i}"] for i in range(len(block))]
    strides = [values[f"{name}.stride.{i}"] for i in range(len(block) - 1)]
    padding = "nan" if _PADS_WITH_NAN in attributes.get(name, ()) else "zero"
    steps, rounds = [*strides, b.constant(1, t.int64)], _ROUNDS in attributes.get(name, ())
    return descriptor_of(b, values[name], shape, steps, block, padding, rounds, type_.layout)
