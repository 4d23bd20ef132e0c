"""Objects behind handles, and how a call is refused."""

from __future__ import annotations

import ctypes
from typing import TypeVar

from tri_backend_intel.runtime.level_zero.api.enums import Result

__all__ = ["Handles", "Object", "Refused"]

_T = TypeVar("_T", bound="Object")
#: bytes behind a handle: a loader may look at the first word
_BYTES = 64


class Refused(Exception):
    """A call that answers ``code``; the text is the driver's description of its last error."""

    def __init__(self, code: Result, why: str = "") -> None:
        super().__init__(code, why)
        self.code, self.why = code, why


class Object:
    """Something that callers know by ``handle``, an address of its own."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(_BYTES)
        self.handle = ctypes.addressof(self._memory)

    def write(self, record: bytes) -> None:
        """Let the library's own code find ``record`` at the handle."""
        ctypes.memmove(self._memory, record, len(record))

    def retire(self) -> object:
        """Nothing is found at the handle any more; what must stay there, so that no other object gets it."""
        ctypes.memset(self._memory, 0, _BYTES)
        return self._memory


class Handles:
    """The objects that are there."""

    def __init__(self) -> None:
        self._objects: dict[int, Object] = {}
        self._gone: list[object] = []

    def add(self, made: _T) -> _T:
        """``made``, known by its handle from now on."""
        self._objects[made.handle] = made
        return made

    def get(self, handle: int | None, kind: type[_T]) -> _T:
        """The object of ``kind`` at ``handle``; Refused when there is none."""
        if not handle:
            raise Refused(
                Result.ERROR_INVALID_NULL_HANDLE, f"a {kind.__name__} is expected, the handle is null"
            )
        found = self._objects.get(handle)
        if not isinstance(found, kind):
            what = "nothing" if found is None else f"a {type(found).__name__}"
            raise Refused(
                Result.ERROR_INVALID_ARGUMENT, f"a {kind.__name__} is expected; {handle:#x} is {what}"
            )
        return found

    def drop(self, gone: Object) -> None:
        """``gone`` is known no more."""
        del self._objects[gone.handle]
        self._gone.append(gone.retire())

    def alive(self) -> list[Object]:
        """Objects made by callers and not destroyed, with the permanent ones."""
        return list(self._objects.values())
