"""The stand-in: the library, served by this process."""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from collections.abc import Callable
from typing import Any

from tri_backend_amd.runtime.standin.calls import CALLS
from tri_backend_amd.runtime.standin.configuration import Configuration
from tri_backend_amd.runtime.standin.errors import HipError, Refused
from tri_backend_amd.runtime.standin.functions import FUNCTIONS, TEXTS
from tri_backend_amd.runtime.standin.library import Library
from tri_backend_amd.runtime.standin.state import State
from tri_runtime.loader.served import ServedDriver, require_elf

__all__ = ["StandIn"]

logger = logging.getLogger(__name__)

#: what hip-python may have opened, and calls until the process ends, whoever still holds it
_announced: list[StandIn] = []


class StandIn(ServedDriver[Library]):
    """HIP whose devices are simulated; it serves until the interpreter ends, or :meth:`close`.

    Make it, :meth:`announce` it, and then call HIP, whose library hip-python opens once in a process.  Kernels must be
    compiled with ``TRI_AMD_STANDIN`` set.  DeviceError on systems without ELF libraries.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        require_elf("sim:amd:gfx942")
        self._names = {
            code.value: ctypes.create_string_buffer(f"{code.hip_name}".encode()) for code in HipError
        }
        texts = {name: ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(self._text) for name in TEXTS}
        calls = {name: self._callback(name, call) for name, call in CALLS.items()}
        super().__init__(Library(), State(configuration or Configuration()), calls | texts)

    def announce(self) -> None:
        """Let ``ROCM_PATH`` name this library's folder, where hip-python looks for it at its first call."""
        os.environ["ROCM_PATH"] = str(self.library.root)
        _announced.append(self)

    def answer(self, function: str, code: int | None) -> None:
        """See :meth:`.ServedDriver.answer`; ``function`` is HIP's name."""
        assert function in FUNCTIONS, function
        super().answer(function, code)

    def _callback(self, name: str, call: Callable[..., None]) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_uint32, *FUNCTIONS[name])(
            functools.partial(self._answer, name, call)
        )

    def _answer(self, name: str, call: Callable[..., None], *arguments: int | None) -> int:
        try:
            with self.state.lock:
                if name in self.state.answers:
                    return int(self.state.answers[name])
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
