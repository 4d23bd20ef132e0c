"""Cases in processes of their own, and how arrays are found in arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from tri.tools.tensor_descriptor import TensorDescriptor
from tri_conformance import Selection, Subject, cases, judge
from tri_conformance.case import Case
from tri_conformance.subject import arrays_in, with_arrays
from tri_conformance.workers import Workers, tool_limits
from tri_core import knobs


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(Subject("cpu"), 2, timeout=100)
    yield made
    made.close()


def _refuses(subject: Subject) -> None:
    raise AssertionError("runs in the process of its own only")


def test_results_are_those_of_one_process(workers: Workers) -> None:
    picked, _ = cases(Selection(select=("language/add/int32*", "runtime/grid/3x5", "layouts/onto")))
    subject = Subject("cpu")
    made = {name: future.result() for name, future in workers.start(picked).items()}
    for case in picked:
        alone = judge(case, subject)
        assert (made[case.id].verdict, made[case.id].detail) == (alone.verdict, alone.detail)
    assert {result.verdict for result in made.values()} == {"passed", "not-applicable"}


def test_a_case_that_its_process_does_not_survive_is_a_failure(workers: Workers) -> None:
    """The process knows no such case and ends; the next case has another one."""
    picked, _ = cases(Selection(select=("runtime/grid/7",)))
    unknown = Case("runtime", "no-such-feature", "", _refuses)
    made = workers.start([unknown, *picked, unknown])
    assert made[unknown.id].result().verdict == "failed"
    assert "CaseDied: the process that ran it ended with exit code 1" in made[unknown.id].result().detail
    assert made[picked[0].id].result().verdict == "passed"


def test_a_case_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tri_conformance.workers._START_SECONDS", 0.0)
    made = Workers(Subject("cpu"), 1, timeout=0.01)
    picked, _ = cases(Selection(select=("runtime/grid/7",)))
    result = made.start(picked)[picked[0].id].result()
    made.close()
    assert result.verdict == "failed"
    assert "CaseDied: no answer after 0.01 s" in result.detail


def test_a_tool_is_stopped_before_its_case_is() -> None:
    """Else a block too large, which a tool may take minutes for, is a case that died instead of an error of its own."""
    Subject("cpu")
    for given, timeout, limit in ((600.0, 100, 25), (600.0, None, 600), (5.0, 100, 5)):
        with knobs.scope(CODEGEN_TIMEOUT=given):
            assert tool_limits(timeout)["CODEGEN_TIMEOUT"] == limit


class Pair(NamedTuple):
    first: Any
    second: Any


def test_arrays_are_found_and_put_back_wherever_they_are() -> None:
    a, b, c = (np.arange(64, dtype=np.float32) + i for i in range(3))
    matrix = c.reshape(8, 8)
    given = [a, 3, (b, None, Pair(a, 2.5)), TensorDescriptor.from_tensor(matrix, [4, 4])]
    found = list(arrays_in(given))
    assert [id(x) for x in found] == [id(a), id(b), id(a), id(matrix)]
    copies = [x.copy() for x in found]
    made = with_arrays(given, iter(copies))
    assert [id(x) for x in arrays_in(made)] == [id(x) for x in copies]
    assert made[1] == 3
    assert made[2][1:] == (None, Pair(copies[2], 2.5))
    assert made[3].block_shape == [4, 4]
    assert given[0] is a
