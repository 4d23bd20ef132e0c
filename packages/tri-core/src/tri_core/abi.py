"""The kernel ABI: which facts of an argument a kernel is specialized on, and how arguments are passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["KernelABI", "KernelSignature", "Parameter"]


@dataclass(frozen=True)
class Parameter:
    """A run-time parameter of a compiled kernel, in order: ``type`` is Triton's name (``*fp32``, ``i32``)."""

    name: str
    type: str

    @property
    def is_pointer(self) -> bool:
        """Whether the parameter is a pointer."""
        return self.type.startswith("*")


@dataclass(frozen=True, kw_only=True)
class KernelSignature:
    """The name and run-time parameters of a kernel; constexprs and folded arguments are gone."""

    name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, kw_only=True)
class KernelABI:
    """Specialization rules as data, so that the frontend makes one fast binder from them.

    ``divisibility``: integers and pointers divisible by it get ``tt.divisibility``; ``equal_to_one``:
    whether an integer of value 1 is folded; ``implicit``: parameters that the backend appends.
    """

    divisibility: int = 16
    equal_to_one: bool = True
    implicit: tuple[Parameter, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
