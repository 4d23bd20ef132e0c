from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest

from tri_core import progress
from tri_core.progress import Progress


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    monkeypatch.setattr(sys, "gettrace", lambda: None)  # coverage has one
    return made


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FORCE_COLOR", "1")
    yield
    assert progress._shown == []


@pytest.mark.usefixtures("terminal")
def test_nothing_is_shown_of_what_is_short(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("adding", 3) as made:
        for _ in range(3):
            clock.now += 0.3
            made.step()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_a_bar_counts_what_takes_longer_and_leaves_stdout_alone(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("adding", 4) as made:
        clock.now += 1.5
        made.step()
        print("said")
        clock.now += 0.01
        made.step()
        assert " 50%" not in capsys.readouterr().err, "it is drawn ten times a second at most"
        clock.now += 0.2
        made.step()
        first = capsys.readouterr()
    assert "adding" in first.err
    assert " 75%" in first.err


@pytest.mark.usefixtures("terminal")
def test_what_a_program_prints_stays_on_stdout(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("adding", 2) as made:
        clock.now += 1.5
        made.step()
        print("said")
    assert capsys.readouterr().out == "said\n"


@pytest.mark.usefixtures("terminal")
def test_a_second_bar_waits_for_the_first(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("outer", 3) as outer:
        clock.now += 1.5
        outer.step()
        with Progress("inner", 3) as inner:
            clock.now += 1.5
            inner.step()
    said = capsys.readouterr().err
    assert "outer" in said
    assert "inner" not in said
    with Progress("later", 3) as later:
        clock.now += 1.5
        later.step()
    assert "later" in capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_an_error_takes_the_bar_away(clock: Clock) -> None:
    def fail() -> None:
        with Progress("adding", 3) as made:
            clock.now += 1.5
            made.step()
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()


@pytest.mark.usefixtures("terminal")
def test_no_bar_where_none_is_wanted_or_a_debugger_asks(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unwanted = Progress("adding", 3, wanted=False)
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    for made in (unwanted, Progress("adding", 3)):
        clock.now += 100.0
        made.step()
        made.close()
    assert capsys.readouterr().err == ""


def test_without_a_terminal_the_log_has_a_line_every_half_minute(
    clock: Clock, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "tri_core.progress")
    with Progress("adding", 100) as made:
        for _ in range(100):
            clock.now += 0.7
            made.step()
    assert [record.message for record in caplog.records] == [
        "adding: 43 of 100, 30 s",
        "adding: 86 of 100, 60 s",
    ]
    assert capsys.readouterr().err == ""
