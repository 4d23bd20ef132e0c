"""Hints of accesses: those of tri, and what plugins declare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tri_core import mlir
from tri_core.api import AccessModifier, LanguageExtension, Scope
from tri_core.ir import access_hints, markers
from tri_core.ir.access_hints import access_hints as hints_of
from tri_core.ir.access_hints import has_hints, plugin_hints, register_hints
from tri_core.mlir import ir

EXTENSION = LanguageExtension(
    namespace="third",
    module="",
    modifiers={"cache": AccessModifier(values=("near", "far"))},
    scopes={"hot": Scope(ops=("tt.load",))},
)


@pytest.fixture(autouse=True)
def _session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(markers, "_MARKERS", dict(markers._MARKERS))
    monkeypatch.setattr(access_hints, "_OF_PLUGINS", set())
    with mlir.session(), ir.Location.unknown():
        yield


def _op(**attributes: ir.Attribute) -> ir.Operation:
    given = {name.replace("__", "."): value for name, value in attributes.items()}
    return ir.Operation.create("builtin.module", attributes=given, regions=1, ip=False)


def _number(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def test_only_what_was_registered_is_a_hint_of_a_plugin() -> None:
    op = _op(llvm__far=ir.UnitAttr.get(), cache=_number(3))
    assert plugin_hints(op) == {}
    register_hints([LanguageExtension(namespace="llvm", module="", scopes={"far": Scope(ops=("tt.load",))})])
    assert list(plugin_hints(op)) == ["llvm.far"]
    assert hints_of(op) == {"cache": _number(3), "llvm.far": ir.UnitAttr.get()}


def test_a_hint_that_says_nothing_is_none() -> None:
    assert not has_hints(_op())
    assert not has_hints(_op(cache=_number(1), evict=_number(1)))
    assert has_hints(_op(cache=_number(1), evict=_number(2)))
    register_hints([LanguageExtension(namespace="llvm", module="", scopes={"far": Scope(ops=("tt.load",))})])
    assert has_hints(_op(llvm__far=ir.UnitAttr.get()))


def test_hints_of_plugins_are_markers() -> None:
    register_hints([EXTENSION])
    register_hints([EXTENSION])
    assert {"third.cache", "third.hot"} <= set(markers.markers())
    assert markers.markers()["third.cache"].read == ("lowering",)
