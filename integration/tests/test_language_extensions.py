"""Modifiers, scopes and types of a third party in kernels: where they hold, what is refused, and with which words."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import numpy as np
import pytest

import tri
import tri.language as tl
from integration.tests.hinted_accesses import HINTED
from tri.compiler.source import ASTSource
from tri.launch.dispatcher import forget
from tri_core import plugins
from tri_core.api import AccessModifier, LanguageExtension, Scope, hookimpl
from tri_core.errors import CompilationError, Unsupported
from tri_core.mlir import IRRegistry
from tri_core.plugins import PluginManager, candidate_of

LOG: list[str] = []


@contextmanager
def noted(value: int) -> Iterator[None]:
    LOG.append(f"enter {value}")
    yield
    LOG.append(f"leave {value}")


@tri.aggregate
class Handle:
    """A value of which kernels see nothing."""

    place: tl.tensor


EXTENSION = LanguageExtension(
    namespace="hinted",
    module="",
    targets=("cpu",),
    modifiers={
        "cache": AccessModifier(values=("stream", "keep")),
        "ahead": AccessModifier(values=(0, 1, 2), accesses=("load",)),
    },
    scopes={
        "priority": Scope(ops=("scf.for", "tt.load"), values=(0, 1, 2), interpreted=noted),
        "hot": Scope(ops=("tt.store",)),
    },
    types={"Handle": f"{__name__}:Handle"},
)


def _plugin() -> types.ModuleType:
    module = types.ModuleType("tri_hinted_plugin")
    module.TRI_PLUGIN_API = (1, 0)  # type: ignore[attr-defined]

    @hookimpl
    def tri_register_ir(registry: IRRegistry) -> None:
        registry.add_dialect(HINTED)

    @hookimpl
    def tri_language() -> Sequence[LanguageExtension]:
        return [EXTENSION]

    module.tri_register_ir, module.tri_language = tri_register_ir, tri_language  # type: ignore[attr-defined]
    return module


@pytest.fixture(autouse=True)
def _with_plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TRI_VERIFY", "1")
    LOG.clear()
    modules = ("tri_backend_cpu", "tri_backend_nvidia", "tri_gpu_dialect")
    others = [candidate_of(importlib.import_module(f"{name}.plugin"), name=name) for name in modules]
    forget()
    with plugins.use(PluginManager([*others, candidate_of(_plugin())])):
        yield
    forget()


def ttir(kernel: tri.JITFunction, target: str = "cpu", **constants: object) -> str:
    source = ASTSource(kernel, {"x": "*fp32", "n": "i32"}, constants)
    return str(tri.compile(source, target=target).asm["ttir"])


@tri.jit
def modified(x: tl.tensor, n: tl.tensor) -> None:
    i = tl.arange(0, 16)
    both = tl.load(x + i, mask=i < n, modifiers=(tl.extra.hinted.cache("stream"), tl.extra.hinted.ahead(2)))
    tl.store(x + i, both, modifiers=tl.extra.hinted.cache("keep"))


def test_modifiers_are_attributes() -> None:
    text = ttir(modified)
    assert 'hinted.cache = "stream"' in text
    assert "hinted.ahead = 2 : i32" in text
    assert 'hinted.cache = "keep"' in text


def test_a_modifier_on_another_backend_is_refused_by_name() -> None:
    with pytest.raises(Unsupported, match=r"tl\.extra\.hinted\.cache on nvidia:sm_80") as refused:
        ttir(modified, "nvidia:sm_80")
    assert isinstance(refused.value, CompilationError)
    assert "it is for cpu" in str(refused.value.remedy)
    assert refused.value.location is not None


def test_the_interpreter_ignores_modifiers() -> None:
    x = np.arange(16, dtype=np.float32)
    with tri.interpret():
        modified[(1,)](x, 16)
    np.testing.assert_array_equal(x, np.arange(16))


@tri.jit
def wrong_value(x: tl.tensor, n: tl.tensor) -> None:
    tl.store(x, n, modifiers=tl.extra.hinted.cache("never"))


@tri.jit
def wrong_type(x: tl.tensor, n: tl.tensor) -> None:
    tl.load(x, modifiers=tl.extra.hinted.ahead(True))


@tri.jit
def at_run_time(x: tl.tensor, n: tl.tensor) -> None:
    tl.load(x, modifiers=tl.extra.hinted.ahead(n))


@tri.jit
def not_of_a_store(x: tl.tensor, n: tl.tensor) -> None:
    tl.store(x, n, modifiers=tl.extra.hinted.ahead(1))


@tri.jit
def twice(x: tl.tensor, n: tl.tensor) -> None:
    tl.load(x, modifiers=(tl.extra.hinted.ahead(1), tl.extra.hinted.ahead(2)))


@tri.jit
def no_modifier(x: tl.tensor, n: tl.tensor) -> None:
    tl.load(x, modifiers="stream")


@tri.jit
def unknown_name(x: tl.tensor, n: tl.tensor) -> None:
    tl.load(x, modifiers=tl.extra.hinted.cach("stream"))


@tri.jit
def returns(x: tl.tensor, n: tl.tensor) -> None:
    with tl.extra.hinted.hot():
        if n > 3:
            return
        tl.store(x, n)


@tri.jit
def binds(x: tl.tensor, n: tl.tensor) -> None:
    with tl.extra.hinted.hot() as hot:
        tl.store(x, hot)


@tri.jit
def no_scope(x: tl.tensor, n: tl.tensor) -> None:
    with tl.float32:  # type: ignore[attr-defined]
        tl.store(x, n)


@tri.jit
def too_much(x: tl.tensor, n: tl.tensor) -> None:
    with tl.extra.hinted.hot(1):
        tl.store(x, n)


@tri.jit
def too_little(x: tl.tensor, n: tl.tensor) -> None:
    with tl.extra.hinted.priority():
        tl.store(x, n)


@pytest.mark.parametrize(
    ("kernel", "message", "remedy"),
    [
        (wrong_value, r"tl.extra.hinted.cache has no value 'never'", "use one of 'stream', 'keep'"),
        (wrong_type, r"tl.extra.hinted.ahead has no value True", "use one of 0, 1, 2"),
        (at_run_time, r"tl.extra.hinted.ahead takes a constexpr, got int32", "use one of 0, 1, 2"),
        (not_of_a_store, r"modifier hinted.ahead is not for a store", "use it for load"),
        (twice, r"modifier hinted.ahead is given twice", "give it once"),
        (no_modifier, r"modifiers of a load are 'stream'", "tl.extra.acme.cache"),
        (unknown_name, r"no attribute 'cach'", "did you mean cache"),
        (returns, r"a return inside of a with", "behind the with"),
        (binds, r"a with that binds a name", "drop the as"),
        (no_scope, r"with takes a scope that a plugin declares", "write its body without it"),
        (too_much, r"tl.extra.hinted.hot takes no value", "write tl.extra.hinted.hot()"),
        (too_little, r"tl.extra.hinted.priority takes a value", "use one of 0, 1, 2"),
    ],
)
def test_refusals(kernel: tri.JITFunction, message: str, remedy: str) -> None:
    with pytest.raises(CompilationError, match=message) as refused:
        ttir(kernel)
    assert remedy in str(refused.value.remedy)
    assert refused.value.location is not None
    assert refused.value.location.file == __file__


@tri.jit
def callee(x: tl.tensor) -> tl.tensor:
    return tl.load(x + 1)


@tri.jit
def scoped(x: tl.tensor, n: tl.tensor) -> None:
    total = tl.load(x)
    with tl.extra.hinted.priority(1):
        total += callee(x)
        with tl.extra.hinted.priority(2), tl.extra.hinted.hot():
            for k in range(n):
                with tl.extra.hinted.priority(0):
                    total += tl.load(x + k)
            tl.store(x, total)
    tl.store(x + 1, total)


def test_scopes_nest_and_hold_in_loops_and_callees() -> None:
    text = ttir(scoped)
    lines = [line for line in text.splitlines() if "hinted." in line]
    assert [line.count("hinted.priority = 1") for line in lines if "tt.load" in line] == [1, 0]
    assert sum("hinted.priority = 0" in line for line in lines if "tt.load" in line) == 1
    assert text.count("hinted.priority = 2") == 1  # the loop
    assert sum("hinted.hot" in line for line in lines if "tt.store" in line) == 1
    assert len(lines) == 4


def test_scopes_where_a_kernel_is_interpreted() -> None:
    x = np.ones(4, dtype=np.float32)
    with tri.interpret():
        scoped[(1,)](x, 2)
    inner = ["enter 0", "leave 0"]
    assert ["enter 1", "enter 2", *inner, *inner, "leave 2", "leave 1"] == LOG
    np.testing.assert_array_equal(x, [4, 4, 1, 1])
    compiled = np.ones(4, dtype=np.float32)
    with tri.target("cpu"):
        scoped[(1,)](compiled, 2)
    np.testing.assert_array_equal(compiled, x)


@pytest.mark.parametrize("kernel", [binds, no_scope])
def test_the_interpreter_refuses_other_contexts(kernel: tri.JITFunction) -> None:
    with pytest.raises(CompilationError, match="with") as refused, tri.interpret():
        kernel[(1,)](np.ones(4, np.float32), 2)
    assert refused.value.location is not None


@tri.jit
def handled(x: tl.tensor, n: tl.tensor) -> None:
    first = tl.extra.hinted.Handle(x)
    handle = first
    for _ in range(n):
        handle = tl.extra.hinted.Handle(handle.place + 1)
    if n > 2:
        handle = first
    tl.store(handle.place, 7.0)


def test_a_type_is_a_value_like_others_and_is_refused_elsewhere() -> None:
    for mode in (tri.interpret, lambda: tri.target("cpu")):
        for n, place in ((2, 2), (3, 0)):
            x = np.zeros(4, np.float32)
            context: AbstractContextManager[object] = mode()
            with context:
                handled[(1,)](x, n)
            assert list(np.flatnonzero(x)) == [place]
    with pytest.raises(Unsupported, match=r"tl\.extra\.hinted\.Handle on nvidia:sm_80"):
        ttir(handled, "nvidia:sm_80")
