"""Services for kernels: bound to :class:`tri.kernel.KernelServices` here, above all that implement it.

The language, the compiler and the interpreter know kernels as records (:mod:`tri.kernel`) and import nothing of this;
each function imports what it needs when it is called, so that ``import tri`` costs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.callables import JITCallable
from tri.kernel import Kernel, KernelLauncher, KernelVersions
from tri_core.first_use import first_use

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.compiler import CompiledKernel

__all__ = ["install"]


class _Services:
    """See :class:`KernelServices`."""

    def fingerprint(self, function: Kernel) -> str:
        from tri.dependencies import fingerprint

        return fingerprint(function)

    def used_globals(self, function: Kernel) -> dict[tuple[str, int], tuple[Any, Mapping[str, Any]]]:
        from tri.dependencies import used_globals

        return used_globals(function)

    def launcher(self, kernel: Kernel) -> KernelLauncher:
        from tri.launch.dispatcher import Dispatcher
        from tri.serving.attachment import attach

        attach()
        return Dispatcher(kernel)

    def device_caches(self, launcher: KernelLauncher) -> KernelVersions:
        from tri.launch.caches import DeviceCaches

        return DeviceCaches(launcher)

    def launch_compiled(
        self, source: ASTSource, compiled: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any
    ) -> None:
        from tri.launch.compiled import launch

        launch(source, compiled, grid, args, stream)

    def load_compiled(self, compiled: CompiledKernel) -> None:
        from tri.launch.compiled import load

        load(compiled)

    def compiled_caller(self, compiled: CompiledKernel) -> Callable[..., None] | None:
        from tri.launch.compiled import caller

        return caller(compiled)

    def launch_facts(
        self, source: ASTSource, compiled: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any
    ) -> Any:
        from tri.launch.compiled import launch_facts

        return launch_facts(source, compiled, grid, args, stream)

    def preload(self, kernel: Kernel, specialization_data: str) -> CompiledKernel:
        from tri.compilation import compile as compile_source
        from tri.launch.specialization_data import read_specialization_data

        return compile_source(*read_specialization_data(kernel, specialization_data))

    def interpret(
        self,
        kernel: Kernel,
        launcher: KernelLauncher,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        with first_use("interpreter"):
            from tri.interpreter.launch import launch

        launch(kernel, launcher, grid, args, kwargs)

    def as_python(self, kernel: Kernel) -> Callable[..., Any]:
        from tri.interpreter.rewrite import as_python

        return as_python(kernel)


def install() -> None:
    """Have kernels launched, interpreted and told apart by this package."""
    JITCallable.services = Kernel.services = _Services()
