"""``tri new-backend --tier``: what it makes for TTIR and for LLVM IR passes its own tests, and its README is right.

``test_new_backend`` walks the first tier, TTGIR.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.people.goals import backend
from integration.tests.conftest import build_wheel
from integration.tests.test_new_backend import NAMES, checked
from tri.scaffolding import TIERS, BackendProject

#: tiers whose projects run on this machine as generated
TRIED = tuple(tier for tier in TIERS if tier != "ttgir")


@dataclass(frozen=True)
class Generated:
    """The project ``acme`` of a tier in ``folder``, and variables with which it is installed."""

    project: BackendProject
    folder: Path
    variables: dict[str, str]

    def run(self, *command: str) -> str:
        """Output of a Python command in the project's folder, which must succeed."""
        return checked([sys.executable, *command], self.folder, **self.variables)


@pytest.fixture(scope="module", params=TRIED)
def generated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generated:
    root = tmp_path_factory.mktemp(request.param)
    project = BackendProject.of_installed("acme", request.param)
    folder = root / project.distribution
    project.write(folder)
    shutil.unpack_archive(build_wheel(folder, root / "wheel"), root / "site", "zip")
    path = os.pathsep.join([str(root / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {"PYTHONPATH": path, "TRI_CACHE_DIR": str(root / "cache"), "TRI_PLUGINS_STRICT": "1"}
    return Generated(project, folder, variables)


def test_the_generated_tests_and_the_first_levels_of_the_kit_pass(generated: Generated) -> None:
    said = generated.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    for level in ("static", "layouts", "pipeline"):
        assert re.search(rf"{level} +[1-9]\d* +\d+ +0 +0 +0", said), said
    assert "passed" in said.splitlines()[-1]


def test_cases_of_the_language_pass(generated: Generated) -> None:
    selected = ["--level=language", "--select=language/exp/*", "--select=language/sum-*"]
    said = generated.run("-m", "tri_conformance", f"--target={generated.project.target}", *selected)
    assert re.search(r"language +[1-9]\d* +\d+ +0 +0 +0", said), said


def test_the_example_of_the_readme_runs(generated: Generated) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (generated.folder / "README.md").read_text(), re.DOTALL)
    check = "np.testing.assert_array_equal(out, x * np.float32(3))\n"
    (generated.folder / "example.py").write_text(example + check)
    generated.run("example.py")


def test_the_readme_names_each_file_to_write(generated: Generated) -> None:
    package = generated.folder / "src" / "tri_backend_acme"
    files = {path.name for path in package.iterdir()} - {"__init__.py", "py.typed", "__pycache__"}
    named = re.findall(r"^\| `(\S+)` \|", (generated.folder / "README.md").read_text(), re.MULTILINE)
    assert set(named) == files


def test_generated_code_is_typed_strictly(generated: Generated) -> None:
    command = ["-m", "mypy", "src", "tests", "noxfile.py"]
    assert "Success" in generated.run(*command)


@pytest.mark.parametrize("tier", TRIED)
def test_generated_code_is_linted_and_formatted_whatever_the_name(tier: str, tmp_path: Path) -> None:
    for name in ("acme", *NAMES):
        project = BackendProject.of_installed(name, tier)
        project.write(tmp_path / project.distribution)
    checked([sys.executable, "-m", "ruff", "check", "."], tmp_path)
    checked([sys.executable, "-m", "ruff", "format", "--check", "."], tmp_path)


def test_a_first_kernel_through_ttir_takes_three_files() -> None:
    assert backend().today == "3"
    assert backend().met
