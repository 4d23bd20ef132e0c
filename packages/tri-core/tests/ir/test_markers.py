"""Attributes that passes leave for each other: whoever brings one says so, and a misspelt one is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tri_core import mlir
from tri_core.api import PluginError, VerificationError
from tri_core.dialects.tt import TT
from tri_core.ir import markers
from tri_core.ir.markers import STAGES, marker, verify_markers
from tri_core.mlir import ir

LOOP = """
func.func @f(%n: i32, %x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (i32) : i32 {
    scf.yield %a : i32
  } {ATTRIBUTES}
  return %r : i32
}
"""


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it."""
    monkeypatch.setattr(markers, "_MARKERS", dict(markers._MARKERS))
    mlir.registry.add_dialect(TT)
    with mlir.session() as context:
        context.allow_unregistered_dialects = True
        yield
        context.allow_unregistered_dialects = False


def _loop(attributes: str) -> ir.Module:
    return ir.Module.parse(LOOP.replace("ATTRIBUTES", attributes))


def test_what_is_registered_is_accepted() -> None:
    verify_markers(_loop(f'{STAGES} = 3 : i32, llvm.loop_annotation = "any"'))


@pytest.mark.parametrize(
    ("name", "near"), [("tt.num_stage", "tt.num_stages"), ("third.party", None), ("tt.asket", "tt.asked")]
)
def test_an_unknown_one_is_refused(name: str, near: str | None) -> None:
    with pytest.raises(VerificationError, match=rf"scf\.for has the attribute {name}") as caught:
        verify_markers(_loop(f"{name} = 3 : i32"))
    assert f"marker('{name}', ...)" in caught.value.remedy
    assert (near is None) or f"did you mean {near}?" in caught.value.remedy
    assert caught.value.location is not None


def test_a_third_party_registers_its_own() -> None:
    module = _loop("third.party = 3 : i32")
    marker("third.party", "loops that a third party knows", written=("its-pass",), read=("another",))
    verify_markers(module)
    assert markers.markers()["third.party"].read == ("another",)


def test_a_name_stands_for_one_thing() -> None:
    marker("third.party", "loops", written=("its-pass",), read=())
    marker("third.party", "loops", written=("its-pass",), read=())
    with pytest.raises(PluginError, match=r"third\.party is registered already: on loops") as caught:
        marker("third.party", "stores", written=("its-pass",), read=())
    assert "your own dialect" in caught.value.remedy


@pytest.mark.parametrize(("name", "written"), [("party", ("its-pass",)), ("third.party", ())])
def test_a_marker_has_a_dialect_and_a_writer(name: str, written: tuple[str, ...]) -> None:
    with pytest.raises(PluginError, match="the marker"):
        marker(name, "loops", written=written, read=())
