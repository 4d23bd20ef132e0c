"""One run of a trial at a level."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tri
from tri.verifying.inputs import Trial
from tri.verifying.records import Arrays, Finding
from tri_core.errors import (
    DataRace,
    DeviceError,
    KernelFault,
    SimulationError,
    ToolchainError,
    TriError,
    Unsupported,
)
from tri_runtime.simulator.reporting import LaunchObserver, active_report

__all__ = ["INTERPRETER", "ran"]

INTERPRETER = "interpreter"


def ran(trial: Trial, level: str, seed: int, observer: LaunchObserver | None = None) -> Arrays | Finding:
    """Arrays afterwards; a finding where the level could not run, or the kernel means nothing.

    ``observer`` records what a simulated launch does.
    """
    arguments = trial.arguments(seed)
    try:
        with _on(level, observer, exact=trial.exact):
            trial.launch(arguments)
    except (Unsupported, ToolchainError) as error:
        return Finding(level, seed, "refused", reason=_reported(error))
    except (SimulationError, KernelFault, DataRace, DeviceError) as error:
        return Finding(level, seed, "undefined", reason=_reported(error))
    except TriError as error:
        if level == INTERPRETER:
            return Finding(level, seed, "undefined", reason=_reported(error))
        return Finding(level, seed, "refused", reason=_reported(error))
    return {name: value for name, value in arguments.items() if trial.types[name].startswith("*")}


@contextmanager
def _on(level: str, observer: LaunchObserver | None, *, exact: bool) -> Iterator[None]:
    if level == INTERPRETER:
        with tri.interpret(races=True, exact=exact):
            yield
        return
    with tri.target(level):
        if not level.startswith("sim:"):
            yield
            return
        with tri.simulation(report=False, races=True):
            token = active_report.set(observer)
            try:
                yield
            finally:
                active_report.reset(token)


def _reported(error: TriError) -> str:
    return f"{type(error).__name__}: {error}"
