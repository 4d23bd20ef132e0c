"""Remarks on a compiled kernel: in order, each once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tri.kernel_remarks import kernel_remarks
from tri_core.locations import SourceLocation
from tri_core.remarks import Remark


def _kernel(*remarks: str, **attrs: str) -> Any:
    return SimpleNamespace(
        metadata=SimpleNamespace(attrs=attrs), resources=SimpleNamespace(remarks=tuple(remarks))
    )


def test_the_schedule_comes_first_and_what_passes_declined_last() -> None:
    declined = Remark("coalesce", "runs of 1", SourceLocation("k.py", 3, 1))
    assert kernel_remarks(_kernel("a stage's", schedule="as written"), [declined]) == [
        "schedule: as written",
        "a stage's",
        "k.py:3: runs of 1 [coalesce]",
    ]


def test_what_a_stage_says_is_not_said_again() -> None:
    declined = Remark("pipeline", "not pipelined", SourceLocation("k.py", 9, 1))
    assert kernel_remarks(_kernel("k.py:9: not pipelined"), [declined]) == ["k.py:9: not pipelined"]


def test_a_kernel_without_remarks_has_none() -> None:
    assert kernel_remarks(_kernel()) == []
