"""The exception tree of tri.

Every exception that tri raises on purpose derives from :class:`TriError`, pickles (so that it crosses
process boundaries whole) and says what was expected and what to do.  Three questions pick the class:
whose fault is it (the kernel, the request, the environment, tri itself), which tool said no, and may an
autotuner treat the configuration as infeasible (:class:`OutOfResources`, :class:`ToolchainError`,
:class:`Unsupported`)?
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, ClassVar

from tri_core.lazy_dataclasses import dataclass

__all__ = [
    "ArgumentError",
    "ArgumentOverflow",
    "AutotuneError",
    "BackendError",
    "BundleError",
    "CacheError",
    "CodegenCrash",
    "CompilationError",
    "CompileRefused",
    "CompileTimeAssertionFailure",
    "DataRace",
    "DescriptorError",
    "DeviceError",
    "InternalError",
    "InvalidAccess",
    "KernelFault",
    "LaunchError",
    "OptionError",
    "OutOfBounds",
    "OutOfResources",
    "OutsideKernel",
    "PluginError",
    "RaceAccess",
    "RemoteCacheError",
    "SimulationError",
    "SourceLocation",
    "TargetError",
    "ToolchainError",
    "TriError",
    "Unsupported",
    "UnsupportedConstruct",
    "VerificationError",
    "tell_places_in_functions",
]


@dataclass(frozen=True)
class SourceLocation:
    """A place in a user's source: ``line`` counts from 1, ``column`` from 0 (as ``ast`` counts)."""

    file: str
    line: int
    column: int = 0
    source_line: str | None = None
    #: the call sites that led here, innermost first
    call_sites: tuple[SourceLocation, ...] = field(default=())
    #: line and column in the text of the function, where ``def`` is at 1:0; None where that is not known
    in_function: tuple[int, int] | None = field(default=None, compare=False)
    #: whether texts tell ``in_function``, as Triton's do; :func:`tell_places_in_functions` sets it
    tells_function: ClassVar[bool] = False

    def __str__(self) -> str:
        head = f"{self.file}:{self.line}:{self.column + 1}"
        if self.tells_function and self.in_function is not None:
            line, column = self.in_function
            head = f"{head}, in the function at {line}:{column}:"
        if self.source_line is None:
            return head
        return f"{head}\n    {self.source_line}\n    {' ' * self.column}^"


def tell_places_in_functions(told: bool) -> None:
    """Set whether errors give their place in the function, beside the file, and have an error in a callee as
    their cause.
    """
    SourceLocation.tells_function = told


def _whole(error: BaseException) -> list[str]:
    """The lines of ``error`` with all frames."""
    return "".join(traceback.format_exception(error)).rstrip().split("\n")


class TriError(Exception):
    """Root of all errors raised by tri.

    ``message`` says what went wrong and what was expected, ``remedy`` what to do about it, ``location``
    where in the user's source it happened.  Subclasses may add keyword fields; all of them pickle.
    ``during`` says what tri was doing, where the driver knows it (stage, pass, kernel, target); ``asm`` has what earlier
    stages of a compile made.
    """

    during: str | None = None
    #: errors of the same kernel that were found with this one, which its notes tell
    others: tuple[TriError, ...] = ()
    #: what the stages before the one that failed made, as of a compiled kernel
    asm: Mapping[str, str | bytes] = MappingProxyType({})
    #: makes the lines that notebooks show; :func:`tri_core.tracebacks.install` puts its own here
    shown_lines: ClassVar[Callable[[TriError], list[str]]] = staticmethod(_whole)

    def __init__(
        self,
        message: str,
        *,
        remedy: str | None = None,
        location: SourceLocation | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.location = location
        self.__dict__.update(fields)

    def __str__(self) -> str:
        parts = [self.message]
        if self.location is not None:
            parts.append(f"  at {self.location}")
            parts.extend(f"  called from {site}" for site in self.location.call_sites)
        if self.during:
            parts.append(f"  in {self.during}")
        if self.remedy:
            parts.append(f"  remedy: {self.remedy}")
        return "\n".join(parts)

    @property
    def error_message(self) -> str:
        """``message``, as Triton calls it: without the place and the remedy."""
        return self.message

    def _render_traceback_(self) -> list[str]:
        """Traceback for IPython, which looks the method up by this name."""
        return type(self).shown_lines(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, dict(self.__dict__))


def _rebuild(cls: type[TriError], message: str, state: dict[str, Any]) -> TriError:
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class CompilationError(TriError):
    """The kernel's source is wrong: a located error of the user's program.

    ``by_path``: a name holds one type or another, or nothing, by the path that is taken at run time.
    """

    by_path: bool = False


class CompileTimeAssertionFailure(CompilationError):
    """A ``static_assert`` of the kernel does not hold."""


class VerificationError(TriError):
    """IR broke a rule of its dialect: a wrong pass, or wrong IR text given by the user."""


class Unsupported(TriError):
    """A valid program asks for something that this target or this version cannot do."""


class UnsupportedConstruct(Unsupported, CompilationError):
    """:class:`Unsupported` at a place in the source of a kernel: the compile fails there, as with any other
    error.
    """


class OutOfResources(TriError):
    """A kernel needs more of ``resource`` than the target has (``need`` against ``have``).

    ``nearest`` names options and the values of each, nearest to those asked for, with which it fits: any one of them
    will do.  It is empty where none is known.  ``message`` is the text; Triton's ``OutOfResources(required, limit, name)``
    makes one, too, and its names read the fields.
    """

    resource: str
    need: int
    have: int
    nearest: dict[str, int]

    def __init__(
        self, message: str | int, limit: int | None = None, name: str | None = None, **fields: Any
    ) -> None:
        if limit is not None and name is not None:
            fields = {"need": message, "have": limit, "resource": name, **fields}
            message = f"out of {name}: {message} needed, {limit} there"
        super().__init__(str(message), **{"nearest": {}, **fields})

    @property
    def required(self) -> int:
        """``need``, as Triton calls it."""
        return self.need

    @property
    def limit(self) -> int:
        """``have``, as Triton calls it."""
        return self.have

    @property
    def name(self) -> str:
        """``resource``, as Triton calls it."""
        return self.resource


class ToolchainError(TriError):
    """An external tool is missing or failed; ``tool``, ``returncode``, ``log`` say which and how."""

    tool: str
    returncode: int | None
    log: str


class CodegenCrash(ToolchainError):
    """LLVM aborted or was killed in the codegen worker; the user's process lives on."""


class TargetError(TriError):
    """An unknown, missing or ambiguous target or backend."""


class OptionError(TriError, ValueError):
    """An unknown option or knob, or a value of the wrong type or range."""


class PluginError(TriError):
    """A plugin was refused or failed; ``plugin`` names it."""

    plugin: str


class BackendError(TriError):
    """The owner of a target failed in one of its hooks; ``backend`` and ``hook`` name it."""

    backend: str
    hook: str


class DeviceError(TriError, RuntimeError):
    """A driver call failed, or a driver or device is missing."""


class KernelFault(DeviceError):
    """A kernel stopped while it ran: an assertion failed, or it accessed what it may not.

    ``kernel`` is its name; None where that is not certain.  ``kernels`` are those launched since the last wait for the
    device, the latest last, as far as they are remembered.  ``program`` (x, y, z) and ``thread`` are those of the thread
    that was first, where it left a record; ``location`` is then that of the assertion.
    """

    kernel: str | None
    kernels: tuple[str, ...]
    program: tuple[int, int, int] | None
    thread: int | None


class InvalidAccess(KernelFault):
    """An access through an ``address`` that belongs to no argument, or a store to memory that is read-only."""

    address: int


class OutOfBounds(InvalidAccess):
    """An access outside of its argument: ``parameter``, ``offset`` and ``extent`` (both in bytes)."""

    parameter: str
    offset: int
    extent: int


class SimulationError(DeviceError):
    """A simulated kernel did what a device does wrong, or differently each time.

    ``check`` says what (``"race"``, ``"uninitialised"``, ``"out-of-bounds"``, ``"misaligned"``, ``"read-only"``,
    ``"deadlock"``, ``"asynchronous"``, ``"trap"``), ``program`` is the program's id and ``thread`` its thread;
    ``other`` is the second place in the source, where there are two.
    """

    check: str
    program: tuple[int, int, int] | None
    thread: int | None
    other: SourceLocation | None


@dataclass(frozen=True)
class RaceAccess:
    """One of two accesses that race: a ``kind`` ("load", "store" or "atomic") at ``location`` by ``program`` (x, y, z).

    ``thread`` is its number in the program (in the cluster, where several CTAs run one), None where threads are not distinguished.
    """

    kind: str
    location: SourceLocation | None
    program: tuple[int, int, int]
    thread: int | None = None


class DataRace(DeviceError):
    """Two accesses to one element of global memory, a plain store among them, that nothing orders.

    ``kernel``, ``array`` (the parameter's name) and ``element`` (its index, in elements of the access, from the array's
    first byte) say where; ``accesses`` has the earlier one first.
    """

    kernel: str
    array: str
    element: int
    accesses: tuple[RaceAccess, RaceAccess]


class LaunchError(TriError):
    """A kernel call's arguments or grid are wrong for the kernel."""


class ArgumentError(LaunchError, TypeError, ValueError):
    """Arguments that a kernel does not take: too many, too few, of a kind that it cannot read."""


class ArgumentOverflow(ArgumentError, OverflowError):
    """An integer that no kernel can take: it does not fit in 64 bits."""


class DescriptorError(LaunchError, ValueError, AssertionError):
    """A tensor descriptor whose base, shape, strides or block cannot be."""


class OutsideKernel(TriError, RuntimeError, ValueError):
    """Call by the host of a function that is for kernels."""


class CompileRefused(TriError):
    """A kernel had to be compiled where ``tri.no_compile`` forbids it; ``reasons`` say what made it new."""

    reasons: tuple[str, ...]


class AutotuneError(TriError):
    """No configuration of an autotuned kernel works; ``reasons`` maps each, as text, to what it failed with."""

    reasons: dict[str, str]


class CacheError(TriError):
    """The cache directory cannot be used at all."""


class BundleError(CacheError):
    """A bundle of kernels that cannot be used: no bundle, damaged, of other versions, or not to be trusted."""


class RemoteCacheError(CacheError):
    """A remote cache that cannot be used: a library or the key lacks, or nobody answers."""


class InternalError(TriError):
    """A bug in tri."""
