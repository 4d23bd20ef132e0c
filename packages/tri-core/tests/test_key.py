"""What is in a kernel's key, and in the shortcut to it: all that took part in the compile, and nothing else."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tri_core import compiler
from tri_core.compiler import CompiledKernel, forget
from tri_core.compiler import compile as compile_kernel
from tri_core.errors import BackendError
from tri_core.plugins import Candidate
from tri_core.plugins.discovery import candidates
from tri_core.target_selection import resolve

Make = Callable[..., Candidate]
ALL = ["ttir", "text", "image"]


def loaded(candidate: Candidate) -> Any:
    """The module of a candidate."""
    return candidate.load()


def again(source: Any) -> CompiledKernel:
    """Compile as a new process would: with nothing in memory."""
    forget()
    return compile_kernel(source, "toy:one")


def _entries(cache: Path) -> list[Path]:
    return list(cache.glob("*/*.entry"))


@pytest.fixture
def installed(site: Any, backend_text: Any, activate: Any) -> Any:
    """The module of ``toy``, installed as a distribution."""
    site.install(
        "toy",
        backend_text("toy")
        + """
@hookimpl
def tri_knobs():
    return [KnobGroup(prefix="TOY", knobs=(Knob(name="TOY_FORGOTTEN", default=0, parse=int),))]
""",
    )
    candidate = next(c for c in candidates() if c.name == "toy")
    activate(candidate)
    return candidate.load()


TOUCH = """
from dataclasses import dataclass
from tri_core.api import *
TRI_PLUGIN_API = (1, 0)
@dataclass(frozen=True)
class Nothing(Pass):
    name = "nothing"
    def apply(self, module, context): ...
@hookimpl
def tri_modify_pipeline(pipeline): pipeline["ttir"].passes.insert("ttir.end", Nothing())
"""


def test_every_plugin_that_takes_part_is_in_the_key(
    make_plugin: Make, activate: Any, source: Any, site: Any
) -> None:
    package = site.install("touch", TOUCH)
    from tri_core.plugins.fingerprint import forget as forget_fingerprints

    touch = next(c for c in candidates() if c.name == "touch")
    toy = make_plugin("toy", backend=True)

    def key(*more: Candidate) -> str:
        forget_fingerprints()
        activate(toy, *more)
        return again(source()).metadata.hash

    alone, beside = key(), key(touch)
    assert alone == key()
    assert beside == key(touch) != alone
    (package / "plugin.py").write_text(TOUCH + "# edited")
    assert key(touch) not in {alone, beside}
    facts = "@hookimpl\ndef tri_cache_key(): return {'tool': '%s'}"
    assert key(make_plugin("f", facts % 1)) != key(make_plugin("f", facts % 2))


BYSTANDERS = {
    "no code": "@hookimpl\ndef tri_adapters(): return []",
    "no pass": "@hookimpl\ndef tri_modify_pipeline(): ...",
    "no fact": "@hookimpl\ndef tri_cache_key(): return {}",
}


@pytest.mark.parametrize("text", BYSTANDERS.values(), ids=BYSTANDERS)
@pytest.mark.parametrize("backend", [False, True])
def test_what_is_installed_beside_a_kernels_plugins_leaves_it_as_it_is(
    make_plugin: Make, activate: Any, source: Any, text: str, backend: bool
) -> None:
    toy, other = (
        make_plugin("toy", backend=True),
        make_plugin("other", text, backend=backend, dist="tri-other"),
    )
    activate(toy)
    alone = again(source())
    environment = compiler.environment_of(resolve("toy:one"))
    activate(toy, other)
    assert again(source()).metadata == alone.metadata
    assert compiler.environment_of(resolve("toy:one")) == environment
    assert loaded(toy).RUNS == ALL


#: how a backend makes its table of lowering rules: with its pipeline, or too late
_TABLES = {
    "early": """
    MAKE = [tri_pipeline]
    @hookimpl
    def tri_pipeline(target, options):
        global RULES
        RULES = manager().lowering(Table(), target, options)
        return MAKE[0](target, options)
    """,
    "late": """
    early = image
    def image(artifact, context):
        global RULES
        RULES = manager().lowering(Table(), context.target, context.options)
        return early(artifact, context)
    """,
}
_TABLE = """
    from tri_core.plugins import manager
    class Table(list):
        def text(self): return repr(self)
"""


@pytest.mark.parametrize("when", _TABLES)
def test_plugins_that_add_rules_are_in_the_key(
    make_plugin: Make, activate: Any, source: Any, when: str
) -> None:
    toy = make_plugin("toy", _TABLE + _TABLES[when], backend=True)
    rule = make_plugin("rule", "@hookimpl\ndef tri_lowering(table): table.append('r')")
    activate(toy)
    alone = again(source())
    activate(toy, rule)
    beside = again(source())
    assert beside.hash != alone.hash
    assert "rule" in beside.metadata.plugins
    assert loaded(toy).RULES == ["r"]


def test_another_backend_with_rules_for_its_own_targets_is_not_in_the_key(
    make_plugin: Make, activate: Any, source: Any
) -> None:
    own = """
    @hookimpl
    def tri_lowering(table, target):
        if target.key.backend == "other": table.append("r")
    """
    for when in _TABLES:
        toy = make_plugin("toy", _TABLE + _TABLES[when], backend=True)
        activate(toy)
        alone = again(source(name=when))
        activate(toy, make_plugin("other", own, backend=True))
        assert again(source(name=when)).hash == alone.hash


def test_rules_that_come_too_late_for_the_key_are_an_error(
    make_plugin: Make, activate: Any, source: Any
) -> None:
    text = "@hookimpl\ndef tri_lowering(table): table.append('r')"
    toy = make_plugin("toy", textwrap.dedent(_TABLE + _TABLES["late"]) + text, backend=True)
    activate(toy, make_plugin("rule", text))  # the owner's own, and those of a plugin for everybody
    again(source())
    activate(toy, make_plugin("other", text, backend=True))
    with pytest.raises(BackendError, match="plugin other, which has a backend, adds lowering rules"):
        compile_kernel(source(name="late"), "toy:one")


def test_the_environment_of_installed_plugins_is_remembered(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compiler.environment_of(resolve("toy:one"))
    compiler.forget()
    monkeypatch.setattr("tri_core.plugins.PluginManager.compose", lambda *_: pytest.fail("composed"))
    assert compiler.environment_of(resolve("toy:one")) == found


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 64, b"../../x", b"g" * 64, b"0" * 63],
    ids=["empty", "binary", "path", "word", "short"],
)
def test_a_shortcut_with_other_content_is_no_shortcut(
    installed: Any, source: Any, own_cache: Path, content: bytes
) -> None:
    from tri_core.cache import Store

    kernel = compile_kernel(source(), "toy:one")
    store = Store(own_cache, 1 << 20)
    others = [e.stem for e in _entries(own_cache) if e.stem != kernel.hash]
    assert others
    for name in others:
        store.put(name, content)
    assert again(source()).metadata == kernel.metadata
    assert installed.RUNS == ALL
    assert {store.get(name) for name in others} == {kernel.hash.encode()}
