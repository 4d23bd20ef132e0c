"""Barriers between accesses of global memory: which pairs need one, where it stands, and what no barrier is spent on."""

from __future__ import annotations

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.api import StageContext
from tri_core.ir.walking import collect
from tri_core.mlir import ir
from tri_gpu_dialect.passes import InsertBarriers

#: one element of each thread, the same backwards over the threads of a warp, and copies in half of the threads
_HEADER = """
#own = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

#wide = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

"""
_TYPES = {"own": "tensor<128x{}, #own>", "wide": "tensor<128x{}, #wide>"}


def pointers(name: str, layout: str, offset: str = "%r", base: str = "%p") -> str:
    """``%name``: 128 pointers from ``base`` in ``layout``."""
    tensor, offsets = (_TYPES[layout].format(kind) for kind in ("!tt.ptr<f32>", "i32"))
    return f"""
    %{name}_s = tt.splat {base} : !tt.ptr<f32> -> {tensor}
    %{name} = tt.addptr %{name}_s, {offset}_{layout} : {tensor}, {offsets}
"""


def load(name: str, layout: str) -> str:
    return f"%{name}_v = tt.load %{name} : {_TYPES[layout].format('!tt.ptr<f32>')}\n"


def store(name: str, layout: str) -> str:
    return f"tt.store %{name}, %v_{layout} : {_TYPES[layout].format('!tt.ptr<f32>')}\n"


def shifted(layout: str, by: str) -> str:
    """Offsets ``%s``: those of ``%r``, and ``by`` more."""
    tensor = _TYPES[layout].format("i32")
    return f"%b_{layout} = tt.splat {by} : i32 -> {tensor}\n%s_{layout} = arith.addi %r_{layout}, %b_{layout} : {tensor}\n"


def loop(*body: str, step: str = "%one") -> str:
    return f"scf.for %i = %zero to %n step {step} : i32 {{\n{''.join(body)}}}\n"


def branch(*body: str) -> str:
    return f"scf.if %c {{\n{''.join(body)}}}\n"


SHARED_BARRIER = "ttg.barrier local\n"
SCALAR_STORE, SCALAR_LOAD = "tt.store %p, %f : !tt.ptr<f32>\n", "%g = tt.load %p : !tt.ptr<f32>\n"


def word(offset: str, access: str = "", name: str = "w") -> str:
    """The word at ``%p + offset``, loaded unless ``access`` says what else is done."""
    access = access or f"%{name}_v = tt.load %{name}"
    return f"%{name} = tt.addptr %p, {offset} : !tt.ptr<f32>, i32\n{access} : !tt.ptr<f32>\n"


def after(body: str, context: StageContext, only: tuple[str, ...] = ()) -> str:
    """Loads, stores, atomics and barriers of global memory, in order of the text after the pass; barriers in ops called ``only``, if any."""
    values = "".join(
        f"%r_{layout} = tt.make_range {{start = 0 : i32, end = 128 : i32}} : {type_.format('i32')}\n"
        f"%v_{layout} = arith.constant dense<1.0> : {type_.format('f32')}\n"
        for layout, type_ in _TYPES.items()
    )
    module = text.parse_module(f"""{_HEADER}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %t: !tt.ptr<!tt.ptr<f32>>, %n: i32, %c: i1) {{
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %tile = arith.constant 128 : i32
    %tile64 = arith.constant 128 : i64
    %f = arith.constant 1.0 : f32
{values}{body}
    tt.return
  }}
}}
""")
    InsertBarriers().apply(module, context)
    assert module.operation.verify()
    found = []
    for op in collect(module.operation):
        if op.name == "ttg.barrier" and (not only or op.parent.name in only):
            spaces = ir.IntegerAttr(op.attributes["addrSpace"]).value
            found.append({1: "shared", 2: "barrier", 3: "both"}[spaces])
        elif op.name in ("tt.load", "tt.store", "tt.atomic_rmw"):
            found.append(op.name.removeprefix("tt."))
    return " ".join(found)


P_OWN, P_WIDE = pointers("a", "own"), pointers("b", "wide")
#: what a thread does to what it loaded, and stores; with what other threads loaded; what it counts with; a scalar
OWN_ROW = (
    load("b", "wide")
    + f"%m = arith.addf %b_v, %v_wide : {_TYPES['wide'].format('f32')}\n"
    + store("b", "wide").replace("%v_wide", "%m")
)
ALL_NEED_IT = (
    load("b", "wide")
    + '%sum = "tt.reduce"(%b_v) <{axis = 0 : i32}> ({\n^bb0(%x: f32, %y: f32):\n%z = arith.addf %x, %y : f32\ntt.reduce.return %z : f32\n}) : (tensor<128xf32, #wide>) -> f32\n'
    + "tt.store %q, %sum : !tt.ptr<f32>\n"
    + store("b", "wide").replace("%v_wide", "%b_v")
)
TO_OTHERS = (
    load("b", "wide")
    + "%x = ttg.convert_layout %b_v : tensor<128xf32, #wide> -> tensor<128xf32, #own>\n"
    + store("a", "own").replace("%v_own", "%x")
)
SCALAR_SUM = SCALAR_LOAD + "%h = arith.addf %g, %f : f32\ntt.store %p, %h : !tt.ptr<f32>\n"
ADD = "%{0} = tt.atomic_rmw fadd, acq_rel, gpu, %{1}, %v_{2} : ({3}, {4}) -> {4}\n"


def add(result: str, pointer: str, layout: str) -> str:
    kinds = [_TYPES[layout].format(kind) for kind in ("!tt.ptr<f32>", "f32")]
    return ADD.format(result, pointer, layout, *kinds)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # another layout: other threads
        (P_OWN + P_WIDE + store("a", "own") + load("b", "wide"), "store barrier load"),
        (P_OWN + P_WIDE + load("b", "wide") + store("a", "own"), "load barrier store"),
        (P_OWN + P_WIDE + store("a", "own") + store("b", "wide"), "store barrier store"),
        (P_OWN + P_WIDE + load("a", "own") + load("b", "wide"), "load load"),
        # the same pointers in the same layout: the same threads, also if they are computed twice
        (P_OWN + store("a", "own") + load("a", "own"), "store load"),
        (P_OWN + pointers("b", "own") + store("a", "own") + load("b", "own"), "store load"),
        # elements of several threads: the first of them stores, all load
        (P_WIDE + store("b", "wide") + load("b", "wide"), "store barrier load"),
        (P_WIDE + load("b", "wide") + store("b", "wide"), "load barrier store"),
        (P_WIDE + store("b", "wide") + store("b", "wide"), "store store"),
        (SCALAR_STORE + SCALAR_LOAD, "store barrier load"),
        (SCALAR_STORE + SCALAR_STORE, "store store"),
        # of which the first loads, where nobody else needs it
        (P_WIDE + OWN_ROW, "load store"),
        (P_WIDE + loop(OWN_ROW), "load store"),
        (P_WIDE + OWN_ROW.replace("tt.load %b", "tt.load %b {isVolatile = true}"), "load barrier store"),
        (P_WIDE + ALL_NEED_IT, "load store barrier store"),
        (P_OWN + P_WIDE + TO_OTHERS, "load barrier store"),
        (SCALAR_SUM, "load store"),
        (SCALAR_SUM + branch(P_WIDE + "%gs = tt.splat %g : f32 -> tensor<128xf32, #wide>\n" + store("b", "wide").replace("%v_wide", "%gs")), "load barrier store barrier store"),
        # the word beside it, and one that may be any
        (SCALAR_STORE + word("%one"), "store load"),
        (SCALAR_STORE + word("%n"), "store barrier load"),
        (SCALAR_STORE + word("%zero"), "store barrier load"),
        (SCALAR_STORE + P_WIDE + load("b", "wide"), "store barrier load"),
        (loop(word("%i", "tt.store %w, %f")) + SCALAR_LOAD, "barrier store barrier load"),
        # threads may have read other numbers
        ("%h = tt.load %q : !tt.ptr<f32>\n%k = arith.fptosi %h : f32 to i32\n" + word("%k", "tt.store %w, %f") + "%k1 = arith.addi %k, %one : i32\n" + word("%k1", name="x"), "load store barrier load"),
        (word("%n", "tt.store %w, %f") + "%k1 = arith.addi %n, %one : i32\n" + word("%k1", name="x"), "store load"),
        # other addresses of the same array: any thread
        (P_OWN + shifted("own", "%n") + pointers("b", "own", "%s") + store("a", "own") + load("b", "own"), "store barrier load"),
        (P_OWN + shifted("own", "%one") + pointers("b", "own", "%s") + store("a", "own") + load("b", "own"), "store barrier load"),
        # the next tile
        (P_OWN + shifted("own", "%tile") + pointers("b", "own", "%s") + store("a", "own") + load("b", "own"), "store load"),
        # another array
        (P_OWN + pointers("b", "wide", base="%q") + store("a", "own") + load("b", "wide"), "store load"),
        # one of several, or any
        (P_OWN + "%w = arith.select %c, %p, %q : !tt.ptr<f32>\n" + pointers("b", "wide", base="%w") + store("a", "own") + load("b", "wide"), "store barrier load"),
        (P_OWN + "%w = tt.load %t : !tt.ptr<!tt.ptr<f32>>\n" + pointers("b", "wide", base="%w") + store("a", "own") + load("b", "wide"), "load store barrier load"),
        # atomics: with stores and loads, among themselves where their order makes a difference
        (P_OWN + P_WIDE + store("a", "own") + add("o", "b", "wide"), "store barrier atomic_rmw"),
        (P_OWN + P_WIDE + add("o", "a", "own") + add("o2", "b", "wide"), "atomic_rmw atomic_rmw"),
        (P_OWN + P_WIDE + add("o", "a", "own") + load("b", "wide"), "atomic_rmw barrier load"),
        # a barrier that is there
        (P_OWN + P_WIDE + store("a", "own") + SHARED_BARRIER + load("b", "wide"), "store both load"),
        # on one way only
        (P_OWN + P_WIDE + store("a", "own") + branch(SHARED_BARRIER) + load("b", "wide"), "store shared barrier load"),
        (P_OWN + P_WIDE + branch(store("a", "own")) + load("b", "wide"), "store barrier load"),
        (P_OWN + P_WIDE + store("a", "own") + branch(load("b", "wide")), "store barrier load"),
        # the next iteration
        (P_OWN + P_WIDE + loop(load("b", "wide"), store("a", "own")), "barrier load barrier store"),
        (P_OWN + loop(load("a", "own"), store("a", "own")), "load store"),
        (P_OWN + P_WIDE + loop(store("a", "own")) + load("b", "wide"), "store barrier load"),
        (loop(shifted("own", "%i"), pointers("b", "own", "%s"), load("b", "own"), store("b", "own")), "barrier load store"),
        (loop(shifted("own", "%i"), pointers("b", "own", "%s"), store("b", "own")), "barrier store"),
        # tile by tile
        (loop(shifted("own", "%i"), pointers("b", "own", "%s"), load("b", "own"), store("b", "own"), step="%tile"), "load store"),
        (loop("%j = arith.muli %i, %tile : i32\n", shifted("own", "%j"), pointers("b", "own", "%s"), load("b", "own"), store("b", "own")), "load store"),
        # numbered in 64 bits, offsets in 32
        (loop("%l = arith.extsi %i : i32 to i64\n%m = arith.muli %l, %tile64 : i64\n%j = arith.trunci %m : i64 to i32\n", shifted("own", "%j"), pointers("b", "own", "%s"), store("b", "own")), "store"),
        (loop("%l = arith.extsi %i : i32 to i64\n%j = arith.trunci %l : i64 to i32\n", shifted("own", "%j"), pointers("b", "own", "%s"), store("b", "own")), "barrier store"),
    ],
)  # fmt: skip
def test_barriers(body: str, expected: str, context: StageContext) -> None:

    assert after(body, context) == expected


#: a word that other programs change, and what a thread that has seen it does
WAIT = "scf.while : () -> () {{\n%w = tt.load %p {{isVolatile = true}} : !tt.ptr<f32>\n%e = arith.cmpf oeq, %w, %f : f32\nscf.condition(%e)\n}} do {{\n{0}scf.yield\n}}\n"
SEEN = "%d = arith.cmpf oeq, %g, %f : f32\nscf.if %d {\n" + P_WIDE + load("b", "wide") + "}\n"
SEEN_WORD = "%d = arith.cmpf oeq, %g, %f : f32\nscf.if %d {\ntt.store %o, %f : !tt.ptr<f32>\n}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # threads leave the loop at different times
        (SCALAR_STORE + WAIT.format(""), "store barrier load"),
        (P_OWN + store("a", "own") + WAIT.format(P_WIDE + load("b", "wide")), "store barrier load load"),
        (P_OWN + P_WIDE + store("a", "own") + loop(load("b", "wide")), "store barrier load"),
        # and go different ways
        ("%o = tt.addptr %p, %one : !tt.ptr<f32>, i32\n" + SCALAR_LOAD + SEEN_WORD, "load store"),
        (SCALAR_LOAD + P_OWN + store("a", "own") + SEEN, "load barrier store barrier load"),
    ],
)  # fmt: skip
def test_no_barrier_where_threads_may_part(body: str, expected: str, context: StageContext) -> None:
    """Barriers stand in the function, not in its loops and branches."""
    assert after(body, context, only=("tt.func",)) == expected
