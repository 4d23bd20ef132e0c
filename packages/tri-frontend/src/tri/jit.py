"""``tri.jit``: functions that are compiled for a device."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from types import MethodType
from typing import TYPE_CHECKING, Any, overload

from tri.declarations import Declaration
from tri.interpreting import current, forced
from tri.kernel import OPTIONS, Kernel, KernelLauncher, KernelParameter, KernelVersions
from tri.launch.request import REQUEST, arguments_only, grid_and_warmup, start, warm_up_keywords
from tri_core import forks, knobs
from tri_core.errors import OptionError, OutsideKernel, TriError
from tri_core.tracebacks import shorten

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.target import Target

__all__ = ["JITFunction", "KernelLauncher", "KernelParameter", "KernelVersions", "jit"]


class JITFunction(Kernel):
    """A kernel, or a function that kernels call; made by :func:`jit`.

    ``fn[grid](*args, **kwargs)`` launches it over ``grid``, compiling it when these arguments need a
    version that does not exist yet.
    """

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
        super().__init__(
            fn,
            version,
            do_not_specialize,
            do_not_specialize_on_alignment,
            debug,
            noinline,
            repr,
            launch_metadata,
        )
        self.pre_run_hooks: list[Callable[..., Any]] = []
        #: whether launches run as Python, wherever they stand: TRI_INTERPRET when the function was decorated
        self.interpreted: bool = knobs.get("INTERPRET")

    def _restore(self, declaration: Declaration) -> None:
        super()._restore(declaration)
        self.pre_run_hooks = list(declaration.pre_run_hooks)
        self.interpreted = declaration.interpreted

    @forks.cached_property
    def _dispatcher(self) -> KernelLauncher:
        return self.services.launcher(self)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The kernel over ``grid``: one to three numbers of programs, or a function of the arguments by name."""
        if self.pre_run_hooks or self.interpreted or grid is None or forced() is not None:
            return functools.partial(start, self, grid)
        return MethodType(self._dispatcher.call, grid)

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        """Launch over ``grid=``, or only compile with ``warmup=True``; the compiled kernel."""
        try:
            if self._launches_plainly(kwargs):  # as ``self[grid]``, with as little work before it
                grid, _ = kwargs.pop("grid"), kwargs.pop("warmup", None)
                return self._dispatcher.call(grid, *args, **kwargs)
            grid, warmup = grid_and_warmup(kwargs)
            kwargs = arguments_only(kwargs)
            for hook in self.pre_run_hooks:
                hook(*args, **kwargs)
            if warmup:
                return self._dispatcher.warm_up(args, kwargs)
            if self.is_interpreted:
                return self._interpret(grid, args, kwargs)
            return self._dispatcher.call(grid, *args, **kwargs)
        except TriError as error:
            shorten(error)
            raise

    def _launches_plainly(self, kwargs: dict[str, Any]) -> bool:
        if self.pre_run_hooks or self.interpreted or REQUEST in kwargs:
            return False
        return "grid" in kwargs and not kwargs.get("warmup") and forced() is None

    @property
    def is_interpreted(self) -> bool:
        """True if a launch here and now runs as Python."""
        return self.interpreted or forced() is not None

    def _interpret(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch as Python on NumPy; there is no compiled kernel to give."""
        self.services.interpret(self, self._dispatcher, grid, args, kwargs)

    def warmup(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile for such arguments without a launch; a dtype stands for an array of it.  ``grid=`` may be given.

        Inside :class:`tri.AsyncCompileMode` the result is a :class:`tri.FutureKernel`.
        """
        try:
            return self._dispatcher.warm_up(args, arguments_only(warm_up_keywords(self.arg_names, kwargs)))
        except TriError as error:
            shorten(error)
            raise

    def plan(self, /, *args: Any, **kwargs: Any) -> tuple[Any, Target, dict[str, Any]]:
        """Compile of a launch with such arguments: source, target and options."""
        return self._dispatcher.plan(args, kwargs)

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """Call ``hook`` with the arguments of every launch and warm-up, before it."""
        if not callable(hook):
            raise OptionError(
                f"a hook is called before launches; {hook!r} cannot be", remedy="pass a function"
            )
        self.pre_run_hooks.append(hook)

    def preload(self, specialization_data: str) -> CompiledKernel:
        """Compile the version that ``specialization_data`` describes, so that a launch finds it.

        The text is what ``tri.knobs.runtime.jit_cache_hook`` gets as ``compile["specialization_data"]``, in
        this or another process.  OptionError when it is of another kernel or another version of its source.
        """
        return self.services.preload(self, specialization_data)

    @property
    def device_caches(self) -> KernelVersions:
        """The versions in use, by the index of their device."""
        return self.services.device_caches(self._dispatcher)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Refused: a kernel is launched over a grid.  Inside of an interpreted kernel, a call."""
        if current() is not None:
            return self.services.as_python(self)(*args, **kwargs)
        from tri.launch.calls import call_site

        try:
            raise OutsideKernel(
                f"{self.__qualname__} is a kernel: it is launched over a grid, or called from another kernel",
                remedy=f"write {self.__name__}[grid](...)",
                location=call_site(),
            )
        except OutsideKernel as error:
            shorten(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method of an interpreted kernel's values: bound to ``instance``."""
        if instance is None or current() is None:
            return self
        return functools.partial(self, instance)

    def __copy__(self) -> JITFunction:
        """Itself, as of Python's functions."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> JITFunction:
        """Itself, as of Python's functions; another one where its function was taken away, to be put back perhaps."""
        return self if self.fn is not None else from_declaration(self.declaration)

    @property
    def declaration(self) -> Declaration:
        """Declaration that remains when the Python function is dropped."""
        return Declaration(
            module=self.__module__,
            name=self.__name__,
            qualname=self.__qualname__,
            doc=self.__doc__,
            text=self._text_left,
            replacement=self._text,
            params=tuple(self.params),
            options=tuple((name, getattr(self, name)) for name in _DECLARED),
            repr=self.repr,
            launch_metadata=self.launch_metadata,
            pre_run_hooks=tuple(self.pre_run_hooks),
            interpreted=self.interpreted,
        )

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickled by name, as Python's functions are; by pickles that take functions apart, by function and options.

        Without its function: as its :class:`Declaration`.
        """
        if self.fn is None:
            return from_declaration, (self.declaration,)
        from tri.pickling import reduced

        state: dict[str, Any] = {"pre_run_hooks": self.pre_run_hooks, "interpreted": self.interpreted}
        with contextlib.suppress(TriError):  # it has none where there is no file
            state["source"] = self.source
        return reduced(self, (_made, (self.fn, dict(zip(OPTIONS, self._given, strict=True))), state))

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.__qualname__})"


#: options that are attributes of their own
_DECLARED = ("version", "debug", "noinline", "do_not_specialize", "do_not_specialize_on_alignment")


def from_declaration(declaration: Declaration) -> JITFunction:
    """The jit function that ``declaration`` is left of; it compiles when its ``fn`` is set."""
    made = JITFunction.__new__(JITFunction)
    made._restore(declaration)
    return made


def _made(fn: Callable[..., Any], options: dict[str, Any]) -> JITFunction:
    return JITFunction(fn, **options)


@overload
def jit(fn: Callable[..., Any]) -> JITFunction: ...


@overload
def jit(
    *,
    version: str | None = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Callable[[Callable[..., Any]], JITFunction]: ...


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorate a function so that it can be compiled: ``@tri.jit`` or ``@tri.jit(do_not_specialize=["n"])``.

    Its body may use Python's operators and control flow, constexprs, :mod:`tri.language` and other jit
    functions.  ``noinline`` keeps calls of it calls; ``debug`` turns on device asserts.  A compile raises
    CompilationError where the body is wrong, with its place in the source.
    """
    if fn is None:
        return lambda function: JITFunction(function, **options)
    return JITFunction(fn, **options)
