"""The helper process of trial builds.

Requests come as frames on standard input, a JSON object and the SPIR-V; answers leave as frames on what was
standard output: ``built``, or why not.
"""

from __future__ import annotations

import json
import os
import sys

from tri_backend_intel.runtime.frames import read_frame, write_frames
from tri_backend_intel.runtime.sycl import sycl


def _build(request: dict[str, str], data: bytes, queues: dict[str, object]) -> bytes:
    loaded, device = sycl(), request["device"]
    if device not in queues:
        queues[device] = loaded.dpctl.SyclQueue(device)
    try:
        program = loaded.dpctl.program.create_program_from_spirv(queues[device], data, request["options"])
        if not program.has_sycl_kernel(request["name"]):
            return b"there is no such kernel in the module"
    except (loaded.dpctl.program.SyclProgramCompilationError, ValueError) as error:
        return str(error).encode() or b"no reason given"
    return b"built"


def _serve() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the driver's prints must not mix with answers
    queues: dict[str, object] = {}
    while (request := read_frame(sys.stdin.buffer)) is not None:
        data = read_frame(sys.stdin.buffer)
        if data is None:
            return
        write_frames(answers, _build(json.loads(request), data, queues))


if __name__ == "__main__":
    _serve()
