"""What options select: each glob some cases, or an error that names ids near it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tri_conformance import Selection, cases
from tri_conformance.cli import main
from tri_core.api import OptionError


def refused(*select: str, levels: tuple[str, ...] = ()) -> str:
    with pytest.raises(OptionError) as caught:
        cases(Selection(levels=levels, select=select))
    return str(caught.value)


def test_every_glob_must_select_a_case() -> None:
    said = refused("language/exp/*", "language/no-such-row/*")
    assert "no case" in said
    assert "'language/no-such-row/*'" in said


@pytest.mark.parametrize(
    ("glob", "near"),
    [
        ("language/sum/*", "language/sum-axis0/*"),
        ("language/add/i32-1000*", "language/add/int32-1000-w8"),
        ("programs/softmux/*", "programs/softmax/*"),
        ("cumsum", "language/scan-cumsum-axis0/*"),
        ("softmax/*", "programs/softmax/*"),
    ],
)
def test_the_error_names_ids_near_the_glob(glob: str, near: str) -> None:
    assert near in refused(glob)


def test_what_is_named_near_selects_something() -> None:
    near = refused("language/sum/*").partition("near it: ")[2].partition(";")[0].split(", ")
    assert cases(Selection(select=tuple(near)))[0]


def test_a_case_of_another_level_is_not_selected() -> None:
    assert "levels runtime" in refused("language/exp/*", levels=("runtime",))


def test_a_glob_that_resembles_nothing_is_shown_where_to_look() -> None:
    assert "--list" in refused("????")


def test_the_command_fails_when_nothing_is_selected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--target", "cpu", "--select", "language/sum/*"])
    assert ended.value.code == 2
    assert "language/sum-axis0/*" in capsys.readouterr().err


def test_the_command_refuses_a_level_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--target", "cpu", "--level", "languages"])
    assert "known: static" in capsys.readouterr().err


def test_pytest_fails_when_nothing_is_selected() -> None:
    suite = ["--pyargs", "tri_conformance.suite", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *suite, "--tri-target=cpu", "--tri-select=language/sum/*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "language/sum-axis0/*" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
