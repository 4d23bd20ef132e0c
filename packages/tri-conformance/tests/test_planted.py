"""The kit catches planted bugs, each of them in the cases that it affects, and finds nothing where none is planted."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent


def _planted() -> ModuleType:
    spec = importlib.util.spec_from_file_location("planted", HERE / "planted.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["planted"] = module
    spec.loader.exec_module(module)
    return module


BUGS: dict[str, Any] = dict(_planted().BUGS)


def _run(name: str, cache: Path) -> dict[str, list[str]]:
    """Verdicts, from a process of its own with an empty cache."""
    environment = {**os.environ, "TRI_CACHE_DIR": str(cache / name.replace(":", "-"))}
    command = [sys.executable, str(HERE / "planted.py"), name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])["verdicts"]
    return found


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[dict[str, list[str]]]]:
    """Every bug's run, two at a time."""
    cache = tmp_path_factory.mktemp("caches")
    pool = ThreadPoolExecutor(2)
    made = {name: pool.submit(_run, name, cache) for name in (*BUGS, "none:cpu", "none:gpu")}
    pool.shutdown(wait=False)
    return made


def test_there_are_enough_bugs() -> None:
    assert len(BUGS) >= 12


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(name: str, verdicts: dict[str, Future[dict[str, list[str]]]]) -> None:
    found = verdicts[name].result()
    caught = found.get("failed", [])
    for glob in BUGS[name].seen_by:
        prefix = glob.rstrip("*")
        assert any(case.startswith(prefix) for case in caught), f"{glob} does not see it: {found}"


@pytest.mark.parametrize("where", ["cpu", "gpu"])
def test_nothing_is_caught_where_nothing_is_planted(
    where: str, verdicts: dict[str, Future[dict[str, list[str]]]]
) -> None:
    found = verdicts[f"none:{where}"].result()
    assert list(found) == ["passed"], found
