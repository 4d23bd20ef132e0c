"""The kernel ABI: which facts of an argument a kernel is specialized on, and how arguments are passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = [
    "KernelABI",
    "KernelSignature",
    "LaunchDescriptor",
    "LaunchNumber",
    "Parameter",
    "launch_descriptors",
]


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


@dataclass(frozen=True)
class LaunchNumber:
    """A number that a launch knows: the argument of parameter number ``parameter``, or else ``value``."""

    parameter: int | None = None
    value: int = 0

    def of(self, arguments: Sequence[Any]) -> int:
        """The number for a launch with ``arguments``."""
        return self.value if self.parameter is None else int(arguments[self.parameter])


@dataclass(frozen=True, kw_only=True)
class LaunchDescriptor:
    """A tensor descriptor that a launch encodes, in the device's form, and passes by value after all parameters.

    ``base`` is the number of the parameter that points at the tensor; ``shape`` and ``strides`` are in elements, the
    contiguous dimension last (its stride is 1).  ``element`` is ``u8``, ``u16``, ``u32``, ``s32``, ``u64``, ``s64``,
    ``f16``, ``bf16``, ``f32`` or ``f64``.  A copy moves a ``box`` of so many elements; in shared memory its rows are
    ``swizzle`` bytes wide and permuted, 0: not.  ``nan``: what is outside of the tensor reads as NaN, else as zero.
    """

    base: int
    shape: tuple[LaunchNumber, ...]
    strides: tuple[LaunchNumber, ...]
    element: str
    box: tuple[int, ...]
    swizzle: int
    nan: bool

    @property
    def parameters(self) -> tuple[int, ...]:
        """The parameters that it is made of."""
        numbers = (*self.shape, *self.strides)
        return (self.base, *(n.parameter for n in numbers if n.parameter is not None))

    def to_json(self) -> dict[str, Any]:
        """JSON-able, for :attr:`tri_core.image.KernelMetadata.attrs`."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> LaunchDescriptor:
        """Undoes :meth:`to_json`."""
        shape, strides = (tuple(LaunchNumber(**n) for n in plain[k]) for k in ("shape", "strides"))
        return cls(**{**plain, "shape": shape, "strides": strides, "box": tuple(plain["box"])})


def launch_descriptors(attrs: Mapping[str, Any]) -> tuple[LaunchDescriptor, ...]:
    """The descriptors that a launch of a kernel with these metadata ``attrs`` passes, in order."""
    return tuple(LaunchDescriptor.from_json(each) for each in attrs.get("descriptors", ()))
