"""What compiles is loaded in the process that forks PyTorch's compile workers, and in no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

MAIN = "/site-packages/torch/_inductor/compile_worker/__main__.py"
#: the question of PyTorch's worker before it forks, in a process whose main module has the file given
_ASKED = """
import sys

sys.modules["__main__"].__file__ = sys.argv[1]
from tri.compat.triton.cache import triton_key

triton_key()
triton_key()
from tri_core import compiler

print("mlir" in sys.modules or any(n.startswith("tri_backend_cpu.lower") for n in sys.modules))
"""


@pytest.mark.parametrize(
    ("main", "is_loaded"),
    [(MAIN, "True"), ("train.py", "False")],
)
def test_only_workers_load_what_compiles(main: str, is_loaded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRI_TARGET", "cpu")
    run = subprocess.run(
        [sys.executable, "-c", _ASKED, main], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [is_loaded]


def test_a_backend_that_cannot_compile_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRI_TARGET", "nobody")
    run = subprocess.run(
        [sys.executable, "-c", _ASKED, MAIN], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
