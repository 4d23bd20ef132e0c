"""The toy is what ``tri new-backend toy`` makes, taken further: where, and that it still passes its own tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integration.tests.conftest import TOP
from tri.scaffolding import BackendProject

TOY = TOP / "integration" / "toy_backend"

#: the versions of tri that the toy runs with, as its own project writes them
RANGES = dict(re.findall(r'"(tri-[a-z-]+)(>=[^"]+)"', (TOY / "pyproject.toml").read_text()))

#: files of the template that the toy changes, with the reason, and how many lines at most
CHANGED = {
    "README.md": ("says what differs", 100),
    "pyproject.toml": ("needs llvmlite", 10),
    "src/tri_backend_toy/plugin.py": (
        "its device is always there, and never the one that is meant; it needs the loader",
        2,
    ),
    "src/tri_backend_toy/architectures.py": ("its instructions are this processor's", 20),
    "src/tri_backend_toy/image.py": ("it has a compiler", 60),
    "src/tri_backend_toy/driver.py": ("it has a driver", 8),
    "src/tri_backend_toy/pipeline.py": ("it offers the autotuner configurations, and prunes them", 25),
}
#: files that the template does not have
ADDED = {
    "src/tri_backend_toy/threads.py": "the machine that the driver connects to",
    "tests/test_device.py": "tests on that machine",
}


def files() -> set[str]:
    """The toy's own files, by path."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=TOY,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(listed.stdout.splitlines())


def test_the_toy_has_the_files_of_the_template_and_those_that_it_adds() -> None:
    if shutil.which("git") is None or not (TOP / ".git").exists():
        pytest.skip("what belongs to the toy is asked of git")
    assert files() == set(BackendProject(name="toy", ranges=RANGES).files()) | set(ADDED)


def test_the_toy_differs_from_the_template_where_it_says_so() -> None:
    for path, text in BackendProject(name="toy", ranges=RANGES).files().items():
        mine = (TOY / path).read_text()
        if path not in CHANGED:
            assert mine == text, f"{path} differs from the template: generate it anew, or say why in CHANGED"
            continue
        new = set(mine.splitlines()) - set(text.splitlines())
        reason, most = CHANGED[path]
        assert 0 < len(new) <= most, f"{path} ({reason}): {len(new)} lines are not the template's"


def test_the_toy_passes_its_own_tests(toy_wheel: Path, tmp_path: Path) -> None:
    """All but the kit's levels, which ``test_new_backend`` asks of the template."""
    site = tmp_path / "site"
    shutil.unpack_archive(toy_wheel, site, "zip")
    project = tmp_path / "project"
    shutil.copytree(TOY, project, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "TRI_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pytest", "-q", "--ignore=tests/test_conformance.py"]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout.splitlines()[-1]
