"""Passes that are left out from some number on, and the search for the one that makes a command fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core import knobs
from tri_core.compiler.bisection import Bisection, bisect, bisection
from tri_core.errors import OptionError
from tri_core.pipeline import Pass, PassList, StageContext

#: a program with passes p1, p2, ...: it fails from number ``WRONG`` on
PROGRAM = """
import json, os, sys
limit = int(os.environ.get("TRI_OPT_BISECT_LIMIT", 99))
with open(os.environ["TRI_OPT_BISECT_LOG"], "a") as log:
    for number in range(1, {count} + 1):
        log.write(json.dumps(dict(number=number, stage="s", name=f"p{{number}}", kernel="k", target="t")) + "\\n")
sys.exit(min(limit, {count}) >= {wrong})
"""


@dataclass(frozen=True)
class Seen(Pass):
    """Says that it ran."""

    text: str
    ran: Any
    name: ClassVar[str] = "seen"

    def apply(self, module: Any, context: StageContext) -> None:
        self.ran.append(self.text)


@dataclass(frozen=True)
class Needed(Seen):
    """As :class:`Seen`."""

    name: ClassVar[str] = "needed"
    required: ClassVar[bool] = True


def ran(steps: Sequence[type[Seen]], limit: int | None, log: Path | None = None) -> list[str]:
    found: list[str] = []
    own = Bisection("k", "t", limit, log)
    nothing: Any = None
    context = StageContext(
        target=nothing, options=nothing, kernel_name="k", codegen=nothing, leaves_out=own.leaves_out
    )
    PassList([step(str(i), found) for i, step in enumerate(steps)]).run("s", nothing, context)
    return found


@given(st.lists(st.sampled_from([Seen, Needed]), max_size=12), st.none() | st.integers(0, 12))
def test_required_passes_run_and_so_many_of_the_others(steps: list[type[Seen]], limit: int | None) -> None:
    others = [str(i) for i, step in enumerate(steps) if step is Seen]
    left_out = set(others[limit:]) if limit is not None else set[str]()
    assert ran(steps, limit) == [str(i) for i in range(len(steps)) if str(i) not in left_out]


def test_what_is_counted_is_logged(tmp_path: Path) -> None:
    ran([Seen, Needed, Seen], 1, tmp_path / "log")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["number"], line["name"], line["stage"], line["kernel"]) for line in lines] == [
        (1, "seen", "s", "k"),
        (2, "seen", "s", "k"),
    ]


def test_the_knobs_say_whether_it_is_on(tmp_path: Path) -> None:
    assert bisection("k", "t") is None
    with knobs.scope(OPT_BISECT_LIMIT=0):
        assert bisection("k", "t") == Bisection("k", "t", 0, None)
        assert knobs.codegen_snapshot()["OPT_BISECT_LIMIT"] == 0
    with knobs.scope(OPT_BISECT_LOG=tmp_path / "log"):
        assert bisection("k", "t") == Bisection("k", "t", None, tmp_path / "log")
        assert "OPT_BISECT_LOG" not in knobs.codegen_snapshot()


@pytest.mark.parametrize("wrong", [1, 4, 7])
def test_the_first_pass_that_fails_is_found(tmp_path: Path, wrong: int) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(count=7, wrong=wrong))
    tried: list[str] = []
    found = bisect([sys.executable, str(tmp_path / "program.py")], tell=tried.append)
    assert [(each.number, each.name) for each in found] == [(wrong, f"p{wrong}")]
    assert len(tried) <= 2 + 3


def test_a_command_that_fails_with_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(count=3, wrong=0))
    with pytest.raises(OptionError, match="with the required passes alone"):
        bisect([sys.executable, str(tmp_path / "program.py")], tell=lambda text: None)
