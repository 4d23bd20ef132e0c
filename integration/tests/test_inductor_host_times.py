"""Ordinary launches of PyTorch's tensors on a CUDA device are done by compiled code, whatever way they are written: none is slow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]

#: tensors of the CPU are said to be on a device of a driver in Python
SCRIPT = """
import functools
import tri.compat.triton
tri.compat.triton.install()
import pytest
import torch
from nvidia_fake_driver import install
from tri.launch.arrays import place_of
from tri_runtime import registry, runtime

patch = pytest.MonkeyPatch()
install(patch, 1)
registry.forget()
patch.setattr("tri.launch.arrays._torch_places", {torch.device("cpu"): place_of(runtime("cuda").devices()[0])})
import triton
from integration.inductor import host_kernels, host_times

def bench(call, quantiles):
    call()
    return [1.0, 1.0, 1.0]

patch.setattr(triton, "autotune", functools.partial(triton.autotune, do_bench=bench))
names = list(host_times.rows("cpu"))
for name in names:
    found = host_times.counted(host_times.rows("cpu")[name], calls=20)
    assert not found, (name, found)
print(len(names))
"""


def test_no_launch_of_ordinary_arguments_is_slow(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    paths = [TOP, TOP / "packages" / "tri-backend-nvidia" / "tests" / "helpers", *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        cwd=TOP,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "TRI_CACHE_DIR": str(tmp_path),
        },
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) >= 20
