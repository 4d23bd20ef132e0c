"""``python -m integration.random_programs --count 1000 --seed 0 --jobs 8``: random kernels whose programs wait for each other.

As ``python -m integration.random_kernels``, whose options it has.  A target ``sim:...`` runs with a weak memory and the
schedule of the kernel's number, with ``--schedules N`` under N of them; ``nvidia`` runs on the device.
"""

from __future__ import annotations

import sys
from pathlib import Path

from integration.random_kernels.command import main
from integration.random_programs.family import PROGRAMS

_TARGETS = "numpy,cpu,interpreter,sim:nvidia:sm_80,sim:nvidia:sm_90a,sim:amd:gfx942,sim:intel:pvc"

if __name__ == "__main__":
    sys.exit(main(PROGRAMS, __doc__, _TARGETS, Path(__file__).with_name("found")))
