"""The nets of the nightly session: each can be run, has a share of the time, and says how what it finds is repeated."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from integration import nets
from integration.nets import NETS, Net, Outcome, command, main, run

_TOP = Path(__file__).parents[2]


def test_shares_are_the_whole_time() -> None:
    assert sum(net.share for net in NETS) == pytest.approx(1.0)


@pytest.mark.parametrize("net", NETS, ids=lambda net: net.name)
def test_a_net_is_there(net: Net) -> None:
    _, module, *arguments = command(net, 10, 20260101, 2)
    assert find_spec(module) is not None
    assert all((_TOP / word).exists() for word in arguments if word.endswith(".py"))
    assert not any("{" in word for word in arguments)


def test_what_a_net_says_last_is_its_count() -> None:
    found = run(Net("a", 0.0, ("timeit", "-n1", "-r1", "pass")), 1, 0, 1)
    assert found.status == 0
    assert "loop" in found.last


def test_a_find_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nets, "NETS", (Net("a", 1.0, ("integration.no_such", "--seed", "{seed}")),))
    assert main(["--seed", "7", "--only", "a"]) == 1
    assert "to repeat: python -m integration.no_such --seed 7" in capsys.readouterr().out


def test_nothing_found_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(net: Net, minutes: float, seed: int, jobs: int) -> Outcome:
        return Outcome(net, command(net, minutes, seed, jobs), 0, "3 cases", 1.0)

    monkeypatch.setattr(nets, "run", nothing)
    assert main(["--minutes", "1"]) == 0
