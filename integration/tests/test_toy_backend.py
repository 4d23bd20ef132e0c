"""The toy is what ``tri new-backend toy`` makes, taken further: where, and that it still passes its own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from integration.tests.conftest import TOP
from integration.tests.sample_backends import SampleBackend

TOY = TOP / "integration" / "toy_backend"

#: files of the template that the toy changes, with the reason, and how many lines at most
CHANGED = {
    "README.md": ("says what differs", 100),
    "pyproject.toml": ("needs llvmlite; its language needs tri-frontend", 12),
    "src/tri_backend_toy/plugin.py": (
        "its device is always there, and never the one that is meant; it needs the loader, tells Inductor, adds to the language",
        30,
    ),
    "src/tri_backend_toy/architectures.py": ("its instructions are this processor's", 20),
    "src/tri_backend_toy/image.py": ("it has a compiler", 60),
    "src/tri_backend_toy/driver.py": ("it has a driver", 8),
    "src/tri_backend_toy/primitives.py": ("accesses past the caches", 60),
    "src/tri_backend_toy/pipeline.py": ("it offers the autotuner configurations, and prunes them", 25),
}
#: files that the template does not have
ADDED = {
    "src/tri_backend_toy/threads.py": "the machine that the driver connects to",
    "src/tri_backend_toy/language.py": "a type of values",
    "tests/test_device.py": "tests on that machine",
    "src/tri_backend_toy/inductor.py": "what PyTorch's Inductor is told",
    "tests/test_inductor.py": "tests of that, without PyTorch",
    "tests/kernels_of_toy.py": "kernels that say what only toys know",
    "tests/test_language.py": "tests of what it adds to the language",
}


BACKEND = SampleBackend("toy", TOY, "ttgir", CHANGED, ADDED)


def test_the_toy_has_the_files_of_the_template_and_those_that_it_adds() -> None:
    BACKEND.check_files()


def test_the_toy_differs_from_the_template_where_it_says_so() -> None:
    BACKEND.check_texts()


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
