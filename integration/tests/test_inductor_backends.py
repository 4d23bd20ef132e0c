"""A backend's word of its device in PyTorch's Inductor: numbers, templates, kernels; and PyTorch without it is as it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.tests.conftest import TOP

ASKED = """
import tri.compat.triton
tri.compat.triton.install()
if __name__ == "__main__":
    from integration.inductor.contributed import main
    main("toy:t1")
"""
#: what is refused, by a backend that says it
REFUSED = """
import dataclasses
import tri.compat.triton
tri.compat.triton.install()
import torch
from torch._inductor import config
from tri_core.api import InductorKernel, TriError
from tri_core.plugins import manager
from tri_core.target_selection import resolve
from tri.compat.triton import inductor, inductor_choices, inductor_heuristics

given = manager().inductor(resolve("toy:t1"))
for templates in ({"gemm": ({},)}, {"mm": ({"tile": 3},)}):
    try:
        inductor_heuristics.heuristics(dataclasses.replace(given, templates=templates))
    except TriError as error:
        print(type(error).__name__, "|", error.remedy)
kernel = InductorKernel(kind="reduction", sizes={"x": 4, "r0_": 100})
for said in ({"XBLOCK": 4}, {"XBLOCK": 3, "R0_BLOCK": 64}):
    try:
        inductor_choices._check("toy:t1", kernel, said)
    except TriError as error:
        print(type(error).__name__, "|", error.remedy)
assert config.inductor_choices_class is None and not inductor.contributed()
try:
    inductor.contribute("cpu")
except TriError as error:
    print(type(error).__name__, "|", error.remedy)
assert config.inductor_choices_class is None and not inductor.contributed()
inductor.contribute("toy:t1")
before = config.inductor_choices_class
inductor.contribute("toy:t1")
assert config.inductor_choices_class is before and dict(inductor.contributed()) == {"toy": "toy:t1"}
face = inductor.device_interface("toy:t1")
assert face.is_dtype_supported(torch.float16) and not face.is_dtype_supported(torch.complex64)
assert not face.is_bf16_supported() and face.is_bf16_supported(including_emulation=True)
assert face.is_available() and face.device_count() == 1
"""


@pytest.fixture(scope="module")
def toy(toy_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the toy backend is installed."""
    site = tmp_path_factory.mktemp("inductor") / "site"
    shutil.unpack_archive(toy_wheel, site, "zip")
    return site


def run(toy: Path, folder: Path, *arguments: str) -> str:
    """Output of Python with the toy backend."""
    paths = [str(toy), str(TOP), *filter(None, sys.path)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "TRI_CACHE_DIR": str(folder / "tri"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
    }
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def said(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Inductor's knowledge of the toy and its kernels for it."""
    pytest.importorskip("torch")
    printed = run(toy, tmp_path_factory.mktemp("run"), "-c", ASKED)
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


@pytest.mark.timeout(900)
def test_inductor_has_the_device_s_numbers(said: dict[str, Any]) -> None:
    device = said["device"]
    assert (device["type"], device["cc"], device["warp_size"]) == ("toy", "t1", 32)
    assert (device["multi_processor_count"], device["max_threads_per_block"]) == (1, 1024)
    assert said["active"] == "toy"


@pytest.mark.timeout(900)
def test_kernels_are_written_with_the_backend_s_blocks(said: dict[str, Any]) -> None:
    fixed = sorted(text for name, text in said["kernels"] if name == "fixed_config")
    assert fixed == [
        "config={'XBLOCK': 1, 'R0_BLOCK': 256, 'num_warps': 1, 'num_stages': 1}",
        "config={'XBLOCK': 1, 'num_warps': 1, 'num_stages': 1}",
        "config={'XBLOCK': 256, 'num_warps': 1, 'num_stages': 1}",
    ]
    assert [name for name, _ in said["kernels"] if name != "fixed_config"] == [
        "pointwise"
    ]  # of two dimensions


@pytest.mark.timeout(900)
def test_templates_are_tried_with_the_backend_s_configurations(said: dict[str, Any]) -> None:
    (tried,) = said["templates"]
    for part in ("BLOCK_M=32", "BLOCK_N=32", "BLOCK_K=16", "num_warps=1"):
        assert part in tried
    assert said["flex"] == ["FlexConfig(block_m=16, block_n=32, num_stages=1, num_warps=1)"]
    assert said["flex_tuned"] == 2


@pytest.mark.timeout(900)
def test_workers_compile_what_was_written(said: dict[str, Any]) -> None:
    assert len(said["compiled"]) == 3


@pytest.mark.timeout(900)
def test_other_devices_are_pytorch_s_own(said: dict[str, Any]) -> None:
    assert said["cuda"] == "CUDAConfigHeuristic"
    assert said["key"] == 64


@pytest.mark.timeout(900)
def test_nothing_is_contributed_by_default_and_what_is_wrong_is_refused(toy: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    lines = run(toy, tmp_path, "-c", REFUSED).splitlines()
    assert [line.partition(" |")[0] for line in lines] == [*["PluginError"] * 4, "Unsupported"]
    assert "flex_attention" in lines[0]
    assert "block_m, block_n, block_k" in lines[1]
    assert "XBLOCK, R0_BLOCK" in lines[2]
    assert "tri_inductor" in lines[4]
