"""``tri verify``: a kernel run on seeded inputs at every level, and after every pass, until one differs."""

from __future__ import annotations

from tri.verifying.inputs import Trial, trial_of
from tri.verifying.invariance import verify_invariance
from tri.verifying.judging import Report, verify
from tri.verifying.records import Difference, Finding
from tri.verifying.settings import Setting, settings_of

__all__ = [
    "Difference",
    "Finding",
    "Report",
    "Setting",
    "Trial",
    "settings_of",
    "trial_of",
    "verify",
    "verify_invariance",
]
