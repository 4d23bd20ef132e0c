"""The runtimes of this process: made when first asked for, one per device kind."""

from __future__ import annotations

from tri_core import forks
from tri_core.api import SIMULATED_KIND, Runtime
from tri_core.first_use import alone
from tri_runtime.process import ForkGuard

__all__ = ["forget", "runtime"]

_lock = forks.Lock()
_runtimes: dict[str, tuple[Runtime, ForkGuard]] = {}


def runtime(device_kind: str) -> Runtime:
    """The runtime of ``device_kind``, from the plugin that owns it.

    DeviceError in a forked child when the runtime was already in use and cannot live through a fork.
    """
    found = _runtimes.get(device_kind)
    if found is None:
        from tri_core import plugins  # the plugin manager is not needed by who brings a runtime along

        with alone(), _lock:
            found = _runtimes.get(device_kind)
            if found is None:
                made = (
                    _simulator() if device_kind == SIMULATED_KIND else plugins.manager().runtime(device_kind)
                )
                found = _runtimes[device_kind] = (made, ForkGuard(f"the {device_kind} runtime"))
    live, guard = found
    if not live.fork_safe:
        guard.check()
    return live


def _simulator() -> Runtime:
    from tri_runtime.simulator.runtime import SimulatorRuntime

    return SimulatorRuntime()


def forget() -> None:
    """Drop every runtime: for tests, and for a process that changed its plugins."""
    with _lock:
        _runtimes.clear()
