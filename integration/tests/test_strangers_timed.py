"""Strangers' operators on a card: what times and errors come to, and arguments that are made large."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from integration.strangers.timed.table import Row, apart, lines, table, verdict, worst


def _checked(**more: Any) -> dict[str, Any]:
    return {"state": "ok", "errors": [["0.out", 1e-6, 1e-4]], "shapes": [[[8]]], "config": 0, **more}


def _row(unit: str, ours: dict[str, list[float]], theirs: dict[str, list[float]], **checks: Any) -> Row:
    both = {"tri": _checked(), "triton": _checked()} | checks
    return Row(unit, both, {"tri": ours, "triton": theirs}, difference=0.0)


def test_a_kernels_time_is_the_median_of_its_turns() -> None:
    row = _row("p/a", {"k": [10.0, 90.0, 10.0], "m": [4.0]}, {"k": [5.0, 5.0, 80.0], "m": [8.0]})
    slow, fast = lines(row)
    assert (slow.kernel, slow.ratio, fast.ratio) == ("k", 0.5, 2.0)
    assert worst([row], 9) == [slow]


def test_kernels_of_other_names_are_summed() -> None:
    row = _row("p/a", {"k": [10.0], "k_rest": [2.0]}, {"k": [6.0]})
    (line,) = lines(row)
    assert (line.kernel, line.ratio) == ("(all)", 0.5)
    assert lines(Row("p/b")) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ({}, {}, "right"),
        ({"state": "fails"}, {}, "tri fails"),
        ({}, {"state": "fails"}, "triton fails"),
        ({"state": "fails"}, {"state": "fails"}, "both fail"),
        ({"state": "no arguments"}, {"state": "no arguments"}, "no arguments"),
        ({"errors": [["0.out", 1e-2, 1e-4]]}, {}, "tri wrong"),
        ({"errors": [["0.out", math.nan, 1e-4]]}, {}, "tri wrong"),
        ({"errors": [["0.out", math.inf, 1e-4]]}, {}, "tri wrong"),
        ({}, {"errors": [["0.out", 1e-2, 1e-4]]}, "triton wrong"),
        ({"errors": [["0.out", 1e-2, 1e-4]]}, {"errors": [["0.out", 8e-3, 1e-4]]}, "both wrong alike"),
        ({"shapes": [[[4]]]}, {}, "sizes differ"),
    ],
)
def test_who_is_wrong(ours: dict[str, Any], theirs: dict[str, Any], said: str) -> None:
    assert verdict(_row("p/a", {}, {}, tri=_checked(**ours), triton=_checked(**theirs))) == said


def test_results_without_a_reference_are_compared_with_each_other() -> None:
    none = _checked(errors=[])
    row = _row("p/a", {}, {}, tri=none, triton=none)
    assert verdict(row) == "right"
    row.difference = apart([[1.0, 2.0]], [[1.0, 2.5]])
    assert row.difference == 0.2
    assert verdict(row) == "apart"
    assert apart([[math.nan]], [[math.nan]]) == 0.0
    assert apart([[math.nan]], [[1.0]]) == apart([[1.0]], [[]]) == math.inf


def test_the_table_has_the_losers_worst_first_and_what_is_not_right() -> None:
    rows = [
        _row("p/slow", {"k": [20.0]}, {"k": [10.0]}),
        _row("p/fast", {"k": [10.0]}, {"k": [20.0]}),
        _row("p/slower", {"m": [30.0]}, {"m": [10.0]}),
        _row("p/wrong", {}, {}, tri=_checked(errors=[["0.out", 1.0, 1e-4]])),
        Row("p/late"),
    ]
    rows[0].versions = {"tri": {"k": [{"num_warps": 4, "n_regs": None}]}, "triton": {}}
    text = table(rows)
    assert "5 operators: 3 right, 1 tri wrong, 1 not reached" in text
    assert "geometric mean: 0.693" in text
    losers = [line for line in text.splitlines() if line.startswith("| 0.")]
    assert ["p/slower" in losers[0], "p/slow |" in losers[1], len(losers)] == [True, True, 2]
    assert "tri: num_warps=4" in losers[1]
    assert "- tri wrong: p/wrong: tri: 0.out 1.0e+00" in text


# --- what needs PyTorch ---------------------------------------------------------------------------------------


def test_sizes_grow_alike_wherever_they_stand() -> None:
    torch = pytest.importorskip("torch")
    from integration.strangers.timed.widen import widened

    a, b, places = torch.ones(5, 10), torch.ones(10, 3), torch.tensor([0, 4, 2])
    args, _ = widened(((a, b, places, 1), {}), 1 << 12)
    # multiples of 16 elements
    assert [tuple(t.shape) for t in args[:3]] == [(80, 160), (160, 96), (96,)]
    assert (args[3], int(args[2].max())) == (1, 4)
    (_, _, spread, _), _ = widened(((a, b, places, 1), {}), 1 << 12, places=True)
    assert 64 <= int(spread.max()) < 80
    with pytest.raises(ValueError, match="no tensor"):
        widened(((1,), {}))


def test_errors_are_relative_to_the_largest_finite_number() -> None:
    torch = pytest.importorskip("torch")
    from integration.published.cases import Check
    from integration.strangers.timed.trials import error_of

    want = torch.tensor([4.0, torch.inf, torch.nan], dtype=torch.float64)
    assert error_of(Check("", torch.tensor([4.0, torch.inf, torch.nan]), want)) == 0.0
    assert error_of(Check("", torch.tensor([5.0, torch.inf, torch.nan]), want)) == 0.25
    assert error_of(Check("", torch.tensor([4.0, torch.inf, 1.0]), want)) == math.inf
    assert error_of(Check("", torch.tensor([4.0]), want)) == math.inf
    assert error_of(Check("", torch.tensor([4.0, 1.0, torch.nan]), want)) == math.inf


def test_both_sides_of_an_operator_are_differentiated() -> None:
    torch = pytest.importorskip("torch")
    from integration.strangers.timed.trials import differentiated, judged

    x = torch.linspace(-1, 1, 8)
    trial = differentiated("cpu", lambda x: x.float() * 2, lambda x: x * 2, {"x": x})
    wanted = trial.wanted()
    assert wanted is not None
    assert [name for name, error, allowed in judged(trial.run(), wanted) if error <= allowed] == ["out", "dx"]
    wrong = differentiated("cpu", lambda x: x.detach() * x, lambda x: x * x, {"x": x})
    wanted = wrong.wanted()
    assert wanted is not None
    assert [name for name, error, allowed in judged(wrong.run(), wanted) if error > allowed] == ["dx"]


def test_an_operator_without_a_backward_is_compared_forward() -> None:
    torch = pytest.importorskip("torch")
    from integration.strangers.timed.trials import differentiated, judged

    def forward_only(x: Any) -> Any:
        return (x * 2).detach()

    trial = differentiated("cpu", forward_only, lambda x: x * 2, {"x": torch.linspace(-1, 1, 8)})
    wanted = trial.wanted()
    assert wanted is not None
    assert [name for name, _, _ in judged(trial.run(), wanted)] == ["out"]
    lost = differentiated(
        "cpu", lambda x, y: x * y.detach(), lambda x, y: x * y, {n: torch.ones(8) for n in "xy"}
    )
    wanted = lost.wanted()
    assert wanted is not None
    with pytest.raises(AssertionError, match="no dy"):
        judged(lost.run(), wanted)


def test_pytorchs_operators_are_called_wide_where_they_can_be() -> None:
    torch = pytest.importorskip("torch")
    from integration.strangers.timed.trials import judged, of_pytorch, tensors

    call: Any = ((torch.ones(5, 5), torch.ones(5, 5)), {})
    trial = of_pytorch("cpu", "add.Tensor", torch.add, call, None, elements=1 << 12)
    assert (trial.wide, tensors(trial.run())[0].shape) == (True, (80, 80))
    wanted = trial.wanted()
    assert wanted is not None
    assert judged(trial.run(), wanted) == [("out", 0.0, 1e-4)]
    fixed: Any = ((torch.ones(4), [2, 2]), {})
    assert not of_pytorch("cpu", "view", torch.Tensor.view, fixed, None, elements=1 << 12).wide
    written: Any = ((torch.ones(5, 5), torch.ones(5, 5)), {})
    wanted = of_pytorch("cpu", "add_.Tensor", torch.Tensor.add_, written, None, elements=0).wanted()
    assert wanted is not None
    assert [r.name for r in wanted] == ["out", "self"]


def test_results_that_are_much_larger_than_arguments_stay_small() -> None:
    torch = pytest.importorskip("torch")
    from integration.strangers.timed.trials import of_pytorch

    call: Any = ((torch.ones(5),), {})
    assert not of_pytorch("cpu", "diag_embed", torch.diag_embed, call, None, elements=1 << 20).wide


def test_convolutions_have_large_arguments_of_their_own() -> None:
    torch = pytest.importorskip("torch")
    from integration.published.operators.aten import overload
    from integration.strangers.timed.trials import on
    from integration.strangers.timed.widen import large_calls

    for name in ("conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding"):
        ((args, kwargs),) = large_calls(name)
        assert isinstance(overload(name)(*on("meta", args), **kwargs), torch.Tensor)
    assert large_calls("add.Tensor") == []


@pytest.mark.parametrize("name", ["batch", "time", "heads", "features"])
def test_all_recipes_follow_the_sizes(name: str) -> None:
    torch = pytest.importorskip("torch")
    from dataclasses import replace

    from integration.published.operators import recipes
    from integration.published.operators.fla_arguments import known

    def sizes() -> list[tuple[int, ...]]:
        made = [make() for make in known("chunk_gla", "gla").values()]
        return [tuple(t.shape) for t in made if isinstance(t, torch.Tensor)]

    odd = getattr(recipes.SMALL, name) + 13
    before = sizes()
    try:
        recipes.use(replace(recipes.SMALL, **{name: odd}))
        changed = sizes()
    finally:
        recipes.use(recipes.SMALL)
    here = getattr(recipes.SMALL, name)
    # one heads' batch of 1 stands in few places
    assert [tuple(odd if n == here else n for n in shape) for shape in before] == changed or name == "batch"
    assert sizes() == before
    assert any(odd in shape for shape in changed)


class _Scripted:
    """A process whose answers are given."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers, self.asked = list(answers), list[dict[str, Any]]()

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        self.asked.append({"do": do, **request})
        return self.answers.pop(0)


def test_what_failed_beside_others_is_tried_alone_and_then_smaller(tmp_path: Path) -> None:
    from integration.strangers.timed.fleet import Setting
    from integration.strangers.timed.run import Plan, settled

    plan = Plan(Setting(tmp_path, tmp_path, "cpu", wide=True), tmp_path)
    failed = {"state": "fails", "reason": "too long"}
    row = Row("flag-gems/a", {"tri": failed, "triton": _checked(config=1)})
    pair: Any = {"tri": _Scripted(_checked(config=1)), "triton": _Scripted(_checked(config=1))}
    assert settled(plan, row, pair, judge=False)
    assert [a["config"] for p in pair.values() for a in p.asked] == [1, 1]

    row = Row("flag-gems/a", {"tri": failed, "triton": failed})
    pair = {"tri": _Scripted(failed, _checked()), "triton": _Scripted(failed, _checked())}
    assert settled(plan, row, pair, judge=False)
    assert (row.level, [a.get("level") for a in pair["tri"].asked]) == (1, [None, 1])

    row = Row("fla-core/a", {"tri": failed, "triton": failed})
    pair = {"tri": _Scripted(failed), "triton": _Scripted(failed)}
    assert not settled(plan, row, pair, judge=False)


def test_what_is_packed(tmp_path: Path) -> None:
    from integration.strangers.timed.pack import files

    backend = "flag_gems/runtime/backend"
    names = [
        "fla/ops/a.py", "fla/a.so", "x-1.dist-info/METADATA", "x-1.dist-info/RECORD", "fla/__pycache__/a.py",
        f"{backend}/_nvidia/tune.yaml", f"{backend}/_other/tune.yaml", f"{backend}/__init__.py",
    ]  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = {str(path.relative_to(tmp_path)) for path in files(tmp_path)}
    assert found == {names[0], names[2], names[5], names[7]}


def test_the_configuration_of_tuners_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    import tri
    from integration.published.tuning import untuned
    from tri.tuning import autotuner

    monkeypatch.setattr(
        "integration.published.tuning.importlib", SimpleNamespace(import_module=lambda name: autotuner)
    )
    configs = [tri.Config({"BLOCK": n}) for n in (1, 2, 3)]

    with untuned() as kept:

        @tri.autotune(configs=configs, key=[])
        @tri.jit
        def kernel(p: Any, BLOCK: tri.language.constexpr) -> None:
            pass

        assert [c.kwargs["BLOCK"] for c in kernel.configs] == [1]
        kept.use(4)
        assert [c.kwargs["BLOCK"] for c in kernel.configs] == [2]


def test_a_process_that_ends_is_an_answer(tmp_path: Path) -> None:
    import sys

    from integration.strangers.timed.fleet import Process, Setting

    class Ending(Setting):
        def command(self, implementation: str) -> list[str]:
            answer = json.dumps({"state": "ok", "dead": False})
            return [
                sys.executable,
                "-c",
                f"input(); print('@timed {answer[:-1]}}}', flush=True); input(); raise SystemExit(3)",
            ]

    process = Process(Ending(tmp_path, tmp_path, "cpu", wide=False), "tri", 0)
    assert process.ask("check", unit="p/a")["state"] == "ok"
    ended = process.ask("check", unit="p/b")
    assert (ended["state"], ended["reason"]) == ("ends the process", "status 3")
    assert process.ask("check", unit="p/c")["state"] == "ok"
    process.end()
