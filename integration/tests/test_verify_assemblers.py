"""Machine code of the installed ptxas, judged by ``tri verify --assemblers``: its faults are found, and right kernels are equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from integration.verify.assembled import FAULTY, RIGHT, as_ptxas_is
from tri.cli.app import app
from tri.verifying import verify
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas, version_of_ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs
from tri_core.errors import Unsupported

TARGET = "nvidia:sm_90a"
KERNELS = """
import tri
import tri.language as tl

@tri.jit
def least(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.minimum(tl.load(x + i), 3))

@tri.jit
def powers(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.exp(tl.load(x + i)))

@tri.jit
def gathered(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(y + tl.load(x + i)))
"""


@pytest.fixture(autouse=True)
def nvdisasm() -> Path:
    found = find(NVDISASM, knobs.get("NVIDIA_NVDISASM"))
    return found if found is not None else pytest.skip("no nvdisasm")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels_to_assemble.py"
    path.write_text(KERNELS)
    return path


@pytest.mark.parametrize("name", ["greatest_with_negated", "negated_halves", "absolute_words"])
def test_faults_of_the_installed_ptxas_are_found(name: str) -> None:
    version = version_of_ptxas(ptxas(architecture="sm_90a"))
    if version is None or not (12, 8) <= version < (13, 1):
        pytest.skip(f"ptxas {version} has not all of these faults: 12.8 to 13.0 have")
    label = ".".join(map(str, version))
    with as_ptxas_is():
        report = verify(FAULTY[name], [TARGET], assemblers=True)
    wrong = {each.level: each for each in report.having("wrong")}
    for optimisation in ("O3", "O1"):
        found = wrong[f"sim:{TARGET}:level=ptxas-{label}-{optimisation}"]
        assert found.difference is not None
        assert found.difference.name == "out"
        assert found.step.startswith("the store STG")
        assert "(SASS 0x" in found.step


@pytest.mark.parametrize("name", ["greatest_with_negated", "absolute_halves"])
def test_behind_the_rewritings_they_are_right(name: str) -> None:
    report = verify(FAULTY[name], [TARGET], assemblers=True)
    assert len(report.findings) >= 2
    assert report.is_right, [str(each) for each in report.findings]


@pytest.mark.parametrize("target", ["nvidia:sm_80", TARGET, "nvidia:sm_100a"])
@pytest.mark.parametrize("name", ["sums i16", "looped i32", "transposed i32"])
def test_right_kernels_are_equal(name: str, target: str) -> None:
    report = verify(RIGHT[name], [target], assemblers=True)
    assert {each.verdict for each in report.findings} == {"equal"}, [str(each) for each in report.findings]


def judged(file: Path, name: str, types: str) -> tuple[int, str]:
    given = ["verify", f"{file}:{name}", "--assemblers", "-t", TARGET, "-s", f"{types}, N=128"]
    result = CliRunner().invoke(app, given)
    return result.exit_code, result.output


def test_the_command_names_each_assembler(file: Path) -> None:
    status, said = judged(file, "least", "*i32, *i32")
    assert status == 0, said
    assert "-O3, seed 0: equal" in said
    assert "-O1, seed 0: equal" in said


def test_what_is_not_known_is_never_right(file: Path) -> None:
    status, said = judged(file, "powers", "*fp32, *fp32")
    assert status == 2
    assert "refused" in said
    assert "the meaning of the machine code" in said


def test_places_are_small_where_large_ones_mean_nothing(file: Path) -> None:
    status, said = judged(file, "gathered", "*i32, *i32")
    assert status == 0, said
    assert "only on small whole numbers" in said


def test_a_target_without_assemblers_is_refused() -> None:
    with pytest.raises(Unsupported, match="no assembler here"):
        verify(RIGHT["sums i32"], ["amd:gfx942"], assemblers=True)
