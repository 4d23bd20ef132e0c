"""Compiling on an executor while the program goes on."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Self

from tri_core.errors import TriError

if TYPE_CHECKING:
    from types import TracebackType

    from tri.compiler.source import ASTSource
    from tri_core.compiler import CompiledKernel
    from tri_core.target import Target

__all__ = ["AsyncCompileMode", "FutureKernel", "active_mode"]

active_mode: ContextVar[AsyncCompileMode | None] = ContextVar("tri_async_compile", default=None)


class FutureKernel:
    """A kernel that is being compiled, made by a warm-up inside :class:`AsyncCompileMode`.

    Everything asked of it but :meth:`done` waits for the compile, and raises the error that it ended in.
    """

    def __init__(
        self,
        future: Future[CompiledKernel],
        source: ASTSource,
        target: Target,
        options: Mapping[str, Any],
    ) -> None:
        self._future = future
        self._compile = (source, target, options)
        self._kernel: CompiledKernel | None = None

    def done(self) -> bool:
        """True if :meth:`result` would return at once."""
        return self._future.done()

    def result(self, ignore_errors: bool = False) -> CompiledKernel | None:
        """The kernel, which this process then knows; None for an ignored failure, else its error is raised."""
        from tri_core.compiler import adopt

        if self._kernel is None:
            try:
                self._kernel = adopt(self._future.result(), *self._compile)
            except TriError:
                if not ignore_errors:
                    raise
        return self._kernel

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.result(), name)

    def __repr__(self) -> str:
        return f"<{'compiled' if self.done() else 'compiling'} kernel {self._compile[0].name}>"


class AsyncCompileMode:
    """Warm-ups inside the ``with`` block compile on ``executor`` and give a :class:`FutureKernel` at once::

        with tri.AsyncCompileMode(ThreadPoolExecutor(8)):
            for block in (64, 128, 256):
                kernel.warmup(tl.float32, 1000, BLOCK=block, grid=(1,))

    Any ``concurrent.futures.Executor`` will do.  Leaving the block waits for all of them and raises the
    first failure, unless ``ignore_errors``; a kernel is submitted once, however often it is asked for.
    A launch inside the block compiles as always.
    """

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.future_kernels: dict[Any, FutureKernel] = {}
        self._token: Token[AsyncCompileMode | None] | None = None

    def submit(self, source: ASTSource, target: Target, options: Mapping[str, Any]) -> FutureKernel:
        """The kernel of ``source``, compiled on the executor."""
        from tri.launch.jobs import submit

        key = (source.fingerprint(), str(target.key), tuple(sorted(options.items())))
        if key not in self.future_kernels:
            future = submit(self.executor, source, target, options)
            self.future_kernels[key] = FutureKernel(future, source, target, options)
        return self.future_kernels[key]

    def __enter__(self) -> Self:
        if active_mode.get() is not None:
            raise TriError("AsyncCompileMode blocks cannot be nested", remedy="leave the outer block first")
        self._token = active_mode.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            active_mode.reset(self._token)
        kernels = list(self.future_kernels.values())
        self.future_kernels.clear()
        failed: list[TriError] = []
        for kernel in kernels:
            try:
                kernel.result(self.ignore_errors)
            except TriError as found:
                failed.append(found)
        if failed and error is None:
            raise failed[0]
