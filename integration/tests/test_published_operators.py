"""``docs/published-operators.md`` is what its generator writes of the verdicts that were kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from integration.published.operators import page
from integration.published.operators.packages import DEFECTS, PACKAGES

RECORDS = json.loads(page.RESULTS.read_text())


def test_the_page_is_what_the_generator_writes() -> None:
    assert page.PAGE.read_text() == page.page(RECORDS), "run python -m integration.published.operators --save"


def test_three_hundred_operators_are_right_and_each_other_one_has_its_reason() -> None:
    assert {r["package"] for r in RECORDS} == set(PACKAGES)
    assert sum(r["state"] == "right" for r in RECORDS) >= 300
    assert len({(r["package"], r["name"]) for r in RECORDS}) == len(RECORDS)
    assert not [r for r in RECORDS if r["state"] != "right" and not r["reason"]]


def test_of_what_the_packages_do_themselves_98_of_100_are_right() -> None:
    right, of = page.share(RECORDS)
    assert right >= 0.98 * of
    # what is left out stays few, and each says what shows it
    assert len(RECORDS) - of <= 20
    assert all(d.what and d.evidence for d in DEFECTS.values())


def test_what_a_package_declines_or_does_wrongly_itself_is_not_counted() -> None:
    right = {"package": "p", "name": "a", "state": "right", "reason": ""}
    declined = right | {"name": "b", "state": "the package declines", "reason": "deprecated"}
    own = {"package": "flag-gems", "name": "argmin", "state": "ends the process", "reason": "status -6"}
    wrong = right | {"name": "c", "state": "wrong", "reason": "out"}
    assert page.told(own) == "the package's own"
    assert page.share([right, declined, own, wrong]) == (1, 2)


def test_defects_are_of_operators_that_are_not_right() -> None:
    wrong = {f"{r['package']}/{r['name']}" for r in RECORDS if r["state"] != "right"}
    assert set(DEFECTS) <= wrong


def test_operators_that_are_no_longer_right_are_named() -> None:
    right = {"package": "p", "name": "a", "state": "right", "reason": ""}
    now = right | {"state": "wrong", "reason": "out"}
    assert page.worse([right], [right]) == []
    assert page.worse([now], [right]) == ["p/a: wrong: out"]
    assert page.worse([now], [now]) == []


# --- arguments and verdicts ---------------------------------------------------------------------------------


def _package(text: str) -> dict[str, Any]:
    """The names of a module of some package."""
    space: dict[str, Any] = {}
    exec(compile(text, "/packages/some/ops.py", "exec"), space)
    return space


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        ("raise NotImplementedError('fused')", "the package declines"),
        ("assert x == 2, 'only the last dimension'", "the package declines"),
        ("assert x == 2", "fails"),
        ("raise ValueError('no')", "fails"),
        ("assert x == 2, 'must be a CUDA tensor'", "needs its device"),
        ("raise ValueError('must be a CUDA tensor')", "needs its device"),
    ],
)
def test_what_becomes_of_an_error(raised: str, state: str) -> None:
    pytest.importorskip("torch")
    from integration.published.operators.operator import Operator, judge

    function = _package(f"def f(x):\n    {raised}\n    yield\n")["f"]
    assert judge(Operator("some", "f", lambda: function(1))).state == state


def test_a_check_of_the_harness_is_no_refusal_of_a_package() -> None:
    torch = pytest.importorskip("torch")
    from integration.published.operators.operator import Operator, checks_of, judge

    short = Operator("some", "f", lambda: checks_of("out", (), (torch.ones(2),)))
    assert judge(short).state == "fails"


def test_none_stands_for_an_empty_tensor_only() -> None:
    torch = pytest.importorskip("torch")
    from integration.published.operators.operator import checks_of

    assert list(checks_of("out", None, torch.empty(0))) == []
    with pytest.raises(RuntimeError):
        list(checks_of("out", None, torch.ones(1)))


def test_calls_that_fail_or_give_nothing_are_not_kept() -> None:
    torch = pytest.importorskip("torch")
    from integration.published.operators.aten import Recorder

    recorder = Recorder({"add_.Tensor", "linspace"})
    with recorder:
        with pytest.raises(RuntimeError):
            torch.ones(5, 1).add_(torch.ones(5, 5))
        torch.linspace(0, 1, 0)
        torch.linspace(0, 1, 3)
        torch.ones(2).add_(torch.ones(2))
    assert len(recorder.calls["add_.Tensor"]) == len(recorder.calls["linspace"]) == 1


def test_a_name_of_numbers_and_tensors_is_that_of_tensors() -> None:
    pytest.importorskip("torch")
    from integration.published.operators.aten import calls, overload

    assert overload("copysign")._schema.overload_name == "Tensor"
    assert overload("add.Tensor")._schema.overload_name == "Tensor"
    assert overload("no_such_operator") is None
    assert len(calls("rms_norm", {})[0][0]) == 2
    assert len(calls("rms_norm", {}, {"weight"})[0][0]) == 3


def test_calls_that_a_package_declines_are_left_out_where_it_takes_others() -> None:
    torch = pytest.importorskip("torch")
    from integration.published.operators.aten import against_pytorch

    space = _package("def f(x):\n    assert x.dim() == 1, 'one dimension'\n    return x.exp()\n")
    call: Any = ((torch.ones(3),), {})
    declined: Any = ((torch.ones(3, 3),), {})
    assert len(list(against_pytorch("exp", space["f"], [declined, call]))) == 1
    with pytest.raises(AssertionError, match="one dimension"):
        list(against_pytorch("exp", space["f"], [declined]))
