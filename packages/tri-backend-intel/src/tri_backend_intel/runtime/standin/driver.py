"""The stand-in driver: the library, served by this process."""

from __future__ import annotations

import atexit
import ctypes
import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.functions import FUNCTIONS
from tri_backend_intel.runtime.standin.calls import CALLS
from tri_backend_intel.runtime.standin.configuration import Configuration
from tri_backend_intel.runtime.standin.library import Library
from tri_backend_intel.runtime.standin.objects import Refused
from tri_backend_intel.runtime.standin.state import State
from tri_core.api import DeviceError

__all__ = ["StandIn"]

logger = logging.getLogger(__name__)

_DRIVERS = "ZE_ENABLE_ALT_DRIVERS"

#: what the loader may have opened, and calls until the process ends, whoever still holds it
_announced: list[StandIn] = []


class StandIn:
    """A driver of Level Zero whose devices are simulated; it serves until the interpreter ends, or :meth:`close`.

    Make it, :meth:`announce` it, and then let the loader begin (``zeInit``), which lists drivers once in a process.
    Kernels must be compiled with ``TRI_INTEL_STANDIN`` set.  DeviceError on systems without ELF libraries.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        if sys.platform != "linux":
            raise DeviceError(
                f"the stand-in driver is an ELF library, which {sys.platform} does not load",
                remedy='simulate without a driver: tri.target("sim:intel:pvc")',
            )
        self.state = State(configuration or Configuration())
        self.library = Library()
        self._functions = {name: self._callback(name, call) for name, call in CALLS.items()}
        self.library.serve(
            {n: ctypes.cast(f, ctypes.c_void_p).value or 0 for n, f in self._functions.items()}
        )
        atexit.register(self.library.close)

    @property
    def path(self) -> Path:
        """The library."""
        return self.library.path

    def announce(self) -> None:
        """Tell the loader, which reads it at ``zeInit``: this driver and no other."""
        os.environ[_DRIVERS] = str(self.path)
        _announced.append(self)

    def close(self) -> None:
        """Serve nothing any more: every function answers that it is not supported."""
        self.library.close()
        atexit.unregister(self.library.close)

    def lose_device(self, index: int, launch: int | None = None) -> None:
        """Lose device ``index`` now, or in the ``launch``-th launch from now on (1 is the next)."""
        device = self.state.devices[index]
        if launch is None:
            device.lose("the stand-in was asked to lose it")
        else:
            device.lose_at = device.launches + launch

    def fail_build(self, log: str) -> None:
        """The next module is not built; ``log`` is what the driver's compiler says of it."""
        self.state.failing_builds.append(log)

    def answer(self, function: str, code: Result | None) -> None:
        """``function`` does nothing but answer ``code``, until that is None again."""
        if code is None:
            self.state.answers.pop(function, None)
        else:
            self.state.answers[function] = code

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

    def left(self) -> list[str]:
        """What callers made and did not destroy: kinds of objects, ``allocation`` for memory."""
        return self.state.left()

    def _callback(self, name: str, call: Callable[..., None]) -> Any:
        kinds = [ctypes.c_void_p if kind is ctypes.c_char_p else kind for kind in FUNCTIONS[name]]
        return ctypes.CFUNCTYPE(ctypes.c_uint32, *kinds)(functools.partial(self._answer, name, call))

    def _answer(self, name: str, call: Callable[..., None], *arguments: int | None) -> int:
        try:
            if name in self.state.answers:
                return self.state.answers[name]
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
