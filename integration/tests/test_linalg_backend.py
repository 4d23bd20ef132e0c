"""The sample that leaves tri as linalg is what ``tri new-backend loops --tier ttir`` makes, with upstream's passes for rules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integration.tests.conftest import TOP, build_wheel
from integration.tests.sample_backends import SampleBackend

LOOPS = TOP / "integration" / "linalg_backend"

#: files of the template that changed, with the reason, and how many lines at most
CHANGED = {
    "CHANGELOG.md": ("says what it is", 1),
    "README.md": ("tells how it was made", 40),
    "noxfile.py": ("runs more of the kit", 6),
    "pyproject.toml": ("asks LLVM which processor this is", 6),
    "src/tri_backend_loops/plugin.py": ("has other stages", 45),
    "src/tri_backend_loops/runtime.py": ("calls compiled code", 60),
    "src/tri_backend_loops/conformance.toml": ("has gaps", 20),
    "tests/kernels.py": ("has more kernels", 60),
    "tests/test_kernels.py": ("runs them", 45),
    "tests/test_target.py": ("has other stages", 15),
}
#: files that the template does not have
ADDED = {
    "src/tri_backend_loops/entry.py": "what a launch calls",
    "src/tri_backend_loops/image.py": "the object",
    "src/tri_backend_loops/loops.py": "upstream's passes",
}
#: files of the template that it does without: the rules for ops
WITHOUT = {"src/tri_backend_loops/lower.py"}
#: cases of the kit for what the sample's own kernels do not do
CASES = ("argmax", "dot", "histogram", "scan", "sort", "trans")

BACKEND = SampleBackend("loops", LOOPS, "ttir", CHANGED, ADDED)


def test_it_has_the_files_of_the_template_but_the_rules_and_those_that_it_adds() -> None:
    assert BACKEND.files() == (set(BACKEND.template()) - WITHOUT) | set(ADDED)


def test_it_differs_from_the_template_where_it_says_so() -> None:
    BACKEND.check_texts(without=WITHOUT)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A process's environment that has the sample installed, from its wheel."""
    folder = tmp_path_factory.mktemp("loops")
    site = folder / "site"
    shutil.unpack_archive(build_wheel(LOOPS, folder / "wheel"), site, "zip")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "TRI_CACHE_DIR": str(folder / "cache"),
        "TRI_PLUGINS_STRICT": "1",
    }


def run(arguments: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Output of ``python -m ARGUMENTS``, which succeeds."""
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_passes_its_own_tests(tmp_path: Path, environment: dict[str, str]) -> None:
    project = tmp_path / "project"
    shutil.copytree(LOOPS, project, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    said = run(["pytest", "-q", "--ignore=tests/test_conformance.py"], project, environment)
    assert "passed" in said.splitlines()[-1]


def test_it_passes_cases_of_the_kit(tmp_path: Path, environment: dict[str, str]) -> None:
    selected = [f"--select=language/{case}*" for case in CASES]
    said = run(
        ["tri_conformance", "--target=loops:l1", "--level=language", "--sample=40", *selected],
        tmp_path,
        environment,
    )
    assert "passed" in said.splitlines()[-1]
