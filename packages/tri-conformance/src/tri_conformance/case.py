"""Cases: one question to a target each, and what the target must declare for it to be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tri_conformance.modules import encodings_of

if TYPE_CHECKING:
    from tri_conformance.subject import Subject

__all__ = ["Case", "Needs", "asked", "require"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Requirements of a case on a target's spec.

    ``dtypes``: Triton's names, found in ``dtypes`` or ``emulated_dtypes``; ``warps``: warps per CTA, found in
    ``limits["threads"]``; ``lanes``: threads per warp, found in ``threads_per_warp`` (0: any); ``limits``: keys of
    ``limits``; ``encodings``: a pipeline whose modules hold encodings; ``claims``: a level that the profile claims.
    """

    dtypes: tuple[str, ...] = ()
    warps: int = 1
    limits: tuple[str, ...] = ()
    encodings: bool = False
    lanes: int = 0
    claims: str = ""

    def missing(self, subject: Subject) -> str:
        """Requirements that the target does not declare, as a sentence; empty if the case applies."""
        spec = subject.target.spec
        if self.claims and self.claims not in subject.profile.levels:
            return f"the backend does not claim the level {self.claims}"
        if self.lanes and self.lanes not in spec.threads_per_warp:
            return f"the target declares no warps of {self.lanes} threads"
        if absent := subject.undeclared(self.dtypes):
            return f"the target declares no {', '.join(absent)}"
        threads = self.warps * (self.lanes or (spec.threads_per_warp or (1,))[0])
        if threads > spec.limits.get("threads", threads):
            return f"{threads} threads are more than the declared {spec.limits['threads']}"
        unsaid = [name for name in self.limits if name not in spec.limits]
        if unsaid:
            return f"the target declares no limit {', '.join(unsaid)}"
        if self.encodings and not encodings_of(subject):
            return "no module of the pipeline holds encodings"
        return ""


@dataclass(frozen=True)
class Case:
    """One question: ``run(subject)`` raises when the target is wrong.

    ``point`` tells the cases of one feature apart (``fp32-1000-w4``).
    """

    level: str
    feature: str
    point: str
    run: Callable[[Subject], None] = field(compare=False, repr=False)
    needs: Needs = field(default=Needs(), compare=False, repr=False)

    @property
    def id(self) -> str:
        """``level/feature`` and, where there are several, ``/point``."""
        return "/".join(filter(None, (self.level, self.feature, self.point)))


def asked(check: Callable[[Subject, T], None], value: T) -> Callable[[Subject], None]:
    """``check`` of one ``value``, as a case runs it."""
    return lambda subject: check(subject, value)


def require(condition: object, message: str) -> None:
    """AssertionError with ``message`` unless ``condition`` holds (asserts vanish under ``-O``)."""
    if not condition:
        raise AssertionError(message)
