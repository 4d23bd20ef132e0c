"""The RISC-V backend is what ``tri new-backend riscv --tier llvm`` makes, taken to a device that isn't this process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integration.tests.conftest import TOP, build_wheel
from integration.tests.sample_backends import SampleBackend

RISCV = TOP / "integration" / "riscv_backend"

#: files of the template that changed, with the reason, and how many lines at most
CHANGED = {
    ".github/workflows/ci.yml": ("installs the emulator", 1),
    "CHANGELOG.md": ("says what it is", 1),
    "README.md": ("tells how it was made", 80),
    "pyproject.toml": ("needs a linker to run kernels, and tri's runtime", 6),
    "src/tri_backend_riscv/plugin.py": ("has processors and knobs of its own, and a pass", 35),
    "src/tri_backend_riscv/image.py": ("counts vector instructions", 30),
    "src/tri_backend_riscv/runtime.py": ("kernels run in processes of the emulator", 130),
    "src/tri_backend_riscv/conformance.toml": ("has a gap", 6),
    "tests/kernels.py": ("has more kernels", 60),
    "tests/test_kernels.py": ("needs the emulator", 2),
    "tests/test_target.py": ("has other processors", 4),
}
#: files that the template does not have
ADDED = {
    "src/tri_backend_riscv/by_lane.py": "conversions that the emulator can't do as vectors",
    "src/tri_backend_riscv/emulator.py": "runs programs",
    "src/tri_backend_riscv/knobs.py": "the emulator's path, the limit of time",
    "src/tri_backend_riscv/launches.py": "fills tasks, reads what they report",
    "src/tri_backend_riscv/linking.py": "makes programs",
    "src/tri_backend_riscv/memory.py": "the memory that programs share with the host",
    "src/tri_backend_riscv/processors.py": "the targets",
    "src/tri_backend_riscv/start.c": "the program around a kernel",
    "tests/conftest.py": "skips what needs the emulator",
    "tests/test_compile.py": "needs no emulator",
    "tests/test_emulated.py": "runs on both processors",
}


BACKEND = SampleBackend("riscv", RISCV, "llvm", CHANGED, ADDED)


def test_it_has_the_files_of_the_template_and_those_that_it_adds() -> None:
    BACKEND.check_files()


def test_it_differs_from_the_template_where_it_says_so() -> None:
    BACKEND.check_texts()


def test_it_passes_its_own_tests(tmp_path: Path) -> None:
    """All but the kit's levels, from its wheel; kernels run where emulator and linker are."""
    site = tmp_path / "site"
    shutil.unpack_archive(build_wheel(RISCV, tmp_path / "wheel"), site, "zip")
    project = tmp_path / "project"
    shutil.copytree(RISCV, project, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "TRI_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--ignore=tests/test_conformance.py"]
    if importlib.util.find_spec("ziglang") is None:
        environment["TRI_RISCV_QEMU"] = "not-used-without-a-linker"
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout.splitlines()[-1]
    if shutil.which("qemu-riscv64") is None:
        pytest.skip("kernels were compiled only: qemu-user (qemu-riscv64) is not installed")
