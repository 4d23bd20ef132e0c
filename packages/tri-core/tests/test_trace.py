"""A compile with the module after every pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tri_core import knobs
from tri_core.compiler import compile as compile_kernel
from tri_core.compiler import lookup, trace
from tri_core.errors import PluginError
from tri_core.plugins import Candidate

ADD_TWO = """
from dataclasses import dataclass
from tri_core.ir.markers import marker
from tri_core.mlir import ir

for marked in ("tt.one", "tt.two"):
    marker(marked, "marked by a pass of a test", written=("mark",), read=("the test",))

@dataclass(frozen=True)
class Mark(Pass):
    text: str
    name = "mark"
    def apply(self, module, context):
        module.operation.attributes[self.text] = ir.UnitAttr.get(context=module.context)

@dataclass(frozen=True)
class Spoil(Pass):
    name = "spoil"
    def apply(self, module, context):
        function = list(module.body)[0].operation
        list(function.regions[0].blocks[0])[-1].operation.erase()

@hookimpl
def tri_modify_pipeline(pipeline):
    pipeline["ttir"].passes.insert("ttir.end", PASSES)
"""


def test_every_pass_is_seen_and_nothing_is_kept(
    make_plugin: Callable[..., Candidate], activate: Any, source: Any
) -> None:
    extra = make_plugin("extra", ADD_TWO.replace("PASSES", 'Mark("tt.one"), Mark("tt.two")'))
    activate(make_plugin("toy", backend=True), extra)
    traced = trace(source(), "toy:one")
    assert [(s.stage, s.pass_name) for s in traced.snapshots] == [
        ("ttir", ""),
        ("ttir", "mark"),
        ("ttir", "mark"),
    ]
    assert [("tt.one" in s.text, "tt.two" in s.text) for s in traced.snapshots] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    assert all(" tt.addptr %" in s.text and "loc(" in s.text for s in traced.snapshots)
    assert lookup(source(), "toy:one") is None
    compiled = compile_kernel(source(), "toy:one")
    assert trace(source(), "toy:one").kernel is not compiled
    assert dict(traced.kernel.asm) == dict(compiled.asm)


def test_a_module_that_a_pass_broke_is_not_printed(
    make_plugin: Callable[..., Candidate], activate: Any, source: Any
) -> None:
    activate(make_plugin("toy", backend=True), make_plugin("extra", ADD_TWO.replace("PASSES", "Spoil()")))
    with pytest.raises(PluginError, match="spoil"):
        trace(source(), "toy:one")


def test_line_tables_are_another_kernel(toy: Any, source: Any) -> None:
    del toy
    without = compile_kernel(source(), "toy:one")
    with knobs.scope(LINE_INFO=True):
        assert knobs.codegen_snapshot()["LINE_INFO"] is True
        assert compile_kernel(source(), "toy:one").hash != without.hash
    assert compile_kernel(source(), "toy:one") is without
