"""Level ``explicit``: who is asked, for which threads; and that its tables are whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tri_conformance import Selection, Subject, cases, judge
from tri_conformance.kernels import explicit as kernels
from tri_conformance.levels.explicit import LANES, WARPS
from tri_conformance.levels.static import CHECKS
from tri_conformance.tables.explicit import REFUSALS, ROWS
from tri_core.api import ConformanceProfile


def test_a_backend_that_does_not_claim_it_is_not_asked() -> None:
    subject = Subject("cpu")
    picked, _ = cases(Selection(levels=("explicit",)))
    assert len(picked) > 400
    for case in picked:
        assert case.needs.missing(subject) == "the backend does not claim the level explicit"
    assert judge(picked[0], subject).verdict == "not-applicable"


def test_a_target_is_asked_for_the_warps_that_it_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Subject("cpu").target
    spec = replace(target.spec, threads_per_warp=(16, 32), limits={**target.spec.limits, "threads": 128})
    monkeypatch.setattr(Subject, "profile", ConformanceProfile(levels=("explicit",)))
    monkeypatch.setattr(Subject, "target", replace(target, spec=spec))
    picked, _ = cases(Selection(levels=("explicit",), select=("explicit/broadcast/*",)))
    asked = [case.point for case in picked if not case.needs.missing(Subject("cpu"))]
    assert len(picked) == len(LANES) * len(WARPS)
    assert sorted(asked) == ["int32-t16-w1", "int32-t16-w4", "int32-t16-w8", "int32-t32-w1", "int32-t32-w4"]


def test_a_claim_of_no_level_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    CHECKS["claims"](Subject("cpu"))
    monkeypatch.setattr(Subject, "profile", ConformanceProfile(levels=("explicitly",)))
    with pytest.raises(AssertionError, match="unknown levels explicitly; known: static"):
        CHECKS["claims"](Subject("cpu"))


def test_every_kernel_has_a_row() -> None:
    made = {name for name, value in vars(kernels).items() if getattr(value, "is_gluon", lambda: False)()}
    assert made == {row.kernel for row in (*ROWS.values(), *REFUSALS.values())}
