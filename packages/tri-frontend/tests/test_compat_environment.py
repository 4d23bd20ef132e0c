"""``import triton`` in every process of a Python environment."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tri.compat.triton.environment import Environment
from tri_core.errors import TriError

Python = Callable[..., subprocess.CompletedProcess[str]]

ASK = "import triton.language as tl, triton; print(type(triton).__name__, triton.__version__)"
#: a child by each way to start one
CHILDREN = f"""
import multiprocessing, subprocess, sys

def ask():
    {ASK.rpartition("; ")[0]}
    return type(triton).__name__

if __name__ == "__main__":
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.apply(ask))
    print("subprocess", subprocess.run([sys.executable, "-c", {ASK!r}], capture_output=True, text=True).stdout.split()[0])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment in which tri can be imported."""
    made = tmp_path_factory.mktemp("environment")
    venv.create(made, symlinks=True)
    # behind its own packages, as those of a base environment are
    here = [entry for entry in sys.path if entry and Path(entry).is_dir() and "compat/triton" not in entry]
    (_site(made) / "zz_packages_of_the_test.pth").write_text("\n".join(here) + "\n")
    return made


def _site(folder: Path) -> Path:
    return next(folder.glob("lib/python*/site-packages"))


@pytest.fixture
def python(folder: Path, tmp_path: Path) -> Python:
    """``python(*arguments)`` runs the environment's interpreter."""

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        own = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "TRI_TRITON_VERSION")
        }
        return subprocess.run(
            [str(folder / "bin" / "python"), *arguments],
            cwd=tmp_path,
            env={**own, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_on_and_off(python: Python, folder: Path, tmp_path: Path) -> None:
    assert "No module named" in python("-c", ASK).stderr
    assert python("-m", "tri.compat.triton", "--status").stdout.startswith("tri as triton: off\n")
    on = python("-m", "tri.compat.triton", "--on")
    assert on.returncode == 0, on.stderr
    assert "tri as triton: on, by" in on.stdout
    assert "import triton: 3.9.0 of" in on.stdout
    assert python("-c", ASK).stdout == "StandIn 3.9.0\n"
    found = python("-c", "from importlib.metadata import version; print(version('triton'))")
    assert found.stdout == "3.9.0\n"
    (tmp_path / "program.py").write_text(CHILDREN)
    lines = python("program.py").stdout.splitlines()
    assert lines == [f"{method} StandIn" for method in ("spawn", "forkserver", "fork", "subprocess")]
    assert "No module named" in python("-c", ASK, TRI_AS_TRITON="0").stderr
    other = python("-m", "tri.compat.triton", "--on", "--version", "3.6")
    assert "import triton: 3.6.0 of" in other.stdout
    assert [path.name for path in _site(folder).glob("triton-*")] == ["triton-3.6.0.dist-info"]
    assert python("-m", "tri.compat.triton", "--off").stdout.startswith("tri as triton: off\n")
    assert not list(_site(folder).glob("tri*ton*"))
    assert "No module named" in python("-c", ASK).stderr


def test_a_triton_that_is_installed_is_hidden_on_request_alone(python: Python, folder: Path) -> None:
    real, facts = _site(folder) / "triton", _site(folder) / "triton-3.5.1.dist-info"
    (real / "language").mkdir(parents=True)
    facts.mkdir()
    (real / "__init__.py").write_text("__version__ = '3.5.1'\n")
    (real / "language" / "__init__.py").touch()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 3.5.1\n")
    (facts / "INSTALLER").write_text("pip\n")
    refused = python("-m", "tri.compat.triton", "--on")
    assert refused.returncode == 1
    assert "Triton 3.5.1 is installed in" in refused.stderr
    assert "say --hide" in refused.stderr
    assert python("-c", ASK).stdout == "module 3.5.1\n"
    hidden = python("-m", "tri.compat.triton", "--on", "--hide")
    assert "Triton 3.5.1 is installed here, and hidden\nimport triton: 3.9.0 of" in hidden.stdout
    assert python("-c", ASK).stdout == "StandIn 3.9.0\n"
    assert python("-c", ASK, TRI_AS_TRITON="off").stdout == "module 3.5.1\n"
    python("-m", "tri.compat.triton", "--off")
    assert facts.is_dir()
    assert python("-c", ASK).stdout == "module 3.5.1\n"


def test_other_options_are_refused(python: Python) -> None:
    for options in (("--on", "--else"), ("--off", "--hide"), ("--on", "--version")):
        done = python("-m", "tri.compat.triton", *options)
        assert done.returncode == 2
        assert done.stderr.startswith("usage:")
    wrong = python("-m", "tri.compat.triton", "--on", "--version", "2.0")
    assert wrong.returncode == 1
    assert "write 3.9 or 3.6" in wrong.stderr


def test_records_name_all_files(tmp_path: Path) -> None:
    """So that installers remove them."""
    made = Environment(tmp_path)
    made.turn_on("3.9.0")
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    record = (tmp_path / "triton-3.9.0.dist-info" / "RECORD").read_text()
    assert {line.partition(",")[0] for line in record.splitlines()} == files
    made.turn_off()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").touch()
    with pytest.raises(TriError, match="Triton without metadata is installed"):
        made.turn_on("3.9.0")
