"""Children under the real loader of Level Zero with its layers on: a process for each, as the loader begins once.

Where the loader needs a newer C library than Python's, ``TRI_TEST_LEVEL_ZERO_PYTHON`` names a Python that has both.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PYTHON = os.environ.get("TRI_TEST_LEVEL_ZERO_PYTHON", sys.executable)
#: the devices by the knob alone
KNOBS = {"TRI_INTEL_STANDIN": "pvc,pvc", "TRI_INTEL_DRIVER": "level_zero"}
LAYERS = {
    "ZE_ENABLE_VALIDATION_LAYER": "1",
    "ZE_ENABLE_PARAMETER_VALIDATION": "1",
    "ZEL_ENABLE_BASIC_LEAK_CHECKER": "1",
}


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    helpers = Path(__file__).parent
    # and not sys.path: the standard library is the child's own
    paths = os.pathsep.join(filter(None, [str(helpers), os.environ.get("PYTHONPATH")]))
    given = {**os.environ, **LAYERS, "PYTHONPATH": paths, **environment}
    return subprocess.run(
        [PYTHON, *arguments], env=given, capture_output=True, text=True, timeout=240, check=False
    )


@cache
def _why_not() -> str:
    probe = "import ctypes; ctypes.CDLL('libze_loader.so.1').zeCommandListHostSynchronize"
    done = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=False)
    return done.stderr.splitlines()[-1] if done.returncode else ""


def need_loader() -> None:
    """Skips where there is no loader that has what is needed."""
    if _why_not():
        pytest.skip(f"no loader of Level Zero 1.11 or later (Debian's libze1): {_why_not()}")


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def leaks(text: str) -> list[str]:
    """Lines of the leak checker's table that are out of balance."""
    assert "Check balance of create/destroy calls" in text
    return re.findall(r".*LEAK.*", text)
