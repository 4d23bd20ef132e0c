"""Calls expanded, with locations that tell where from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core import mlir
from tri_core.errors import CompilationError, Unsupported, VerificationError
from tri_core.locations import source_location
from tri_core.passes import Inline
from tri_core.pipeline import StageContext
from tri_core.testing import filecheck


def private(name: str, arguments: str, results: str, body: str) -> str:
    types = ", ".join(a.split(":")[1].strip() for a in arguments.split(",") if a)
    return (
        f'"tt.func"() ({{\n^bb0({arguments}):\n{body}\n}}) '
        f'{{function_type = ({types}) -> ({results}), sym_name = "{name}", sym_visibility = "private"}} : () -> ()\n'
    )


CALL = '%r:2 = "tt.call"(%a, %b) {callee = @swap} : (i32, f32) -> (f32, i32)'
SWAP = private(
    "swap",
    "%x: i32, %y: f32",
    "f32, i32",
    '%z = arith.addi %x, %x : i32\n"tt.return"(%y, %z) : (f32, i32) -> ()',
)
USE = '"tt.print"(%r#0, %r#1) {prefix = "", hex = false, isSigned = array<i32: 1, 1>} : (f32, i32) -> ()'


def test_a_call_is_expanded(function: Callable[..., str], after: Callable[..., str]) -> None:
    filecheck(
        after(Inline(), SWAP + function("%a: i32, %b: f32", f"{CALL}\n{USE}")),
        r"""CHECK-LABEL: sym_name = "swap"
           CHECK: ^bb0(%[[A:\w+]]: i32, %[[B:\w+]]: f32):
           CHECK-NEXT: %[[Z:.*]] = "arith.addi"(%[[A]], %[[A]])
           CHECK-NEXT: "tt.print"(%[[B]], %[[Z]])
           CHECK-NEXT: "tt.return"() : () -> ()""",
    )


def test_calls_in_calls_and_in_regions(function: Callable[..., str], after: Callable[..., str]) -> None:
    inner = private("inner", "%x: i32", "i32", '%z = arith.muli %x, %x : i32\n"tt.return"(%z) : (i32) -> ()')
    outer = private(
        "outer",
        "%x: i32",
        "i32",
        """%a = "tt.call"(%x) {callee = @inner} : (i32) -> i32
           %b = "tt.call"(%a) {callee = @inner} : (i32) -> i32
           "tt.return"(%b) : (i32) -> ()""",
    )
    body = """%t = arith.constant true
              %r = scf.if %t -> (i32) {
                %c = "tt.call"(%a) {callee = @outer} : (i32) -> i32
                scf.yield %c : i32
              } else {
                scf.yield %a : i32
              }
              "tt.print"(%r) {prefix = "", hex = false, isSigned = array<i32: 1>} : (i32) -> ()"""
    text = after(Inline(), function("%a: i32", body) + outer + inner)
    filecheck(
        text,
        r"""CHECK: ^bb0(%[[N:\w+]]: i32):
           CHECK: "scf.if"
           CHECK-NEXT: %[[A:.*]] = "arith.muli"(%[[N]], %[[N]])
           CHECK-NEXT: %[[B:.*]] = "arith.muli"(%[[A]], %[[A]])
           CHECK-NEXT: "scf.yield"(%[[B]])
           CHECK-NOT: tt.call""",
    )


def test_a_function_with_regions_is_copied_whole(
    function: Callable[..., str], after: Callable[..., str]
) -> None:
    loop = private(
        "loop",
        "%n: i32",
        "i32",
        """%c0 = arith.constant 0 : i32
           %c1 = arith.constant 1 : i32
           %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (i32) : i32 {
             %t = arith.addi %s, %n : i32
             scf.yield %t : i32
           }
           "tt.return"(%r) : (i32) -> ()""",
    )
    body = """%p = "tt.call"(%a) {callee = @loop} : (i32) -> i32
              %q = "tt.call"(%p) {callee = @loop} : (i32) -> i32
              "tt.print"(%q) {prefix = "", hex = false, isSigned = array<i32: 1>} : (i32) -> ()"""
    filecheck(
        after(Inline(), function("%a: i32", body) + loop),
        r"""CHECK: ^bb0(%[[N:\w+]]: i32):
           CHECK: %[[P:.*]] = "scf.for"({{.*}}, %[[N]], {{.*}}, {{.*}}) ({
           CHECK: "arith.addi"(%{{.*}}, %[[N]])
           CHECK: "scf.for"({{.*}}, %[[P]], {{.*}}, {{.*}}) ({
           CHECK: "arith.addi"(%{{.*}}, %[[P]])
           CHECK: sym_name = {{"k"}}""",
    )


def test_locations_name_the_call(function: Callable[..., str], context: StageContext) -> None:
    body = CALL + ' loc("k.py":7:3)\n' + USE
    swap = SWAP.replace("%x, %x : i32", '%x, %x : i32 loc("library.py":2:5)')
    with mlir.session():
        module = mlir.parse(swap + function("%a: i32, %b: f32", body))
        Inline().apply(module, context)
        kernel = module.body.operations[1]
        place = source_location(kernel.regions[0].blocks[0].operations[0].location)
    assert place is not None
    assert (place.file, place.line) == ("library.py", 2)
    assert [(site.file, site.line) for site in place.call_sites] == [("k.py", 7)]


def test_recursion_is_reported_with_its_place(function: Callable[..., str], context: StageContext) -> None:
    f = private(
        "f",
        "%x: i32",
        "i32",
        '%y = "tt.call"(%x) {callee = @g} : (i32) -> i32\n"tt.return"(%y) : (i32) -> ()',
    )
    g = private(
        "g",
        "%x: i32",
        "i32",
        '%y = "tt.call"(%x) {callee = @f} : (i32) -> i32 loc("g.py":4:2)\n"tt.return"(%y) : (i32) -> ()',
    )
    text = function("%a: i32", '%y = "tt.call"(%a) {callee = @f} : (i32) -> i32') + f + g
    with mlir.session(), pytest.raises(CompilationError, match=r"f calls itself \(f -> g -> f\)") as caught:
        Inline().apply(mlir.parse(text), context)
    assert caught.value.location is not None
    assert caught.value.location.line == 4
    assert caught.value.remedy == "write a loop"


def test_an_unknown_callee(function: Callable[..., str], context: StageContext) -> None:
    text = function("", '"tt.call"() {callee = @gone} : () -> () loc("k.py":3:1)')
    gone = private("gone", "", "", '"tt.return"() : () -> ()')
    with mlir.session():
        module = mlir.parse(text + "\n" + gone)
        module.body.operations[1].operation.erase()
        with pytest.raises(VerificationError, match="'gone', which the module does not define") as caught:
            Inline().apply(module, context)
    assert "k.py:3" in str(caught.value)


def test_several_blocks_are_refused(function: Callable[..., str], context: StageContext) -> None:
    f = private("f", "%x: i32", "i32", 'cf.br ^bb1(%x : i32)\n^bb1(%y: i32):\n"tt.return"(%y) : (i32) -> ()')
    with mlir.session():
        module = mlir.parse(function("%a: i32", '%y = "tt.call"(%a) {callee = @f} : (i32) -> i32') + f)
        with pytest.raises(Unsupported, match="2 blocks"):
            Inline().apply(module, context)
