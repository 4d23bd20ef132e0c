"""Compiling all configurations of a kernel, on an executor when there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from tri.tuning.config import Config
from tri_core.errors import (
    CompilationError,
    OptionError,
    OutOfResources,
    ToolchainError,
    TriError,
    Unsupported,
)

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.compiler import CompiledKernel
    from tri_core.target import Target

__all__ = ["INFEASIBLE", "UNUSABLE", "compile_all"]

#: failures that say "not this configuration": an autotuner goes on with the others
INFEASIBLE: tuple[type[TriError], ...] = (CompilationError, OutOfResources, ToolchainError, Unsupported)
#: the same before anything is compiled: an option that the target does not have
UNUSABLE: tuple[type[TriError], ...] = (*INFEASIBLE, OptionError)

Plan = tuple["ASTSource", "Target", dict[str, Any]]


def compile_all(
    configs: Sequence[Config],
    plan: Callable[[Config], Plan],
    executor: Executor | None,
    step: Callable[[], None],
) -> tuple[list[Config], dict[Config, TriError]]:
    """The configurations that compile, and why the others do not; ``step`` is called after each.

    ``plan`` says what a configuration compiles.  Errors that are not about the configuration are raised.
    """
    good: list[Config] = []
    failed: dict[Config, TriError] = {}
    pending: list[tuple[Config, Callable[[], object]]] = []
    for config in configs:
        try:
            pending.append((config, _start(config, plan, executor)))
        except UNUSABLE as error:  # an option that this target does not have
            failed[config] = error
            step()
    for config, finish in pending:
        try:
            finish()
            good.append(config)
        except INFEASIBLE as error:
            failed[config] = error
        step()
    return good, failed


def _start(
    config: Config, plan: Callable[[Config], Plan], executor: Executor | None
) -> Callable[[], CompiledKernel]:
    """Begin to compile; a function that waits for it (without an executor, one that does it)."""
    from tri.launch.jobs import submit
    from tri_core.compiler import adopt
    from tri_core.compiler import compile as compile_source

    source, target, options = plan(config)
    override = options.pop("ir_override", None)
    if override is not None:
        from tri_core.compiler import IRSource

        given = IRSource.from_file(override, source.signature())
        return lambda: compile_source(given, target, options)
    if executor is None:
        return lambda: compile_source(source, target, options)
    future: Future[CompiledKernel] = submit(executor, source, target, options)
    return lambda: adopt(future.result(), source, target, options)
