"""Every snippet of ``docs/backends.md`` runs, and the names that it mentions in code are there."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

import dataclasses
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
import tri_core
from integration.tests.conftest import TOP
from tri_core import compiler, mlir, plugins
from tri_core.api import BackendInfo, TargetSpec
from tri_core.mlir import ext
from tri_core.plugins import PluginManager, candidate_of
from tri_core.plugins.discovery import candidates
from tri_core.runtime import Runtime
from tri_gpu_dialect.lowering import MachineOp, Primitives
from tri_gpu_dialect.policies import DefaultPolicy, MatrixInstruction, PipelinePolicy
from tri_runtime.base import RuntimeBase

PAGE = (TOP / "docs" / "backends.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


class _CTA:
    """State of a CTA that the op of the page reads."""

    num_threads = 64
    threads_per_warp = 32


def _rows(heading: str) -> list[str]:
    """First cells of the table below ``heading``."""
    table = PAGE[PAGE.index(heading) :].split("\n\n")[0 if heading.startswith("|") else 1]
    return [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]


def _names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_all_snippets_are_looked_at() -> None:
    assert len(SNIPPETS) == 4


def test_a_machine_op() -> None:
    def builtin(b: Any, name: str, operands: Any, results: Any, convergent: bool) -> Any:
        return name, operands, results, convergent

    acme: Any = type("ACME", (ext.Dialect,), {}, name="acme_of_a_page")
    names = {"MachineOp": MachineOp, "ACME": acme, "np": np, "_builtin": builtin}
    made: dict[str, Any] = names | {"_In": ext.Operand[Any], "_Out": ext.Result[Any]}
    exec(SNIPPETS[0], made)
    op = made["ShuffleOp"]
    mlir.registry.add_dialect(acme)
    assert op.OPERATION_NAME == "acme_of_a_page.shuffle"
    value, lane = np.arange(64) * 10, np.full(64, 3)
    (got,) = op.simulate(None, _CTA(), (value, lane))
    np.testing.assert_array_equal(got, np.repeat([30, 350], 32))


@tri.jit
def fill(x: Any) -> None:
    tl.store(x + tl.arange(0, 16), 1.0)


@pytest.mark.parametrize("target", ["cpu", "nvidia:sm_80", "amd:gfx942", "intel:pvc"])
def test_stages_of_a_plugin(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = types.ModuleType("plugin_of_a_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look themselves up there
    vars(module).update(TRI_PLUGIN_API=(1, 0))
    exec(SNIPPETS[1], vars(module))
    plugins_ = PluginManager([*candidates(), candidate_of(module)])
    with plugins.use(plugins_), tri_core.knobs.scope(CACHE_DIR=tmp_path):
        compiler.forget()
        made = tri.compile(tri.ASTSource(fill, {"x": "*fp32"}), target)
    compiler.forget()
    assert '"frame-pointer"="all"' in made.asm["llir"]
    assert made.asm["counted"] == made.asm["llir"]
    counted: Any = made.metadata.attrs["instructions"]
    assert counted > 3


def test_an_extension_of_the_language() -> None:
    made: dict[str, Any] = {}
    exec(SNIPPETS[2], made)
    (extension,) = made["tri_language"]()
    assert (set(extension.modifiers), set(extension.scopes), set(extension.types)) == (
        {"cache"}, {"streaming"}, {"Window"}
    )  # fmt: skip


def test_a_policy() -> None:
    made: dict[str, Any] = {}
    exec(SNIPPETS[3], made)
    policy = made["POLICY"]
    assert isinstance(policy, DefaultPolicy)
    loads: Any = policy.pipeline.loads
    assert (policy.max_vector_bits, loads.bits) == (128, (32, 64, 128))


#: limits of a target, and a method that only some runtimes have
_ELSEWHERE = {"threads", "shared", "grid_x", "grid_y", "grid_z", "launch_plan"}


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [
        ("| field of `TargetSpec` |", [TargetSpec]),
        ("| override |", [Primitives]),
        ("| member | what it owes |", [Runtime, RuntimeBase]),
    ],
)
def test_tables_name_what_there_is(heading: str, kinds: list[type[Any]]) -> None:
    found = [name for cell in _rows(heading) for name in _names(cell)]
    known = {name for kind in kinds for name in (*dir(kind), *getattr(kind, "__dataclass_fields__", ()))}
    assert found
    assert [name for name in found if name not in known | _ELSEWHERE] == []


def test_fields_that_the_text_names() -> None:
    for kind, names in (
        (BackendInfo, {"tuning_options"}),
        (DefaultPolicy, {"max_vector_bits", "pipeline", "dots"}),
        (PipelinePolicy, {"loads"}),
        (MatrixInstruction, {"a", "b", "accumulator", "shape", "k_width", "encoding"}),
    ):
        assert names <= {f.name for f in dataclasses.fields(kind)}
        assert all(name in PAGE for name in names)
