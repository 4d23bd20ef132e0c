"""A pass that is wrong is named, with what it did, wherever it stands; the text level alone shows what is wrong below."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import tri
import tri.language as tl
from integration.changes import Change, changed
from tri.launch.dispatcher import forget
from tri.verifying import Trial, trial_of, verify
from tri_backend_nvidia import ptx
from tri_core import compiler
from tri_core.api import Pass, StageContext
from tri_core.ir.walking import collect
from tri_core.mlir import ir

TARGET = "nvidia:sm_80"


@tri.jit
def add(x: Any, y: Any, out: Any, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))


@dataclass(frozen=True)
class Subtract(Pass):
    """Takes sums for differences."""

    name: ClassVar[str] = "subtract"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        del context
        for op in collect(module.operation):
            if op.name == "arith.addf":
                with ir.InsertionPoint(op), op.location:
                    made = ir.Operation.create(
                        "arith.subf", results=[op.results[0].type], operands=list(op.operands)
                    )
                op.results[0].replace_all_uses_with(made.results[0])
                op.erase()


def _trial() -> Trial:
    return trial_of(add, "*fp32:16, *fp32:16, *fp32:16, BLOCK=128", grid=(2,))


@pytest.mark.parametrize(("stage", "at"), [("ttir", ""), ("ttgir", "ttgir.coalesce")])
def test_a_wrong_pass_is_named(stage: str, at: str) -> None:
    with changed(f"sim:{TARGET}", Change(stage, more=Subtract(), at=at)):
        report = verify(_trial(), [TARGET])
    first, below = report.findings
    assert (first.level, first.verdict) == (f"sim:{TARGET}", "wrong")
    assert first.difference is not None
    assert first.difference.name == "out"
    assert "pass 'subtract'" in first.step
    assert f"of stage {stage}" in first.step
    assert "arith.addf" in first.change
    assert "arith.subf" in first.change
    # the fault is above the text, which is not searched once more
    assert (below.verdict, below.step) == ("wrong", "")


class _Wrong:
    """A rewriting of the text that takes sums for differences."""

    def apply(self, text: str) -> tuple[str, tuple[str, ...]]:
        return re.sub(r"\badd((?:\.rn)?\.f32)\b", r"sub\1", text), ()


def _forget() -> None:
    forget()
    compiler.forget()


def test_a_fault_below_the_modules_is_seen_at_the_text_level_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as planted:
        planted.setenv("TRI_CACHE_DIR", str(tmp_path))
        planted.setattr(ptx, "every", lambda arch: _Wrong())
        _forget()
        report = verify(_trial(), [TARGET])
    _forget()
    assert [each.verdict for each in report.findings] == ["equal", "wrong"]
    assert report.findings[1].step.startswith("what makes this level of the one before: LLVM")


def test_without_a_fault_all_levels_are_equal() -> None:
    report = verify(_trial(), [TARGET, "nvidia:sm_90a", "amd:gfx942", "intel:pvc", "cpu"], seeds=(0, 1))
    assert report.is_right
    assert {each.verdict for each in report.findings} == {"equal"}
    assert len(report.findings) == 14
