"""The kernel ABI: which facts of an argument a kernel is specialized on, and how arguments are passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, Literal

from tri_core.errors import LaunchError
from tri_core.lazy_dataclasses import dataclass

__all__ = [
    "HiddenParameters",
    "KernelABI",
    "KernelSignature",
    "LaunchDescriptor",
    "LaunchNumber",
    "Parameter",
    "launch_descriptors",
]

_I32 = (1 << 31) - 1


@dataclass(frozen=True)
class Parameter:
    """A run-time parameter of a compiled kernel, in order: ``type`` is Triton's name (``*fp32``, ``i32``)."""

    name: str
    type: str

    @property
    def is_pointer(self) -> bool:
        """True if the parameter is a pointer."""
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
    whether an integer of value 1 is folded; ``small_array``: pointers to arrays whose memory has at most so many
    bytes get ``tt.pointer_range`` 32, and size is nothing that kernels are specialized on where it is 0;
    ``implicit``: parameters that the backend appends.
    """

    divisibility: int = 16
    equal_to_one: bool = True
    small_array: int = 0
    implicit: tuple[Parameter, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchNumber:
    """A number that a launch knows: the argument of parameter number ``parameter``, or else ``value``.

    Of an argument that is above ``most``, ``most``; of that the low ``bits``, a signed number.  None: all of it.
    """

    parameter: int | None = None
    value: int = 0
    most: int | None = None
    bits: int | None = None

    def of(self, arguments: Sequence[Any]) -> int:
        """The number for a launch with ``arguments``."""
        if self.parameter is None:
            return self.value
        number = int(arguments[self.parameter])
        if self.most is not None:
            number = min(number, self.most)
        if self.bits is None:
            return number
        half = 1 << (self.bits - 1)
        return (number + half) % (2 * half) - half


@dataclass(frozen=True, kw_only=True)
class LaunchDescriptor:
    """A tensor descriptor that a launch encodes, in the device's form, and passes by value after all parameters.

    ``base`` is the number of the parameter that points at the tensor; ``shape`` and ``strides`` are in elements, the
    contiguous dimension last (its stride is 1).  ``element`` is ``u8``, ``u16``, ``u32``, ``s32``, ``u64``, ``s64``,
    ``f16``, ``bf16``, ``f32``, ``f64``, or ``tf32``: f32 that is rounded to ten bits of fraction on its way to shared memory.
    A copy moves a ``box`` of so many elements; in shared memory its rows are
    ``swizzle`` bytes wide and permuted, 0: not.  ``nan``: what is outside of the tensor reads as NaN, else as zero.
    ``empty``: what becomes of a tensor that has no elements, of which copies have none.  It is refused, or stands for accesses
    that the compiler made copies, and the descriptor is of one element of other memory: of a zero that is read, or of one that
    is written and that nobody reads.
    """

    base: int
    shape: tuple[LaunchNumber, ...]
    strides: tuple[LaunchNumber, ...]
    element: str
    box: tuple[int, ...]
    swizzle: int
    nan: bool
    empty: Literal["refused", "read", "written"] = "refused"

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


@dataclass(frozen=True, kw_only=True)
class HiddenParameters:
    """Hidden parameters that a launch passes after a kernel's own, in this order.

    ``grid``: the extents of the grid, three i32.  Such a kernel is persistent: it goes through the programs itself, so that a
    launch starts CTAs along x alone, no more than there are programs, and than run at the same time.
    ``counter``: the address of an i32 in global memory that is 0 when the kernel begins and again when it has ended; no other launch
    that may run at the same time has the same one.
    ``scratch``: bytes of global memory that each CTA has for itself while it runs; a pointer to those of all CTAs, CTA
    ``x + X * (y + Y * z)`` having the ``scratch`` bytes from ``scratch`` times its number on.  0: no parameter.
    ``record``: the address of a slot (:mod:`tri_core.fault_records`), in memory of the device, by which the kernel leaves a record of
    an assertion that failed.
    ``descriptors``: encoded ones, by value.
    ``cluster``: no parameter; so many CTAs, neighbours along x, run a program together.
    """

    grid: bool = False
    counter: bool = False
    scratch: int = 0
    record: bool = False
    descriptors: tuple[LaunchDescriptor, ...] = ()
    cluster: int = 1

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that are plain numbers and addresses."""
        grid = tuple(Parameter(f"grid.{axis}", "i32") for axis in "xyz") if self.grid else ()
        counter = (Parameter("counter", "*i32"),) if self.counter else ()
        scratch = (Parameter("scratch", "*i8"),) if self.scratch else ()
        return (*grid, *counter, *scratch, *((Parameter("record", "*i64"),) if self.record else ()))

    def ctas(self, grid: tuple[int, int, int], resident: int) -> tuple[int, int, int]:
        """The CTAs that a launch of ``grid`` starts, on a device that holds ``resident`` of them at the same time.

        ``grid`` counts programs.  LaunchError where a persistent kernel, which counts programs in i32, would count beyond that.
        """
        x, y, z = grid
        if not self.grid:
            return x * self.cluster, y, z
        programs = x * y * z
        ctas = min(programs, max(resident, 1))
        if programs + ctas > _I32:
            raise LaunchError(
                f"the grid {grid} has {programs} programs; a persistent kernel counts up to {_I32 - ctas}",
                remedy="launch it with persistent=False",
            )
        return (ctas, 1, 1)

    def to_attrs(self) -> dict[str, Any]:
        """JSON-able entries of :attr:`tri_core.image.KernelMetadata.attrs`; none where nothing is hidden."""
        descriptors = [each.to_json() for each in self.descriptors]
        return {
            **({"grid": True} if self.grid else {}),
            **({"counter": True} if self.counter else {}),
            **({"scratch": self.scratch} if self.scratch else {}),
            **({"record": True} if self.record else {}),
            **({"descriptors": descriptors} if descriptors else {}),
            **({"cluster": self.cluster} if self.cluster > 1 else {}),
        }

    @classmethod
    def from_attrs(cls, attrs: Mapping[str, Any]) -> HiddenParameters:
        """Undoes :meth:`to_attrs`; other entries of ``attrs`` do not matter."""
        grid, counter, record = (bool(attrs.get(name, False)) for name in ("grid", "counter", "record"))
        scratch, cluster = int(attrs.get("scratch", 0)), int(attrs.get("cluster", 1))
        return cls(
            grid=grid,
            counter=counter,
            scratch=scratch,
            record=record,
            descriptors=launch_descriptors(attrs),
            cluster=cluster,
        )
