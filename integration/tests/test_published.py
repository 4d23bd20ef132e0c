"""The harness of published kernels: its cases, its comparison, its own philox."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integration.published.code as published_code
import tri
import tri.language as tl
from integration.published.projects import PROJECTS, load, requirements
from tri_core.occupancy import occupancy
from tri_core.target_selection import resolve

torch = pytest.importorskip("torch")

#: what the cases together have to cover
COVERED = {
    "softmax",
    "layernorm",
    "rmsnorm",
    "cross-entropy",
    "swiglu",
    "rotary embedding",
    "fused attention",
    "grouped GEMM",
    "int8 GEMM",
    "dropout with philox",
    "sort",
}


def test_cases_cover_the_list_with_known_projects() -> None:
    from integration.published.suite import select

    cases = select([])
    assert {c for case in cases for c in case.covers} == COVERED
    assert {case.project for case in cases} == set(PROJECTS)
    assert len({case.name for case in cases}) == len(cases)
    assert [c.name for c in select(["radix"])] == ["flag-gems/radix_sort"]
    assert "liger-kernel==0.8.5" in requirements()
    assert not any(r.startswith("triton") for r in requirements())


def test_errors_are_relative_to_the_largest_value() -> None:
    from integration.published.cases import Check

    want = torch.tensor([1.0, 200.0])
    assert Check("x", torch.tensor([1.0, 198.0]), want).error == pytest.approx(0.01)
    assert Check("x", torch.tensor([1.0, float("nan")]), want).error == float("inf")
    assert Check("x", torch.tensor([1.0]), want).error == float("inf")


def test_wrong_kernels_fail() -> None:
    from integration.published.cases import Bench, Case, Outcome, gradients, run

    bench = Bench("cpu", Path())

    def of(kernel: Callable[[Any], Any]) -> Outcome:
        return run(
            Case("p", "k", lambda b: gradients("x", [b.randn(9, grad=True)], kernel, torch.sin)), bench
        )

    assert of(torch.sin).passed
    assert not of(lambda x: torch.sin(x) * 1.001).passed
    wrong = of(lambda x: torch.sin(x.detach()) + (x - x.detach()))
    assert [e <= t for _, e, t in wrong.checks] == [True, False]
    assert "ZeroDivisionError" in of(lambda x: x / (1 // 0)).failure


def test_guards_are_for_host_tensors_only() -> None:
    from integration.published.guards import guarded

    own = torch.cuda.current_device
    with guarded("cuda"):
        assert torch.cuda.current_device is own
    with guarded("cpu"), torch.cuda.device(0):
        assert torch.cuda.current_device() == 0
    assert torch.cuda.current_device is own


def test_the_harness_counts_philox_as_the_language_does() -> None:
    from integration.published.gems import _philox

    @tri.jit
    def words(out_ptr: Any, seed: Any, c1: Any, BLOCK: tl.constexpr) -> None:
        i = tl.arange(0, BLOCK)
        c0 = i.to(tl.uint32) + 5
        made = tl.philox(seed, c0, c0 * 0 + c1.to(tl.uint32), c0 * 0, c0 * 0)
        for k in tl.static_range(4):  # unrolled by the compiler
            tl.store(out_ptr + k * BLOCK + i, made[k])

    out = np.zeros((4, 16), np.uint32)
    with tri.target("cpu"):
        words[(1,)](out, 0x123456789ABC, 3, BLOCK=16)
    expected = _philox(0x123456789ABC, np.arange(16, dtype=np.uint64), (3 << 32) + 5)
    np.testing.assert_array_equal(out, expected.astype(np.uint32))


def test_parents_are_empty_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "liger_kernel" / "ops"
    package.mkdir(parents=True)
    (tmp_path / "liger_kernel" / "__init__.py").write_text("raise AssertionError('not imported')\n")
    (package / "thing.py").write_text("value = 3\n")
    import sys

    for name in [n for n in sys.modules if n.partition(".")[0] == "liger_kernel"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert load("liger-kernel", "liger_kernel.ops.thing", tmp_path).value == 3
    for name in ("liger_kernel", "liger_kernel.ops", "liger_kernel.ops.thing"):
        monkeypatch.delitem(sys.modules, name)


def test_kernels_take_no_more_than_tritons() -> None:
    """What is recorded of published kernels' machine code, held by ``nox -s published``: spills and CTAs beside Triton's."""
    from integration.published.code.cases import read

    record = json.loads((Path(published_code.__file__).parent / "figures.json").read_text())
    unit = resolve("nvidia:sm_90a").spec.unit
    assert unit is not None
    assert set(record["tri"]) == set(record["triton"]) == {case.name for case in read()}
    for name, mine in record["tri"].items():
        theirs = record["triton"][name]
        assert mine["spills"] <= theirs["spills"], name
        # as many CTAs as memory has room for, whatever registers they take
        by_memory = occupancy(unit, warps=1, registers=16, shared=mine["shared"]).blocks
        assert mine["shared"] <= theirs["shared"] or by_memory >= theirs["ctas"], name
