"""The stubs of the kernel language: made from its functions, understood by mypy, pyright and jedi where users install tri."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from integration.stubs.examples import CHECKERS, COMPLETIONS, EXPECTED, KERNELS, TRITON, WRONG
from integration.stubs.modules import MODULES
from integration.tests.conftest import TOP, Environment
from tri.compat import triton as compat


def test_the_stubs_are_what_the_generator_writes() -> None:
    command = [sys.executable, "-m", "integration.stubs", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_stub_asks_for_what_the_code_generator_passes() -> None:
    for module in MODULES:
        text = importlib.util.find_spec(module)
        assert text is not None
        stub = Path(str(text.origin)).with_suffix(".pyi").read_text()
        assert "_semantic" not in stub
        assert "_generator" not in stub


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of somebody who writes kernels."""
    for name, text in {
        "kernels": KERNELS,
        "wrong": WRONG,
        "ported": TRITON,
        "completions": COMPLETIONS,
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_know_the_language(checker: str, fresh_environment: Environment, project: Path) -> None:
    """Kernels as people write them are right, each mistake is seen on its line."""
    pytest.importorskip(checker)
    found = CHECKERS[checker](fresh_environment.python, project / "kernels.py", project / "wrong.py")
    assert found == EXPECTED


@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_know_the_modules_of_triton(
    checker: str, fresh_environment: Environment, project: Path
) -> None:
    """With the folder of the compatibility layer's stubs on their path."""
    pytest.importorskip(checker)
    command = [str(fresh_environment.python), "-m", "tri.compat.triton", "--typings"]
    path = subprocess.run(command, capture_output=True, text=True, check=True, cwd=project).stdout.strip()
    assert Path(path).is_dir()
    assert CHECKERS[checker](fresh_environment.python, project / "ported.py", path=path) == {}


def test_completion_in_editors(fresh_environment: Environment, project: Path) -> None:
    pytest.importorskip("jedi")
    fresh_environment.run(str(project / "completions.py"))


def test_the_folder_of_stubs_is_known_to_python() -> None:
    assert (compat.TYPINGS / "triton" / "language" / "__init__.pyi").is_file()
