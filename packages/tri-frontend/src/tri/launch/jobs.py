"""A compile as a value that any executor can run: threads, processes, machines of a cluster.

The front end runs here, where the kernel's Python function lives; what travels is TTIR.  So a worker needs
tri and the backend, not the user's modules, and kernels of notebooks and closures can be sent as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tri_core import knobs
from tri_core.abi import KernelSignature
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.compiler import CompiledKernel
    from tri_core.mlir import ir
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["BuiltSource", "CompileJob", "make_job", "run_job", "submit"]


@dataclass(frozen=True)
class BuiltSource:
    """TTIR that the front end has built, under the identity of the kernel that it was built from."""

    name: str
    digest: str
    given: KernelSignature
    text: str = field(repr=False)

    def fingerprint(self) -> str:
        """The fingerprint of the kernel: it is the same compile, under the same key."""
        return self.digest

    def kernel_signature(self) -> KernelSignature:
        """The name and the run-time parameters."""
        return self.given

    def build(self, target: Target, options: CommonOptions) -> ir.Module:
        """The module; the caller is inside :func:`tri_core.mlir.session`."""
        from tri_core import mlir

        del target, options
        return mlir.parse(self.text)


@dataclass(frozen=True)
class CompileJob:
    """A compile: source, target (``"backend:arch"``), options, and the knobs that affect code."""

    source: BuiltSource
    target: str
    options: Mapping[str, Any]
    knobs: Mapping[str, Any]


def make_job(source: ASTSource, target: Target, options: Mapping[str, Any]) -> CompileJob:
    """The job of compiling ``source``; CompilationError when the front end refuses it."""
    from tri_core import mlir
    from tri_core.compiler import Attempt
    from tri_core.compiler.gates import pass_all
    from tri_core.dialects import tt
    from tri_core.plugins import manager
    from tri_core.target_options import parse_options, target_by_options

    target = target_by_options(target, options)
    parsed = parse_options(target, options)
    pass_all(Attempt(source, target, parsed))
    mlir.registry.add_dialect(tt.TT)
    manager().register_ir(mlir.registry, target)
    with mlir.session():
        module = source.build(target, parsed)
        mlir.verify(module)
        text: str = module.operation.get_asm(enable_debug_info=True, assume_verified=True)
    built = BuiltSource(source.name, source.fingerprint(), source.kernel_signature(), text)
    return CompileJob(built, str(target.key), dict(options), knobs.codegen_snapshot())


def run_job(job: CompileJob) -> CompiledKernel:
    """Compile, in whichever process this is."""
    from tri_core.compiler import compile as compile_source

    with knobs.scope(**job.knobs):
        return compile_source(job.source, job.target, job.options)


def submit(
    executor: Executor, source: ASTSource, target: Target, options: Mapping[str, Any]
) -> Future[CompiledKernel]:
    """Compile on ``executor``; a kernel that is known already is there at once.

    What the front end refuses is raised by the future, as everything else is.
    """
    from tri_core.compiler import lookup

    done: Future[CompiledKernel] = Future()
    try:
        found = lookup(source, target, options)
        if found is not None:
            done.set_result(found)
            return done
        job = make_job(source, target, options)
    except Exception as error:  # it belongs to this one kernel, and to whoever asks for it
        done.set_exception(error)
        return done
    return executor.submit(run_job, job)
