"""HIP's results that the stand-in gives (``hipError_t`` of HIP 6 and 7)."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Fault", "HipError", "Refused"]


class HipError(IntEnum):
    """``hipError_t``."""

    SUCCESS = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    NOT_INITIALIZED = 3
    INVALID_CONFIGURATION = 9
    NO_DEVICE = 100
    INVALID_DEVICE = 101
    INVALID_IMAGE = 200
    NO_BINARY_FOR_GPU = 209
    INVALID_HANDLE = 400
    NOT_FOUND = 500
    NOT_READY = 600
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_FAILURE = 719
    NOT_SUPPORTED = 801
    STREAM_CAPTURE_UNSUPPORTED = 900
    STREAM_CAPTURE_UNMATCHED = 903
    UNKNOWN = 999

    @property
    def hip_name(self) -> str:
        """HIP's name: ``hipErrorInvalidValue``."""
        words = "".join(word.capitalize() for word in self.name.split("_"))
        return "hipSuccess" if self is HipError.SUCCESS else f"hipError{words}"


class Refused(Exception):
    """A call that answers ``code``, and why."""

    def __init__(self, code: HipError, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


class Fault(Exception):
    """An error that a device does not survive."""
