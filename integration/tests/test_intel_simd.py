"""Both paths of Intel's backend, kernel by kernel: by SIMD a case is right, or refused with its op and place; by either path all are right."""

from __future__ import annotations

import json
import re

import pytest

from integration.bench_intel_static import igc
from integration.bench_intel_static.cases import CASES
from integration.bench_intel_static.figures import RECORD, by_simd, read
from tri_conformance import Selection, Subject
from tri_conformance.run import Run

#: what has dots, and a little of everything
DOTS = Selection(select=("language/dot*", "language/*descriptor*", "programs/*"), sample=40)
ALL = Selection(levels=("language",), sample=300)
_REFUSED = re.compile(r"Unsupported: the SIMD path (has no|stops)[^\n]*\n  at \S+:\d+:\d+")
_cases = {case.name: case for case in CASES}
RECORDED = read()
CARRIED = [name for name, own in RECORDED.items() if "pvc" in own and own["pvc"].simd >= 0]


def failures(path: str, selection: Selection) -> list[str]:
    run = Run(Subject("sim:intel:pvc", (f"path={path}",)), selection).all()
    assert len(run.results) > 10
    return [result.detail for result in run.results if result.verdict == "failed"]


@pytest.mark.parametrize("selection", [DOTS, ALL], ids=["dots", "all"])
def test_by_simd_a_case_is_right_or_refused_with_its_place(selection: Selection) -> None:
    assert [each for each in failures("simd", selection) if not _REFUSED.search(each)] == []


def test_by_either_path_all_cases_are_right() -> None:
    assert failures("auto", DOTS) == []


def test_the_bench_has_matmuls_by_simd() -> None:
    assert {"matmul fp16 128x128x32 w32", "matmul bf16 256x256x32 w32"} <= set(CARRIED)
    assert RECORDED["matmul fp16 128x128x32 w32"]["pvc"].simd <= 50  # 47 in 128 registers


@pytest.mark.skipif(igc.ocloc() is None, reason="there is no ocloc")
@pytest.mark.parametrize("name", ["matmul fp16 128x128x32 w32", "matmul bf16 128x128x32 w8"])
def test_machine_code_by_simd_is_as_recorded(name: str) -> None:
    # another version of the compiler may count a little otherwise
    more = 1.0 if igc.version() == json.loads(RECORD.read_text())["compiler"] else 1.1
    assert by_simd(_cases[name], "pvc")["simd"] <= RECORDED[name]["pvc"].simd * more
