"""``Kernel``: what the compiler and the interpreter need of a jit function: its source, what it captures, its parameters.

Nothing that launches, interprets or compiles is imported here or by what imports this for the class alone: what the
layers above do with kernels is behind :class:`KernelServices`, which :mod:`tri.launching` puts in place.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from tri.callables import CallableServices, JITCallable
from tri.declarations import Declaration, KernelParameter, PlainName

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.compiler import CompiledKernel
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["OPTIONS", "Kernel", "KernelLauncher", "KernelParameter", "KernelServices", "KernelVersions"]


#: what :func:`tri.jit` takes, in its order
OPTIONS = (
    "version", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline", "repr", "launch_metadata",
)  # fmt: skip


class KernelVersions(Protocol):
    """Device index to a tuple whose first item maps specializations to kernels: :class:`tri.launch.caches.DeviceCaches`."""

    def __getitem__(self, device: int) -> tuple[dict[Any, CompiledKernel]]: ...

    def __iter__(self) -> Iterator[int]: ...

    def __len__(self) -> int: ...

    def clear(self) -> None:
        """Drop all versions."""


class KernelLauncher(Protocol):
    """Launcher of a function: :class:`tri.launch.dispatcher.Dispatcher`."""

    call: Callable[..., Any]

    def read(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        """Facts about all parameters, values of those that are not constexpr, options; LaunchError if wrong."""
        ...

    def shape(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, int, int]:
        """``grid`` as three integers."""
        ...

    def versions(self) -> dict[int, dict[Any, CompiledKernel]]:
        """The loaded versions by device index and specialization."""
        ...

    def forget(self) -> None:
        """Drop every bound launch."""
        ...

    def warm_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compile for such arguments without launching or loading."""
        ...

    def plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Target, dict[str, Any]]:
        """Compile of a launch with such arguments: source, target, options."""
        ...


class KernelServices(CallableServices, Protocol):
    """Services of the layers above for a kernel: keys from its dependencies, launches, interpretation."""

    def launcher(self, kernel: Kernel) -> KernelLauncher:
        """Launcher of the kernel."""
        ...

    def device_caches(self, launcher: KernelLauncher) -> KernelVersions:
        """The versions that ``launcher`` has, by the index of their device."""
        ...

    def launch_compiled(
        self, source: Any, compiled: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any
    ) -> None:
        """Launch ``compiled``, made of the :class:`tri.ASTSource` ``source``, over ``grid``; ``stream`` may be None."""
        ...

    def load_compiled(self, compiled: CompiledKernel) -> None:
        """Load ``compiled`` on the current device of its target."""
        ...

    def compiled_caller(self, compiled: CompiledKernel) -> Callable[..., None] | None:
        """``compiled.run`` by compiled code; None where the runtime of ``compiled``, which is loaded, leaves launches to Python."""
        ...

    def launch_facts(
        self, source: Any, compiled: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any
    ) -> Any:
        """Facts of such a launch for hooks; None if no hook is set."""
        ...

    def preload(self, kernel: Kernel, specialization_data: str) -> CompiledKernel:
        """Compile the version that the text describes."""
        ...

    def interpret(
        self,
        kernel: Kernel,
        launcher: KernelLauncher,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Run the kernel as Python over ``grid``, its arguments read as ``launcher`` reads them."""
        ...

    def as_python(self, kernel: Kernel) -> Callable[..., Any]:
        """The kernel as a Python function on the interpreter's values."""
        ...


def _annotation_text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation.strip("'\"")
    if isinstance(annotation, type):  # tl.dtype itself has the members below, for its objects
        return annotation.__name__
    element = getattr(annotation, "element_ty", None)
    if element is not None:
        return f"*{_annotation_text(element)}"
    codegen_name = getattr(annotation, "codegen_name", None)
    return codegen_name() if codegen_name is not None else getattr(annotation, "__name__", str(annotation))


class Kernel(JITCallable):
    """A function that is compiled, with what its decorator said: the options are those of :func:`tri.jit`."""

    services: ClassVar[KernelServices]
    #: level of the language that the kernel is written in, where that is not :mod:`tri.language`: part of its key
    level: ClassVar[str] = ""

    def __init__(
        self,
        fn: Callable[..., Any],
        version: str | None = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(fn)
        functools.update_wrapper(cast("Any", self), fn)  # a record: what is called is a JITFunction
        #: what :func:`tri.jit` was given, in the order of OPTIONS
        self._given: tuple[Any, ...] = (
            version,
            do_not_specialize,
            do_not_specialize_on_alignment,
            debug,
            noinline,
            repr,
            launch_metadata,
        )
        self.version = version
        self.debug = debug
        self.noinline = bool(noinline)
        self.do_not_specialize = list(do_not_specialize or ())
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or ())
        #: the name of the version that a specialization (its ``signature`` and ``constants``, by parameter) describes
        self.repr: Callable[[Any], str] = PlainName(self.__name__) if repr is None else repr
        self.launch_metadata = launch_metadata
        self.signature = inspect.signature(fn)
        self._declare(
            self._parameters(
                frozenset(do_not_specialize or ()), frozenset(do_not_specialize_on_alignment or ())
            )
        )

    def _declare(self, parameters: Iterable[KernelParameter]) -> None:
        self.params = list(parameters)
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]

    def _restore(self, declaration: Declaration) -> None:
        """Become what ``declaration`` says, without a Python function."""
        self._function, self._text_left, self._text = None, declaration.text, declaration.replacement
        self.__module__, self.__doc__ = declaration.module, declaration.doc
        self.__name__, self.__qualname__ = declaration.name, declaration.qualname
        self.__dict__.update(declaration.options)
        self.repr, self.launch_metadata = declaration.repr, declaration.launch_metadata
        given = {**dict(declaration.options), "repr": self.repr, "launch_metadata": self.launch_metadata}
        self._given = tuple(map(given.get, OPTIONS))
        self.signature = declaration.signature
        self._declare(declaration.params)

    def _parameters(
        self, plain: frozenset[int | str], unaligned: frozenset[int | str]
    ) -> list[KernelParameter]:
        return [
            KernelParameter(
                num,
                p.name,
                _annotation_text(p.annotation),
                p.default,
                p.kind,
                num in plain or p.name in plain,
                num in unaligned or p.name in unaligned,
            )
            for num, p in enumerate(self.signature.parameters.values())
        ]

    def make_builder(self, target: Target, options: CommonOptions) -> Builder:
        """The object through which the kernel's module is emitted."""
        from tri.compiler.builder import Builder

        return Builder(target, options)

    @property
    def signature_text(self) -> str:
        """The parameters as written, without annotations."""
        shown = (p.replace(annotation=inspect.Parameter.empty) for p in self.signature.parameters.values())
        return f"({', '.join(map(str, shown))})"

    @property
    def hash(self) -> str | None:
        """The cache key once it was asked for; set to None it is made anew, and so are the kernels."""
        return self.__dict__.get("cache_key")

    @hash.setter  # noqa: A003
    def hash(self, value: None) -> None:
        if value is not None:
            raise AttributeError("the hash of a jit function is computed: it can be set to None only")
        for made in ("cache_key", "_dispatcher"):
            self.__dict__.pop(made, None)

    def _unsafe_update_src(self, new_src: str) -> None:
        """As of :class:`JITCallable`; the kernel is another one from then on."""
        super()._unsafe_update_src(new_src)
        self.hash = None
