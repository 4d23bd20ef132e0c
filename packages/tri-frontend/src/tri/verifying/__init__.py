"""``tri verify``: a kernel run on seeded inputs at every level, and after every pass, until one differs."""

from __future__ import annotations

from tri.verifying.inputs import Trial, trial_of
from tri.verifying.judging import Report, verify
from tri.verifying.records import Difference, Finding

__all__ = ["Difference", "Finding", "Report", "Trial", "trial_of", "verify"]
