"""The stand-in: the library, served by this process."""

from __future__ import annotations

import atexit
import ctypes
import functools
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tri_backend_amd.runtime.standin.calls import CALLS
from tri_backend_amd.runtime.standin.configuration import Configuration
from tri_backend_amd.runtime.standin.errors import HipError, Refused
from tri_backend_amd.runtime.standin.functions import FUNCTIONS, TEXTS
from tri_backend_amd.runtime.standin.library import Library
from tri_backend_amd.runtime.standin.state import State
from tri_core.api import DeviceError

__all__ = ["StandIn"]

logger = logging.getLogger(__name__)

#: what hip-python may have opened, and calls until the process ends, whoever still holds it
_announced: list[StandIn] = []


class StandIn:
    """HIP whose devices are simulated; it serves until the interpreter ends, or :meth:`close`.

    Make it, :meth:`announce` it, and then call HIP, whose library hip-python opens once in a process.  Kernels must be
    compiled with ``TRI_AMD_STANDIN`` set.  DeviceError on systems without ELF libraries.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        if sys.platform != "linux":
            raise DeviceError(
                f"the stand-in is an ELF library, which {sys.platform} does not load",
                remedy='simulate without a driver: tri.target("sim:amd:gfx942")',
            )
        self.state = State(configuration or Configuration())
        self.library = Library()
        self._names = {
            code.value: ctypes.create_string_buffer(f"{code.hip_name}".encode()) for code in HipError
        }
        self._functions = {name: self._callback(name, call) for name, call in CALLS.items()}
        self._functions |= {
            name: ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(self._text) for name in TEXTS
        }
        self.library.serve(
            {n: ctypes.cast(f, ctypes.c_void_p).value or 0 for n, f in self._functions.items()}
        )
        atexit.register(self.library.close)

    @property
    def path(self) -> Path:
        """The library."""
        return self.library.path

    def announce(self) -> None:
        """Let ``ROCM_PATH`` name this library's folder, where hip-python looks for it at its first call."""
        os.environ["ROCM_PATH"] = str(self.library.root)
        _announced.append(self)

    def close(self) -> None:
        """Serve nothing any more: every function answers that it is not supported."""
        self.library.close()
        atexit.unregister(self.library.close)

    def lose_device(self, index: int, launch: int | None = None) -> None:
        """Let device ``index`` have a fault now, or in the ``launch``-th launch from now on (1 is the next)."""
        device = self.state.devices[index]
        if launch is None:
            device.lose(HipError.ILLEGAL_ADDRESS, "the stand-in was asked for it")
        else:
            device.lose_at = device.launches + launch

    def answer(self, function: str, code: HipError | None) -> None:
        """``function`` (HIP's name) does nothing but answer ``code``, until that is None again."""
        assert function in FUNCTIONS, function
        if code is None:
            self.state.answers.pop(function, None)
        else:
            self.state.answers[function] = code

    def left(self) -> list[str]:
        """Objects that callers made and did not destroy, by kind; ``allocation`` for memory."""
        return self.state.left()

    def _callback(self, name: str, call: Callable[..., None]) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_uint32, *FUNCTIONS[name])(
            functools.partial(self._answer, name, call)
        )

    def _answer(self, name: str, call: Callable[..., None], *arguments: int | None) -> int:
        try:
            with self.state.lock:
                if name in self.state.answers:
                    return self.state.answers[name]
                call(self.state, *arguments)
        except Refused as refused:
            if refused.code != HipError.NOT_READY:
                logger.info("%s: %s (%s)", name, refused.code.hip_name, refused.why)
            return refused.code
        except Exception:
            logger.exception("%s failed in the stand-in", name)
            return HipError.UNKNOWN
        return HipError.SUCCESS

    def _text(self, code: int) -> int:
        return ctypes.addressof(self._names.get(code, self._names[HipError.UNKNOWN.value]))
