"""Several runs as one table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tri_conformance.summary import main
from tri_core.api import OptionError

RUN = {
    "schema": 1, "target": "mine:a1", "ok": True, "started": "2026-11-21T01:00:00+00:00", "left_out": 30, "sample": 4,
    "cases": [{"verdict": "passed"}, {"verdict": "passed"}, {"verdict": "gap"}],
}  # fmt: skip


def test_a_row_per_run_and_failure_when_one_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, ok in (("a", True), ("b", False)):
        (tmp_path / f"{name}.json").write_text(json.dumps({**RUN, "ok": ok}))
    assert main([str(tmp_path / "a.json")]) == 0
    assert (
        "| [`mine:a1`](a.md) | 2026-11-21 | yes | 2 | 0 | 1 | 0 | 0 | 30, one in 4" in capsys.readouterr().out
    )
    assert main([str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 1
    assert "| no |" in capsys.readouterr().out
    assert main([]) == 1


def test_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**RUN, "schema": 7}))
    with pytest.raises(OptionError):
        main([str(tmp_path / "a.json")])
