"""``python -m tri.launch.worker``: compile jobs that come by standard input, one after the other.

Each is eight bytes of length (little-endian) and a pickled :class:`tri.launch.jobs.CompileJob`; the answer is the kernel,
or the TriError that it met, in the same form.  The worker ends with its input, and when nothing comes for long.
Started by :mod:`tri.launch.workers`, never by hand.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
from typing import BinaryIO

__all__ = ["HEADER_SIZE", "main"]

HEADER_SIZE = 8
#: seconds without a job after which it ends
_PATIENCE = 300.0


def main(given: BinaryIO, taken: BinaryIO) -> None:
    """Answer the jobs in ``given``, unbuffered, on ``taken``."""
    while select.select([given], [], [], _PATIENCE)[0]:
        header = given.read(HEADER_SIZE)
        if len(header) < HEADER_SIZE:
            return
        body = _read(given, int.from_bytes(header, "little"))
        answer = pickle.dumps(_answer(body))
        taken.write(len(answer).to_bytes(HEADER_SIZE, "little") + answer)
        taken.flush()


def _read(given: BinaryIO, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = given.read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _answer(body: bytes) -> object:
    from tri.launch.jobs import run_job
    from tri_core.errors import TriError

    try:
        return run_job(pickle.loads(body))
    except TriError as error:
        return error


if __name__ == "__main__":
    # what else writes to standard output must not stand between
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with own:
        main(os.fdopen(sys.stdin.fileno(), "rb", buffering=0), own)
