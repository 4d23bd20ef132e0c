"""``python -m tri.serving.worker``: compile the pickled :class:`tri.launch.jobs.CompileJob` on standard input.

What is written to standard output is the pickled kernel, or the pickled TriError.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

__all__ = ["main"]


def main(given: BinaryIO, taken: BinaryIO) -> None:
    """Compile the job in ``given``; write the outcome to ``taken``."""
    from tri.launch.jobs import run_job
    from tri_core.errors import TriError

    job = pickle.load(given)
    made: object
    try:
        made = run_job(job)
    except TriError as error:
        made = error
    taken.write(pickle.dumps(made))


if __name__ == "__main__":
    # what else writes to standard output must not stand between
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with own:
        main(sys.stdin.buffer, own)
