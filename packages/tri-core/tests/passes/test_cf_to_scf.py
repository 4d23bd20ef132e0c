"""Branches between blocks, as other frontends write early returns, become structured."""

from __future__ import annotations

import pytest

from tri_core import mlir
from tri_core.errors import Unsupported
from tri_core.passes import CfToScf, Inline
from tri_core.pipeline import StageContext
from tri_core.testing import check_passes
from tri_core.text import parse_module, print_module

EARLY = """
// RUN: cf-to-scf
module {
  tt.func private @pick(%a: f32, %b: f32, %flag: i1) -> f32 attributes {noinline = false} {
    cf.cond_br %flag, ^bb1, ^bb2
  ^bb1:
    tt.return %a : f32
  ^bb2:
    tt.return %b : f32
  ^bb3:
    %0 = ub.poison : f32
    tt.return %0 : f32
  }
}
// CHECK-LABEL: tt.func private @pick
// CHECK-SAME: %[[A:.*]]: f32, %[[B:.*]]: f32, %[[F:.*]]: i1
// CHECK: %[[R:.*]] = scf.if %[[F]] -> (f32)
// CHECK: scf.yield %[[A]]
// CHECK: scf.yield %[[B]]
// CHECK-NOT: cf.
// CHECK: tt.return %[[R]] : f32
// CHECK-NOT: ub.poison
"""

LOOP = """
// RUN: cf-to-scf
module {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) attributes {noinline = false} {
    %one = arith.constant 1 : i32
    cf.br ^bb1(%n : i32)
  ^bb1(%i: i32):
    %more = arith.cmpi sgt, %i, %one : i32
    cf.cond_br %more, ^bb2, ^bb3
  ^bb2:
    %next = arith.subi %i, %one : i32
    cf.br ^bb1(%next : i32)
  ^bb3:
    tt.store %p, %i : !tt.ptr<i32>
    tt.return
  }
}
// CHECK-LABEL: tt.func public @k
// CHECK: scf.while
// CHECK: arith.subi
// CHECK: tt.store
// CHECK-NOT: cf.
"""

UNREACHABLE = """
// RUN: cf-to-scf
module {
  tt.func private @one(%x: i32) -> i32 attributes {noinline = false} {
    tt.return %x : i32
  ^bb1:
    %c = arith.constant 1 : i32
    tt.return %c : i32
  }
}
// CHECK-LABEL: tt.func private @one
// CHECK-NEXT: tt.return %x : i32
// CHECK-NOT: tt.return
"""


@pytest.mark.parametrize("text", [EARLY, LOOP, UNREACHABLE], ids=["early return", "loop", "behind a return"])
def test_branches(text: str) -> None:
    check_passes(text)


def test_structured_functions_are_left_alone(context: StageContext) -> None:
    text = EARLY.replace("cf.cond_br %flag, ^bb1, ^bb2\n  ^bb1:\n", "").partition("^bb2")[0] + "}\n}"
    with mlir.session():
        module = parse_module(text, "k.ttir")
        before = print_module(module)
        CfToScf().apply(module, context)
        assert print_module(module) == before


def test_inlining_asks_for_it(context: StageContext) -> None:
    caller = """tt.func public @k(%p: !tt.ptr<f32>, %x: f32, %c: i1) attributes {noinline = false} {
    %y = tt.call @pick(%x, %x, %c) : (f32, f32, i1) -> f32
    tt.store %p, %y : !tt.ptr<f32>
    tt.return
  }
"""
    text = EARLY.replace("module {\n", "module {\n  " + caller, 1)
    with mlir.session():
        module = parse_module(text, "k.ttir")
        with pytest.raises(Unsupported, match="has 4 blocks") as error:
            Inline().apply(module, context)
        assert "cf-to-scf" in str(error.value)
        module = parse_module(text, "k.ttir")
        CfToScf().apply(module, context)
        Inline().apply(module, context)
        assert "tt.call" not in print_module(module)
