"""Schedule of a kernel of dots on Hopper: warp-specialised, persistent, or neither.

``work`` reads from a kernel what an iteration of its loop does, ``costs`` estimates the clocks of each schedule, ``choose_schedule`` is
the pass that acts on it.  See ``docs/design/hopper.md``, "Chosen by cost".
"""

from __future__ import annotations

from tri_backend_nvidia.schedule.choose_schedule import ChooseSchedule
from tri_backend_nvidia.schedule.costs import Machine, Resources, Schedule, choose
from tri_backend_nvidia.schedule.policy import HopperPolicy
from tri_backend_nvidia.schedule.producer import producer
from tri_backend_nvidia.schedule.work import Dot, Unknown, Work, work_of

__all__ = [
    "ChooseSchedule",
    "Dot",
    "HopperPolicy",
    "Machine",
    "Resources",
    "Schedule",
    "Unknown",
    "Work",
    "choose",
    "producer",
    "work_of",
]
