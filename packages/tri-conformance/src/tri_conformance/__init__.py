"""The test kit with which a backend proves itself: ``tri-conformance --target X``.

Cases are tables (:mod:`tri_conformance.levels`), the judge (:mod:`tri_conformance.judge`) alone decides what they mean,
and a target excuses itself only through what it declares.
"""

from __future__ import annotations

from tri_conformance.case import Case, Needs
from tri_conformance.judge import Result, judge
from tri_conformance.selection import Selection, cases
from tri_conformance.subject import Subject

__all__ = ["Case", "Needs", "Result", "Selection", "Subject", "cases", "judge"]
