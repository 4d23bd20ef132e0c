"""Goals of what people meet: how each is counted, and the cheap ones' numbers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from integration.lints.docstrings import documented
from integration.people.__main__ import main
from integration.people.goals import GOALS, backend, commands, extra, hooks, sized, tutorials, weighed
from integration.people.hooks import HOOKS
from integration.people.mistakes import MISTAKES, Said, program, said, said_in
from tri_core import hookspecs

OUTPUT = """\
=================================== FAILURES ===================================
___________________________________ test_one ___________________________________

    def test_one():
>       kernel[(1,)]()
E       tri_core.errors.CompilationError: 'v' is not defined
E         at /tmp/test_mistakes.py:13:25
E         remedy: did you mean x?

test_mistakes.py:19: CompilationError
___________________________________ test_two ___________________________________
    kernel[(1,)]()
E   tri_core.errors.OutsideKernel: tensor.__ne__ was called
=========================== short test summary info ============================
FAILED test_mistakes.py::test_one
"""


def test_mistakes_are_36_programs() -> None:
    assert len(MISTAKES) == 36
    tests = [n.name for n in ast.parse(program(list(MISTAKES))).body if isinstance(n, ast.FunctionDef)]
    assert [f"test_{name}" for name in MISTAKES] == [name for name in tests if name.startswith("test_")]


def test_what_pytest_prints_is_counted() -> None:
    assert said_in(OUTPUT) == {"one": Said(6, True, True, True), "two": Said(2, False, False, False)}


def test_incomplete_and_long_reports_are_named() -> None:
    good, long = Said(9, True, True, True), Said(21, True, True, True)
    assert weighed({"a": good}).met
    found = weighed({"a": good, "b": long, "c": None})
    assert (found.today, found.met) == ("2 of 3; 21", False)
    assert found.notes == ("incomplete: c", "21 lines: b")


def test_every_report_is_complete_and_short(tmp_path: Path) -> None:
    found = weighed(said(tmp_path))
    assert found.met, found.notes


def test_first_commands_and_tutorials() -> None:
    found = commands()
    assert int(found.today) <= 3
    assert "absent: tri explore" not in found.notes
    assert tutorials().met


def test_hooks_are_nine() -> None:
    assert len(HOOKS) == 9
    assert [hook.what for hook in HOOKS if not hook.exists()] == []
    assert (hooks().today, hooks().met) == ("9 of 9", True)


def test_a_hook_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(hookspecs, "tri_inductor")
    found = hooks()
    assert (found.today, found.met) == ("8 of 9", False)
    assert found.notes == ("absent: heuristics and device properties for Inductor",)


def test_a_backend_of_ttir_is_three_files() -> None:
    assert (backend().today, backend().met) == ("3", True)


def test_names_of_the_reference_are_complete() -> None:
    complete, count = documented()
    assert complete == count > 400


def test_what_limits_a_size_is_said() -> None:
    sizes = {"bindings": 300.0, "arrays": 70.0, "tri-core": 3.0, "assembler": 99.0, "driver": 28.0}
    found = sized(sizes, {"bindings", "arrays", "tri-core"}, 400)
    assert (found.today, found.met) == ("500", False)
    assert found.notes == (
        "373 MB: tri-core, which every backend needs: bindings 300, arrays 70, tri-core 3",
        "127 MB: front end and backends: assembler 99, driver 28",
    )
    assert sized(sizes, {"bindings"}, 500).met


def test_extras_are_followed() -> None:
    asked = extra("all")
    assert {"tri-core", "tri-backend-cpu", "tri-backend-nvidia", "tri-gpu-dialect"} <= set(asked)
    assert not any("@" in text or text.startswith("tri[") for text in asked)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick"]) == 0
    printed = capsys.readouterr().out
    assert sum("tutorials" in line for line in printed.splitlines()) == 1
    assert "usual mistakes" not in printed
    assert len([goal for goal in GOALS if not goal.slow]) == 5
