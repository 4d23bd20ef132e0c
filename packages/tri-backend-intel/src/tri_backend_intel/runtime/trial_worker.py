"""The helper process of trial builds.

Requests come as frames on standard input, a JSON object and the SPIR-V; answers leave as frames on what was
standard output: ``built``, or why not.
"""

from __future__ import annotations

import json
import os
import sys

from tri_backend_intel.runtime.drivers import driver_named
from tri_backend_intel.runtime.frames import read_frame, write_frames
from tri_backend_intel.runtime.native import NativeRefused


def _build(request: dict[str, str], data: bytes) -> bytes:
    try:
        driver_named(request["driver"]).check_build(
            request["device"], data, request["name"], request["options"]
        )
    except NativeRefused as error:
        return str(error).encode() or b"no reason given"
    return b"built"


def _serve() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the driver's prints must not mix with answers
    while (request := read_frame(sys.stdin.buffer)) is not None:
        data = read_frame(sys.stdin.buffer)
        if data is None:
            return
        write_frames(answers, _build(json.loads(request), data))


if __name__ == "__main__":
    _serve()
