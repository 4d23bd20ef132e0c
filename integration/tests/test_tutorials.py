"""Every tutorial runs on the CPU target; each compares its results itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.website.links import targets
from integration.website.scripts import title

TOP = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((TOP / "tutorials").glob("*.py"))
#: what a tutorial needs beside the packages that the tests have
NEEDS = {"10_torch": "torch"}


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda path: path.stem)
def test_runs(script: Path, tmp_path: Path) -> None:
    if script.stem in NEEDS:
        pytest.importorskip(NEEDS[script.stem])
    environment = {**os.environ, "TRI_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_page_of_tutorials_lists_them_in_their_order() -> None:
    listed = [Path(link).name for link in targets((TOP / "docs" / "tutorials.md").read_text())]
    assert listed == [path.name for path in TUTORIALS]


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda path: path.stem)
def test_each_begins_with_its_title(script: Path) -> None:
    assert title(script.read_text())
