"""Times of stages and passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tri_core import knobs
from tri_core.compiler import compile as compile_kernel
from tri_core.compiler.observe import stage_times
from tri_core.plugins import Candidate
from tri_core.timing import Span, chrome_trace, span, spans

MARKS = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Mark(Pass):
    text: str
    name = "mark"
    def apply(self, module, context):
        pass

@hookimpl
def tri_modify_pipeline(pipeline):
    pipeline["ttir"].passes.insert("ttir.end", Mark("one"), Mark("two"))
"""


@pytest.fixture
def marked(make_plugin: Callable[..., Candidate], activate: Any) -> None:
    activate(make_plugin("toy", backend=True), make_plugin("extra", MARKS))


def test_stages_and_their_passes_have_times(marked: None, source: Any) -> None:
    with spans() as found, stage_times() as unfilled:
        compile_kernel(source(), "toy:one")
    assert unfilled, "the inner of two listeners gets the times"
    assert found == []
    with knobs.scope(ALWAYS_COMPILE=True), spans() as found:
        compile_kernel(source(), "toy:one")
    names = [(each.stage, each.pass_name) for each in found]
    assert names == [("ttir", "mark"), ("ttir", "mark"), ("ttir", ""), ("text", ""), ("image", "")]
    one, two, whole = found[:3]
    assert whole.start <= one.start <= one.start + one.seconds <= two.start
    assert two.start + two.seconds <= whole.start + whole.seconds


def test_nobody_who_asks_pays_nothing(marked: None, source: Any) -> None:
    with spans() as found:
        pass
    compile_kernel(source(), "toy:one")
    assert found == []


def test_what_fails_has_no_time() -> None:
    with spans() as found, pytest.raises(ValueError, match="never mind"), span("ttir", "worse"):
        raise ValueError("never mind")
    assert found == []


def test_the_trace_is_what_chrome_reads() -> None:
    events = json.loads(chrome_trace([Span("ttir", "cse", 2.5, 0.25), Span("ttir", "", 2.0, 1.0)], "add"))
    assert events["traceEvents"] == [
        {
            "name": name, "cat": cat, "ph": "X", "ts": ts, "dur": dur, "pid": 1, "tid": 1,
            "args": {"kernel": "add", "stage": "ttir"},
        }
        for name, cat, ts, dur in (("ttir", "stage", 0.0, 1e6), ("cse", "pass", 5e5, 2.5e5))
    ]  # fmt: skip
    assert json.loads(chrome_trace([], "add"))["traceEvents"] == []


def test_the_module_after_each_pass_is_dumped_on_request(marked: None, source: Any, tmp_path: Path) -> None:
    for folder, passes in (("plain", False), ("passes", True)):
        with knobs.scope(DUMP_DIR=tmp_path / folder, DUMP_PASSES=passes, ALWAYS_COMPILE=True):
            compile_kernel(source(), "toy:one")
    names = {
        folder: sorted(f.name for f in (tmp_path / folder).glob("*/*")) for folder in ("plain", "passes")
    }
    dumped = [f"kernel.{n}" for n in ("000.ttir.source.mlir", "001.ttir.mark.mlir", "002.ttir.mark.mlir")]
    assert names["passes"] == sorted([*names["plain"], *dumped])
    assert " tt.addptr %" in next((tmp_path / "passes").glob(f"*/{dumped[1]}")).read_text()
