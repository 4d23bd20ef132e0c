"""Every op of ``tt`` in Triton's syntax: printed, parsed, printed again; and what the parser refuses, and where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tri_core import mlir, text
from tri_core.dialects import tt
from tri_core.errors import VerificationError
from tri_core.mlir import ir

HERE = Path(__file__).parent
SAMPLES = (HERE.parent / "dialects" / "tt_samples.mlir").read_text().split("// -----\n")


def generic(module: ir.Module) -> str:
    """All that the module says; no attributes of arguments and empty ones are the same."""
    return re.sub(r"arg_attrs = \[(?:\{\}(?:, )?)*\], ", "", printed_generic(module))


def printed_generic(module: ir.Module) -> str:
    return str(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("locations", [True, False])
def test_round_trip(sample: str, locations: bool) -> None:
    with mlir.session():
        module = mlir.parse(sample)
        printed = text.print_module(module, locations=locations)
        read = text.parse_module(printed)
        assert generic(read) == generic(module)
        assert text.print_module(read, locations=locations) == printed


@pytest.mark.parametrize("sample", SAMPLES)
def test_only_regions_stay_generic(sample: str) -> None:
    """Triton's formats say everything that the samples hold."""
    with mlir.session():
        printed = text.print_module(mlir.parse(sample), locations=False)
    assert {line.split('"')[1] for line in printed.splitlines() if '"tt.' in line.split("(")[0]} <= {
        "tt.reduce",
        "tt.scan",
        "tt.map_elementwise",
    }


def test_every_op_has_a_format() -> None:
    table = text.syntaxes()["tt"]
    shown = {table.names.get(op.OPERATION_NAME, op.OPERATION_NAME) for op in tt.TT.operations}
    assert set(table.ops) | set(table.elsewhere) == shown - {"tt.func"}


def test_a_barrier_is_that_of_another_dialect_before_layouts_are_given() -> None:
    sample = "module {\n  tt.func public @k() {\n    ttg.barrier all\n    tt.return\n  }\n}\n"
    with mlir.session():
        module = text.parse_module(sample)
        assert '"tt.barrier"()' in generic(module)
        assert text.print_module(module, locations=False) == sample
        with pytest.raises(VerificationError, match="`all` is expected, found 'local'"):
            text.parse_module(sample.replace("all", "local"))


ADD = """\
#loc = loc("k.py":1:1)
#loc2 = loc("p"(#loc))
#loc3 = loc("n"(#loc))
module {
  tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("p"(#loc)), %n: i32 loc("n"(#loc))) attributes {noinline = false} {
    %x = tt.load %p : !tt.ptr<f32> loc(#loc4)
    %y = arith.addf %x, %x : f32 loc(#loc1)
    tt.store %p, %y : !tt.ptr<f32> loc(#loc1)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("k.py":2:1)
#loc4 = loc("x"(#loc1))
"""


def test_names_and_locations_are_kept() -> None:
    with mlir.session():
        module = text.parse_module(ADD)
        load = next(iter(module.body.operations[0].regions[0].blocks[0].operations))
        assert str(load.location) == 'loc("x"("k.py":2:1))'
        assert text.print_module(module) == ADD.replace("%y", "%0")  # an unnamed value


@pytest.mark.parametrize(
    ("old", "new", "message", "line", "column"),
    [
        ("tt.load %p", "tt.lod %p", "the tt dialect has no op tt.lod", 6, 9),
        ("tt.load %p :", "tt.load %p, :", r"a value such as %0 is expected, found ': !tt.ptr", 6, 21),
        ("tt.load %p : !tt.ptr<f32>", "tt.load %p : f32", "a pointer is expected, found f32", 6, 9),
        ("tt.store %p, %y :", "tt.store %p %y :", r"`,` is expected, found '%y", 8, 16),
        ("arith.addf %x, %x", "arith.addf %x, %q", "use of undeclared SSA value name", 7, 24),
        ("tt.load %p :", "tt.load %p, %n :", "expects different type", 6, 21),
        ("public @k(", "public k(", "a symbol such as @name is expected", 5, 17),
        ("} loc(#loc)\n}", "loc(#loc)\n", "`}` is expected, found the end of the text", 0, 0),
    ],
)
def test_refusals(old: str, new: str, message: str, line: int, column: int) -> None:
    assert old in ADD
    with mlir.session(), pytest.raises(VerificationError, match=message) as caught:
        text.parse_module(ADD.replace(old, new), "k.ttir")
    where = caught.value.location
    assert where is not None
    assert where.file == "k.ttir"
    if line:
        assert (where.line, where.column) == (line, column)


@pytest.mark.parametrize(
    "body",
    [
        "module {\n  tt.func private @f() {\n    tt.return\n  }\n}",
        "module {\n  // tt.what\n  tt.func private @f() { // }\n    tt.return // {\n  }\n}",
        'module attributes {tt.a, tt.b = 1 : i32, tt.c = "tt.load {"} {\n  tt.func @f(%x: i1)\n  -> i1\n  {\n    tt.return %x\n : i1 }\n}',
    ],
)
def test_shapes_of_text(body: str) -> None:
    with mlir.session():
        printed = text.print_module(text.parse_module(body), locations=False)
        assert "tt.return" in printed
        assert '"tt.return"' not in printed
        assert text.print_module(text.parse_module(printed), locations=False) == printed
