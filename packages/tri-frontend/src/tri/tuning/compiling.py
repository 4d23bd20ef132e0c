"""Compiling all configurations of a kernel: beside each other in worker processes, or on an executor where there is one."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from tri.launch.workers import begin
from tri.tuning.config import Config
from tri_core import forks
from tri_core.errors import (
    BackendError,
    CompilationError,
    OptionError,
    OutOfResources,
    ToolchainError,
    TriError,
    Unsupported,
)

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.launch.workers import Beside, Worker
    from tri_core.compiler import CompiledKernel
    from tri_core.target import Target

__all__ = ["INFEASIBLE", "UNUSABLE", "compile_all"]

logger = logging.getLogger("tri.autotune")

#: failures that say "not this configuration": an autotuner goes on with the others
INFEASIBLE: tuple[type[TriError], ...] = (CompilationError, OutOfResources, ToolchainError, Unsupported)
#: the same before anything is compiled: an option that the target does not have
UNUSABLE: tuple[type[TriError], ...] = (*INFEASIBLE, OptionError)

#: failures of a configuration that a worker compiles: it may take the worker down
_OF_A_WORKER: tuple[type[TriError], ...] = (*INFEASIBLE, BackendError)
#: seconds of compiling before workers are started, which take about as long until they are ready
_PATIENCE = 0.7
#: seconds between looks at whether the first configuration is planned
_MOMENT = 0.01

Plan = tuple["ASTSource", "Target", dict[str, Any]]


def compile_all(
    configs: Sequence[Config],
    plan: Callable[[Config], Plan],
    executor: Executor | None,
    step: Callable[[], None],
    most_spills: int | None = None,
) -> tuple[dict[Config, CompiledKernel], dict[Config, TriError]]:
    """The configurations that compile, with their kernels, and why the others do not; ``step`` is called after each.

    ``plan`` says what a configuration compiles.  Errors that are not about the configuration are raised.  Those that are
    known to spill more than ``most_spills`` bytes are left out, unless all do.
    """
    good: dict[Config, CompiledKernel] = {}
    failed: dict[Config, TriError] = {}
    spilling: dict[Config, TriError] = {}
    outcomes = _Shared(configs, plan, step).run() if executor is None else _on(executor, configs, plan, step)
    for config in configs:
        made = outcomes[config]
        if isinstance(made, TriError):
            failed[config] = made
            continue
        good[config] = made
        spills = made.n_spills or 0
        if most_spills is not None and spills > most_spills:
            spilling[config] = _spills(spills, most_spills)
    if len(spilling) < len(good):
        return {
            config: kernel for config, kernel in good.items() if config not in spilling
        }, failed | spilling
    return good, failed


def _spills(need: int, have: int) -> OutOfResources:
    """Reason that a configuration that compiles is not tried."""
    return OutOfResources(
        f"{need} bytes per thread are spilled, more than most_spills={have}",
        remedy="smaller blocks or more num_warps need fewer registers per thread",
        resource="spills",
        need=need,
        have=have,
    )


# --- on an executor ---------------------------------------------------------------------------------------


def _on(
    executor: Executor, configs: Sequence[Config], plan: Callable[[Config], Plan], step: Callable[[], None]
) -> dict[Config, CompiledKernel | TriError]:
    outcomes: dict[Config, CompiledKernel | TriError] = {}
    pending: list[tuple[Config, Callable[[], CompiledKernel]]] = []
    for config in configs:
        try:
            pending.append((config, _start(config, plan, executor)))
        except UNUSABLE as error:  # an option that this target does not have
            outcomes[config] = error
            step()
    for config, finish in pending:
        try:
            outcomes[config] = finish()
        except INFEASIBLE as error:
            outcomes[config] = error
        step()
    return outcomes


def _start(
    config: Config, plan: Callable[[Config], Plan], executor: Executor
) -> Callable[[], CompiledKernel]:
    """Begin to compile; a function that waits for it."""
    from tri.launch.jobs import submit
    from tri_core.compiler import adopt

    source, target, options = plan(config)
    if "ir_override" in options:
        return lambda: _here(source, target, options)
    future: Future[CompiledKernel] = submit(executor, source, target, options)
    return lambda: adopt(future.result(), source, target, options)


def _here(source: ASTSource, target: Target, options: Mapping[str, Any]) -> CompiledKernel:
    """The kernel, compiled in this process."""
    from tri_core.compiler import IRSource
    from tri_core.compiler import compile as compile_source

    given = dict(options)
    override = given.pop("ir_override", None)
    if override is None:
        return compile_source(source, target, given)
    return compile_source(IRSource.from_file(override, source.kernel_signature()), target, given)


# --- here and in workers ----------------------------------------------------------------------------------


class _Shared:
    """Configurations that this process takes from the front and worker processes from the back.

    Workers are started once the first configurations have taken long enough to be worth it, and only where all that takes
    part in a compile is installed: elsewhere they would not find it.
    """

    def __init__(
        self, configs: Sequence[Config], plan: Callable[[Config], Plan], step: Callable[[], None]
    ) -> None:
        self._pending = deque(configs)
        #: hooks of configurations change what they share, such as a descriptor's block
        self._planning = forks.Lock()
        self._plan = plan
        self._step = step
        self._target: Target | None = None
        self._outcomes: dict[Config, CompiledKernel | TriError] = {}
        self._errors: list[BaseException] = []
        self._threads: list[Beside] = []
        self._hands: list[Worker] = []

    def run(self) -> dict[Config, CompiledKernel | TriError]:
        """Result of each configuration; errors that are not about a configuration are raised."""
        timer = begin(self._start_workers, delay=_PATIENCE)
        try:
            while (config := self._next(self._pending.popleft)) is not None:
                self._outcomes[config] = self._compiled(config)
                self._count()
        except BaseException:  # an interrupt, say: nobody waits for the others
            self._pending.clear()
            for hand in self._hands:
                hand.kill()
            raise
        finally:
            timer.cancel()
            timer.join()
            for thread in self._threads:
                thread.join()
        if self._errors:
            raise self._errors[0]
        return self._outcomes

    def _next(self, take: Callable[[], Config]) -> Config | None:
        try:
            return None if self._errors else take()
        except IndexError:
            return None

    def _count(self) -> None:
        with self._planning:
            self._step()

    def _planned(self, config: Config) -> Plan:
        with self._planning:
            found = self._plan(config)
        self._target = found[1]
        return found

    def _compiled(self, config: Config) -> CompiledKernel | TriError:
        try:
            plan = self._planned(config)
        except UNUSABLE as error:
            return error
        try:
            return _here(*plan)
        except INFEASIBLE as error:
            return error

    def _start_workers(self) -> None:
        from tri.launch.workers import most_workers
        from tri_core.plugins import manager

        while self._target is None and self._pending:
            time.sleep(_MOMENT)
        if self._target is None or not manager().is_installed(self._target):
            return
        for _ in range(min(most_workers(), len(self._pending))):
            self._threads.append(begin(self._work))

    def _work(self) -> None:
        """Let one worker compile configurations until none is left."""
        from tri.launch.workers import worker

        try:
            with worker() as hand:
                self._hands.append(hand)
                while hand.is_alive and (config := self._next(self._pending.pop)) is not None:
                    self._outcomes[config] = self._compiled_by(hand, config)
                    self._count()
        except BackendError as error:
            logger.warning("%s: all configurations are compiled in this process", error)
        except BaseException as error:
            self._errors.append(error)

    def _compiled_by(self, hand: Worker, config: Config) -> CompiledKernel | TriError:
        try:
            plan = self._planned(config)
        except UNUSABLE as error:
            return error
        try:
            return _beside(hand, *plan)
        except _OF_A_WORKER as error:
            return error


def _beside(hand: Worker, source: ASTSource, target: Target, options: Mapping[str, Any]) -> CompiledKernel:
    """The kernel, made by worker ``hand``, but for text that is put in place of a stage: its file is this process's."""
    if "ir_override" in options:
        return _here(source, target, options)
    return hand.kernel(source, target, options)
