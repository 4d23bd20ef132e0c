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
    most_spills: int | None = None,
) -> tuple[list[Config], dict[Config, TriError]]:
    """The configurations that compile, and why the others do not; ``step`` is called after each.

    ``plan`` says what a configuration compiles.  Errors that are not about the configuration are raised.  Those that are
    known to spill more than ``most_spills`` bytes are left out, unless all do.
    """
    good: list[Config] = []
    failed: dict[Config, TriError] = {}
    spilling: dict[Config, TriError] = {}
    pending: list[tuple[Config, Callable[[], CompiledKernel]]] = []
    for config in configs:
        try:
            pending.append((config, _start(config, plan, executor)))
        except UNUSABLE as error:  # an option that this target does not have
            failed[config] = error
            step()
    for config, finish in pending:
        try:
            spills = finish().n_spills or 0
            good.append(config)
            if most_spills is not None and spills > most_spills:
                spilling[config] = _spills(spills, most_spills)
        except INFEASIBLE as error:
            failed[config] = error
        step()
    if len(spilling) < len(good):
        return [config for config in good if config not in spilling], failed | spilling
    return good, failed


def _spills(need: int, have: int) -> OutOfResources:
    """Why a configuration that compiles is not tried."""
    return OutOfResources(
        f"{need} bytes per thread are spilled, more than most_spills={have}",
        remedy="smaller blocks or more num_warps need fewer registers per thread",
        resource="spills",
        need=need,
        have=have,
    )


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

        given = IRSource.from_file(override, source.kernel_signature())
        return lambda: compile_source(given, target, options)
    if executor is None:
        return lambda: compile_source(source, target, options)
    future: Future[CompiledKernel] = submit(executor, source, target, options)
    return lambda: adopt(future.result(), source, target, options)
