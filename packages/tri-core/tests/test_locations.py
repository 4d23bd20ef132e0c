from __future__ import annotations

from pathlib import Path

import pytest

from tri_core import mlir
from tri_core.dialects import tt  # noqa: F401  registers the dialect
from tri_core.locations import refusal, source_location
from tri_core.mlir import ir, session


def test_a_call_site_becomes_a_chain_of_places(tmp_path: Path) -> None:
    source = tmp_path / "kernel.py"
    source.write_text("first\n  second = 1\n")
    with session():
        inner = ir.Location.name("x", ir.Location.file(str(source), 2, 3))
        location = ir.Location.callsite(inner, [ir.Location.file("other.py", 7, 1)])
        found = source_location(location)
    assert found is not None
    assert (found.file, found.line, found.column, found.source_line) == (str(source), 2, 2, "  second = 1")
    assert [(s.file, s.line) for s in found.call_sites] == [("other.py", 7)]


def test_an_unknown_location_is_none() -> None:
    with session():
        assert source_location(ir.Location.unknown()) is None


def test_a_fused_location_is_its_first_known_part() -> None:
    with session():
        parts = [ir.Location.unknown(), ir.Location.file("a.py", 1, 1), ir.Location.file("b.py", 2, 2)]
        found = source_location(ir.Location.fused(parts))
    assert found is not None
    assert found.file == "a.py"


def test_an_error_of_mlir_is_located_with_its_notes() -> None:
    text = '"tt.get_program_id"() {axis = 7 : i32} : () -> i32 loc(callsite("a.py":3:5 at "b.py":9:1))'
    with session():
        with pytest.raises(ir.MLIRError) as caught:
            mlir.parse(text)
        error = refusal(caught.value)
    assert error.message == "'tt.get_program_id' op expects attribute axis from 0 to 2; got 7"
    assert error.location is not None
    assert (error.location.file, error.location.line, error.location.column) == ("a.py", 3, 4)
    assert [site.file for site in error.location.call_sites] == ["b.py"]
