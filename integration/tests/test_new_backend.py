"""The walk of ``docs/backends.md``: what ``tri new-backend`` makes passes its own checks, as generated."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.tests.conftest import TOP, Environment, build_wheel
from tri.scaffolding import BackendProject

#: names as short and as long as they may be: lines are wrapped, and names sorted, in all of them
NAMES = ("xy", "abcdefghijklmnop")


def commands() -> list[str]:
    """The shell commands of the walk, in order."""
    text = (TOP / "docs" / "backends.md").read_text()
    return [
        line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.splitlines()
    ]


#: commands that fetch packages, in an environment whose packages come from elsewhere: what does the same there
OFFLINE = {
    "pip install 'tri-frontend[new-backend]'": "",
    "pip install nox": "",
    "nox": "",
    "pip install -e '.[test]'": "python -m pip install -q --no-deps --no-index --no-build-isolation .",
    "pytest": "python -m pytest -q",
}


def checked(command: list[str], folder: Path, **variables: str) -> str:
    """Output of ``command`` in ``folder``, which must succeed."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def walk(folder: Path, lines: list[str], **variables: str) -> Iterator[tuple[str, str]]:
    """Run ``lines`` one after the other as a reader would, starting in ``folder``: each with its output."""
    for line in lines:
        words = shlex.split(line)
        if words[:1] == ["cd"]:
            folder = folder / words[1]
        elif words:
            program = Path(variables["BIN"]) / words[0]
            yield line, checked([str(program), *words[1:]], folder, **variables)


@pytest.fixture(scope="module")
def output(
    fresh_environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Output of each command of the walk in an environment with wheels of tri; nox has its own test."""
    lines = [OFFLINE.get(line, line) for line in commands()]
    binaries = fresh_environment.root / "bin"
    variables = {
        "BIN": str(binaries),
        "PYTHONPATH": "",
        "TRI_CACHE_DIR": str(fresh_environment.root / "cache"),
        "COLUMNS": "200",
    }
    try:
        yield dict(walk(tmp_path_factory.mktemp("walk"), lines, **variables))
    finally:
        uninstall = "-m pip uninstall -q -y --disable-pip-version-check tri-backend-acme"
        subprocess.run([str(binaries / "python"), *uninstall.split()], check=False, capture_output=True)


def test_the_generated_tests_and_the_first_levels_of_the_kit_pass(output: dict[str, str]) -> None:
    said = output[OFFLINE["pytest"]]
    for level in ("static", "layouts", "pipeline"):
        assert re.search(rf"{level} +[1-9]\d* +\d+ +0 +0 +0", said), said
    assert "failed" not in said.splitlines()[-1]


def test_the_backend_is_listed_with_its_device(output: dict[str, str]) -> None:
    assert re.search(r"acme +tri-backend-acme 0\.1\.0 +active", output["tri plugins"])
    assert re.search(r"acme +a1 +none", output["tri targets"])


def test_kernels_are_right_in_the_simulator(output: dict[str, str]) -> None:
    said = next(text for line, text in output.items() if line.startswith("tri-conformance"))
    assert re.search(r"language +[1-9]\d* +0 +0 +0 +0", said), said


def test_the_example_of_the_readme_runs(output: dict[str, str], fresh_environment: Environment) -> None:
    assert output
    readme = BackendProject.of_installed("acme").files()["README.md"]
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    check = "np.testing.assert_array_equal(out, x * np.float32(3))\n"
    (fresh_environment.root / "readme_of_acme.py").write_text(example + check)
    fresh_environment.run("readme_of_acme.py")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with projects of several names."""
    folder = tmp_path_factory.mktemp("generated")
    for name in ("acme", *NAMES):
        project = BackendProject.of_installed(name)
        project.write(folder / project.distribution)
    return folder


def test_generated_code_is_linted_and_formatted_whatever_the_name(generated: Path) -> None:
    checked([sys.executable, "-m", "ruff", "check", "."], generated)
    checked([sys.executable, "-m", "ruff", "format", "--check", "."], generated)


def test_generated_code_is_typed_strictly(generated: Path) -> None:
    command = [sys.executable, "-m", "mypy", "src", "tests", "noxfile.py"]
    assert "Success" in checked(command, generated / "tri-backend-acme")


@pytest.mark.slow
def test_the_whole_walk_with_nox_in_a_fresh_environment(tmp_path: Path) -> None:
    """As a reader does it, but for where the wheels of tri come from."""
    for project in sorted(TOP.glob("packages/*/pyproject.toml")):
        build_wheel(project.parent, tmp_path / "wheels")
    venv.create(tmp_path / "environment", with_pip=True)
    variables = {
        "BIN": str(tmp_path / "environment" / "bin"),
        "PATH": f"{tmp_path / 'environment' / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": "",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
        "TRI_CACHE_DIR": str(tmp_path / "cache"),
    }
    said = dict(walk(tmp_path, commands(), **variables))
    print(said["nox"])  # for pytest -rP
    for session in ("lint", "types", "tests", "conformance"):
        assert f"Session {session} was successful" in said["nox"]
