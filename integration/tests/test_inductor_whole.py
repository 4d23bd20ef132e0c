"""The comparison of whole models by several compilers: ``python -m integration.inductor.whole``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.inductor.whole.table import table

TOP = Path(__file__).parents[2]


def _whole(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    paths = [str(TOP), *filter(None, sys.path)]
    command = [sys.executable, "-m", "integration.inductor.whole", "--device", "cpu", "--dtype", "float32"]
    done = subprocess.run(
        [*command, "--processes", "2", "--output", str(folder), *arguments],
        capture_output=True,
        text=True,
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    return done.returncode, json.loads((folder / "whole.json").read_text()), done.stdout + done.stderr


@pytest.mark.timeout(600)
def test_an_encoder_is_trained_as_by_eager(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    status, (outcome,), said = _whole(tmp_path, "--impls", "tri", "torch_transformer")
    assert status == 0, said
    assert outcome["right"]
    assert outcome["kernels"] > 10
    assert len(outcome["ms"]) == 5
    assert "right by tri: 1 of 1" in said


@pytest.mark.timeout(600)
def test_a_process_that_says_nothing_is_ended_and_wrong(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    status, (outcome,), said = _whole(tmp_path, "--impls", "tri", "--minutes", "0.27", "torch_transformer")
    assert status == 1, said
    assert "no answer within" in outcome["error"]["said"]
    assert "torch_transformer by tri: wrong" in said


def test_a_gradient_that_is_farther_off_than_eagers_is_wrong() -> None:
    torch = pytest.importorskip("torch")
    from integration.inductor.whole.step import Distance

    wide = {"loss": torch.tensor(2.0), "weight": torch.ones(4), "zero": torch.zeros(4)}
    eager = {name: value + 0.01 for name, value in wide.items()}
    near, far = ({**eager, "weight": wide["weight"] + by} for by in (0.02, 0.04))
    assert not Distance.between(near, eager, wide, torch.bfloat16).bad
    assert Distance.between(far, eager, wide, torch.bfloat16).bad == ("weight",)
    lost = {"loss": eager["loss"], "weight": eager["weight"] * float("nan")}
    assert Distance.between(lost, eager, wide, torch.bfloat16).bad == ("weight", "zero")


def test_the_table_holds_the_last_compiler_against_the_first() -> None:
    def outcome(compiler: str, ms: float, us: float) -> dict[str, Any]:
        device = {"triton_poi_fused_0": us, "gemm": 40.0}
        return {"model": "m", "compiler": compiler, "right": True, "error": 1e-3, "ms": [ms, 9.0],
                "cold s": 4 * ms, "kernels": 3, "static": [3, 3], "device us": device}  # fmt: skip

    text = table([outcome("triton", 2.0, 20.0), outcome("tri", 1.0, 30.0)], ["triton", "tri"])
    row = next(line for line in text.splitlines() if line.startswith("m "))
    assert row.split("|")[-1].split() == ["0.500", "1.500", "0.500"]
    assert "    30.0      20.0   1.500  m triton_poi_fused_0" in text
    assert "gemm" not in text
    failed = {"model": "m", "compiler": "tri", "right": False, "ms": [], "error": {"said": "no"}}
    assert "m by tri: wrong" in table([outcome("triton", 2.0, 20.0), failed], ["triton", "tri"])
