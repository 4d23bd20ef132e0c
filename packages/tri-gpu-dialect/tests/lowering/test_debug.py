from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.lowering import Builder, generic_table, lower
from tri_gpu_dialect.testing import ReferencePrimitives, TensorSpec, kernel, make_target, run

SPEC = TensorSpec("f16", (256,), Blocked((2,), (32,), (4,), (0,)))


class Printer(ReferencePrimitives):
    """Remembers what it is asked to print."""

    lines: list[tuple[str, list[str], list[bool], bool]]

    def print(
        self, b: Builder, prefix: str, args: Sequence[ir.Value], signed: Sequence[bool], hex_: bool
    ) -> None:
        self.lines.append((prefix, [str(a.type) for a in args], list(signed), hex_))


def printed(body: str) -> list[tuple[str, list[str], list[bool], bool]]:
    target = make_target(dtypes=())  # f16 is emulated, and printed as f32
    words = Printer(target, CommonOptions(), threads_per_warp=32, num_warps=4)
    words.lines = []
    lower(kernel([SPEC], [SPEC], body, warps=4, lanes=32), target, CommonOptions(), words, generic_table())
    return words.lines


def test_every_element_is_printed_with_its_place() -> None:
    body = f"""%out0 = arith.addf %in0, %in0 : {SPEC.type}
      "tt.print"(%in0) {{prefix = " x: ", hex = false, isSigned = array<i32: 1>}} : ({SPEC.type}) -> ()"""
    lines = printed(body)
    assert len(lines) == 2  # registers of a thread
    assert lines[0] == ("pid ({}, {}, {}) idx ({:3}) x: {}", ["i32"] * 4 + ["f32"], [True] * 5, False)


def test_a_text_alone_is_printed_by_one_thread() -> None:
    body = f"""%out0 = arith.addf %in0, %in0 : {SPEC.type}
      "tt.print"() {{prefix = " here", hex = true, isSigned = array<i32>}} : () -> ()"""
    assert printed(body) == [("pid ({}, {}, {}) here", ["i32"] * 3, [True] * 3, False)]


def test_several_operands_are_numbered() -> None:
    body = f"""%out0 = arith.addf %in0, %in0 : {SPEC.type}
      "tt.print"(%in0, %out0) {{prefix = " x: ", hex = true, isSigned = array<i32: 1, 1>}} : ({SPEC.type}, {SPEC.type}) -> ()"""
    texts = [line[0] for line in printed(body)]
    assert (
        texts
        == ["pid ({}, {}, {}) idx ({:3}) x: (operand 0) {}"] * 2
        + ["pid ({}, {}, {}) idx ({:3}) x: (operand 1) {}"] * 2
    )


def test_a_target_that_cannot_print_says_so() -> None:
    body = f"""%out0 = arith.addf %in0, %in0 : {SPEC.type}
      "tt.print"(%in0) {{prefix = "x", hex = false, isSigned = array<i32: 1>}} : ({SPEC.type}) -> ()"""
    x = np.ones(256, np.float16)
    with pytest.raises(Unsupported, match="cannot print"):
        run(kernel([SPEC], [SPEC], body, warps=4, lanes=32), [x, x.copy()])
