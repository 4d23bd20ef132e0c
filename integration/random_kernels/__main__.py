"""``python -m integration.random_kernels --count 20000 --seed 0 --jobs 8 --triton-python PATH --done FILE``.

The kernels depend on the seed alone, whatever the jobs.  ``--done FILE`` writes down what each batch came to, and leaves
out the batches that the file has: a sweep that was cut off goes on.  ``--part 1/4`` takes every fourth batch, so that
several machines share them.  A failure is shrunk and kept in ``--found``; the sweep goes on until it has ``--failures``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from integration.random_kernels.command import main
from integration.random_kernels.family import KERNELS

_TARGETS = "numpy,cpu,interpreter,sim:nvidia:sm_80,sim:nvidia:sm_90a,sim:amd:gfx942,sim:intel:pvc"

if __name__ == "__main__":
    sys.exit(main(KERNELS, __doc__, _TARGETS, Path(__file__).with_name("found")))
