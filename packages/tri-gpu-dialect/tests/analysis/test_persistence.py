"""Loops over tiles that kernels are written with, and loops that only look like them."""

from __future__ import annotations

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.ir.walking import collect
from tri_gpu_dialect.analysis.persistence import is_in_loop_over_tiles

_HERE = "scf.for %k = %zero to %n step %one : i32 {\n}\n"
#: loops around one over k -> whether they go through tiles
CASES = {
    "none": (_HERE, False),
    "by the number of programs": (f"scf.for %t = %x to %n step %programs : i32 {{\n{_HERE}}}\n", True),
    "by a constant": (f"scf.for %t = %x to %n step %many : i32 {{\n{_HERE}}}\n", True),
    "from a remapped program": (
        f"%m = arith.remsi %x, %many : i32\nscf.for %t = %m to %n step %programs : i32 {{\n{_HERE}}}\n", True
    ),
    "inside a branch": (
        f"scf.for %t = %x to %n step %programs : i32 {{\nscf.if %c {{\n{_HERE}}}\n}}\n", True
    ),
    "a while loop": (
        f"""%last = scf.while (%t = %x) : (i32) -> i32 {{
      %more = arith.cmpi slt, %t, %n : i32
      scf.condition(%more) %t : i32
    }} do {{
    ^bb0(%t: i32):
      {_HERE}
      %next = arith.addi %t, %programs : i32
      scf.yield %next : i32
    }}
""",
        True,
    ),
    "from zero": (f"scf.for %t = %zero to %n step %programs : i32 {{\n{_HERE}}}\n", False),
    "one by one": (f"scf.for %t = %x to %n step %one : i32 {{\n{_HERE}}}\n", False),
    "a program's own rows": (
        f"""%first = arith.muli %x, %many : i32
    %end = arith.addi %first, %many : i32
    scf.for %t = %first to %end step %block : i32 {{\n{_HERE}}}
""",
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_loops_over_tiles(case: str) -> None:
    body, expected = CASES[case]
    module = text.parse_module(f"""
module {{
  tt.func public @f(%n: i32, %c: i1) {{
    %x = tt.get_program_id x : i32
    %programs = tt.get_num_programs x : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %many = arith.constant 132 : i32
    %block = arith.constant 64 : i32
    {body}
    tt.return
  }}
}}
""")
    loops = [op for op in collect(module.operation) if op.name == "scf.for"]
    (inner,) = [op for op in loops if not any(each.name == "scf.for" for each in collect(op) if each != op)]
    assert is_in_loop_over_tiles(inner) is expected
