from __future__ import annotations

import re

import numpy as np

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.testing import TensorSpec, kernel, run

ADD = """^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
  %s = arith.addf %a, %c : f32
  %t = arith.addf %b, %d : f32
  "tt.reduce_return"(%s, %t) : (f32, f32) -> ()"""


def order_of(size: int, between: str = "") -> str:
    """The loads (L) and additions (a) of one thread's sums of two vectors of ``size`` elements, in order; the sums are checked."""
    spec, out = (TensorSpec("f32", (n,), Blocked((n,), (1,), (1,), (0,))) for n in (size, 1))
    body = f"""{between}
    %r, %q = "tt.reduce"(%in0, %in1) ({{ {ADD} }}) {{axis = 0 : i32}} : ({spec.type}, {spec.type}) -> (f32, f32)
    %out0 = "tt.splat"(%r) : (f32) -> {out.type}
    %out1 = "tt.splat"(%q) : (f32) -> {out.type}"""
    x, y = (np.arange(size, dtype=np.float32) + i for i in range(2))
    sums = [np.zeros(1, np.float32) for _ in range(2)]
    text = str(run(kernel([spec, spec], [out, out], body, warps=1, lanes=1), [x, y, *sums]))
    assert [s[0] for s in sums] == [x.sum(), y.sum()]
    return "".join("L" if name == "load" else "a" for name in re.findall(r"llvm\.(load|fadd)\b", text))


def test_loads_of_more_than_a_thread_holds_stand_where_the_tree_takes_them() -> None:
    order = order_of(256)
    assert order.count("a") == 2 * 255
    assert "L" in order[order.index("a") :]
    waiting = [order[: i + 1].count("L") * 4 - order[: i + 1].count("a") for i in range(len(order))]
    assert max(waiting) <= 32  # elements that are loaded and not yet added


def test_few_loads_stay_in_front() -> None:
    assert re.fullmatch("L+a+", order_of(64))


def test_loads_stay_in_front_of_what_waits_or_exchanges() -> None:
    given = TensorSpec("f32", (256,), Blocked((256,), (1,), (1,), (0,))).type
    other = TensorSpec("f32", (256,), Blocked((1,), (1,), (1,), (0,))).type
    assert re.fullmatch("L+a+", order_of(256, f'%moved = "ttg.convert_layout"(%in0) : ({given}) -> {other}'))
    assert re.fullmatch("L+a+", order_of(256, '"ttg.barrier"() {addrSpace = 1 : i32} : () -> ()'))


def test_what_is_made_of_loads_moves_with_them() -> None:
    spec, given = (TensorSpec(e, (512,), Blocked((512,), (1,), (1,), (0,))) for e in ("f32", "f16"))
    out = TensorSpec("f32", (1,), Blocked((1,), (1,), (1,), (0,)))
    body = f"""%x = arith.extf %in0 : {given.type} to {spec.type}
    %r, %q = "tt.reduce"(%x, %x) ({{ {ADD} }}) {{axis = 0 : i32}} : ({spec.type}, {spec.type}) -> (f32, f32)
    %out0 = "tt.splat"(%q) : (f32) -> {out.type}"""
    x, total = (np.arange(512) % 7).astype(np.float16), np.zeros(1, np.float32)
    text = str(run(kernel([given], [out], body, warps=1, lanes=1), [x, total]))
    assert total[0] == x.astype(np.float32).sum()
    assert text.index("llvm.fadd") < text.rindex("llvm.fpext")
