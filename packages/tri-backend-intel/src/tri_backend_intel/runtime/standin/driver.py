"""The stand-in driver: the library, served by this process."""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.functions import FUNCTIONS
from tri_backend_intel.runtime.standin.calls import CALLS
from tri_backend_intel.runtime.standin.configuration import Configuration
from tri_backend_intel.runtime.standin.library import Library
from tri_backend_intel.runtime.standin.objects import Refused
from tri_backend_intel.runtime.standin.state import State
from tri_runtime.loader.served import ServedDriver, require_elf

__all__ = ["StandIn"]

logger = logging.getLogger(__name__)

_DRIVERS = "ZE_ENABLE_ALT_DRIVERS"

#: what the loader may have opened, and calls until the process ends, whoever still holds it
_announced: list[StandIn] = []


class StandIn(ServedDriver[Library]):
    """A driver of Level Zero whose devices are simulated; it serves until the interpreter ends, or :meth:`close`.

    Make it, :meth:`announce` it, and then let the loader begin (``zeInit``), which lists drivers once in a process.
    Kernels must be compiled with ``TRI_INTEL_STANDIN`` set.  DeviceError on systems without ELF libraries.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        require_elf("sim:intel:pvc")
        calls = {name: self._callback(name, call) for name, call in CALLS.items()}
        super().__init__(Library(), State(configuration or Configuration()), calls)

    def announce(self) -> None:
        """Tell the loader, which reads it at ``zeInit``: this driver and no other."""
        os.environ[_DRIVERS] = str(self.path)
        _announced.append(self)

    def fail_build(self, log: str) -> None:
        """The next module is not built; ``log`` is what the driver's compiler says of it."""
        self.state.failing_builds.append(log)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Launches run nothing and take no time of the driver's, for measuring who calls it; events are not signalled."""
        self.library.idle.value = 1
        try:
            yield
        finally:
            self.library.idle.value = 0

    @property
    def skipped(self) -> int:
        """Launches so far that ran nothing, within :meth:`idle`."""
        return max(self.library.idle.value - 1, 0)

    def _callback(self, name: str, call: Callable[..., None]) -> Any:
        kinds = [ctypes.c_void_p if kind is ctypes.c_char_p else kind for kind in FUNCTIONS[name]]
        return ctypes.CFUNCTYPE(ctypes.c_uint32, *kinds)(functools.partial(self._answer, name, call))

    def _answer(self, name: str, call: Callable[..., None], *arguments: int | None) -> int:
        try:
            if name in self.state.answers:
                return int(self.state.answers[name])
            call(self.state, *arguments)
        except Refused as refused:
            if refused.code != Result.NOT_READY:
                self.state.driver.last_error = refused.why
                logger.info("%s: %s (%s)", name, refused.code.name, refused.why)
            return refused.code
        except Exception:
            logger.exception("%s failed in the stand-in driver", name)
            return Result.ERROR_UNKNOWN
        return Result.SUCCESS
