"""What a kernel is specialized on: annotations, hints against it, tuples; and globals that change."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.launch.binder import make_binder
from tri.launch.first_binder import FirstBinder
from tri.launch.specialize import specialize
from tri_core.errors import CompilationError, LaunchError


def signature(function, *args) -> tuple[list[tuple[str, str]], dict[str, object], dict[str, object]]:
    facts, _, _ = make_binder(function, 16, True)(*args)
    source = specialize(function, facts, 16).source
    return [(p.name, p.type) for p in source.kernel_signature().parameters], source.constants, source.attrs


def one(annotation):
    def kernel(x):
        pass

    kernel.__annotations__["x"] = annotation
    return tri.jit(kernel)


ARRAY = np.zeros(16, np.int32)


@pytest.mark.parametrize(
    ("annotation", "value", "type_"),
    [
        ("tl.int64", 3, "i64"),
        (tl.int64, 1, "i64"),
        ("i64", 2, "i64"),
        ("tl.uint8", 3, "u8"),
        (int, 1, "i32"),
        (bool, True, "u1"),
        ("bool", False, "u1"),
        (float, 3, "fp32"),
        ("tl.float16", 1.5, "fp16"),
        (tl.bfloat16, 1.5, "bf16"),
        ("int32_t", 7, "i32"),
        ("tl.tensor", 2**40 + 1, "i64"),
        ("tl.tensor", 2**63, "u64"),
        ("tl.tensor", -(2**31), "i32"),
        ("tl.tensor", -(2**31) - 1, "i64"),
        ("tl.tensor", True, "u1"),
        ("tl.tensor", 1.0, "fp32"),
        ("*fp32", ARRAY, "*fp32"),
        ("fp32*", ARRAY, "*fp32"),
        (tl.pointer_type(tl.float32), ARRAY, "*fp32"),
        ("const *i32", ARRAY, "*ki32"),
        ("*ki32", ARRAY, "*ki32"),
        ("tl.const", ARRAY, "*ki32"),
        (tl.const, ARRAY, "*ki32"),
    ],
)
def test_annotations(annotation, value, type_):
    parameters, constants, _ = signature(one(annotation), value)
    assert parameters == [("x", type_)]
    assert constants == {}


def test_numbers_beyond_64_bits_are_refused():
    with pytest.raises(LaunchError, match="does not fit in 64 bits"):
        signature(one("tl.tensor"), 2**64)


def test_a_number_for_an_annotated_pointer():
    with pytest.raises(LaunchError, match=r"3 was passed for a pointer \(it is annotated as '\*fp32'\)"):
        signature(one("*fp32"), 3)


@pytest.mark.parametrize("which", [["n"], [0], ["n", "m"]])
def test_do_not_specialize(which):
    @tri.jit(do_not_specialize=which)
    def kernel(n, m):
        pass

    parameters, constants, attributes = signature(kernel, 1, 16)
    assert parameters[0] == ("n", "i32")
    assert constants == {}
    assert attributes == ({} if "m" in which else {"m": (("tt.divisibility", 16),)})


def test_do_not_specialize_on_alignment():
    @tri.jit(do_not_specialize_on_alignment=["n"])
    def kernel(n, m):
        pass

    assert signature(kernel, 32, 32)[2] == {"m": (("tt.divisibility", 16),)}
    assert signature(kernel, 1, 32)[1] == {"n": 1}  # equality to 1 still counts


def test_items_of_a_tuple_are_specialized_like_arguments():
    @tri.jit(do_not_specialize=["t"])
    def kernel(t):
        pass

    parameters, _, attributes = signature(kernel, (1, 16, (None, 2.5, tl.float32)))
    assert parameters == [("t.1", "i32"), ("t.2.1", "fp32")]
    assert attributes == {"t.1": (("tt.divisibility", 16),)}


def test_a_constexpr_that_is_not_specialized(ttir):
    @tri.jit(do_not_specialize=["N"])
    def kernel(p, N: tl.constexpr):
        pass

    with pytest.raises(CompilationError, match="'N' of kernel is a constexpr and in do_not_specialize"):
        ttir(kernel, {"p": "*fp32"}, {"N": 3})


def test_defaults_and_keywords():
    @tri.jit
    def kernel(p, n=5, *, m=16, F: tl.constexpr = None):
        pass

    assert signature(kernel, ARRAY)[0] == [("p", "*i32"), ("n", "i32"), ("m", "i32")]
    assert signature(kernel, ARRAY)[1] == {"F": None}


GLOBALS = """
K = tl.constexpr(3)

@tri.jit
def scaled(x):
    return x * K

@tri.jit
def k(p, n):
    tl.store(p, scaled(n))
"""


def test_a_changed_global_makes_another_kernel(kernel_file):
    module = kernel_file(GLOBALS)
    first = module.k[(1,)](ARRAY, 7)
    assert module.k[(1,)](ARRAY, 7) is first
    module.K = tl.constexpr(4)
    second = module.k[(1,)](ARRAY, 7)
    assert second.metadata.hash != first.metadata.hash
    module.scaled = tri.jit(module.k.fn)  # another function under the name
    with pytest.raises(CompilationError, match="scaled"):
        module.k[(1,)](ARRAY, 7)


def test_recursion_over_constexprs(kernel_file, ttir):
    module = kernel_file(
        """
@tri.jit
def down(n: tl.constexpr):
    if n == 0:
        return 0
    else:
        return 1 + down(n - 1)

@tri.jit
def up(n: tl.constexpr):
    return 1 + up(n + 1)

@tri.jit
def good(p):
    tl.store(p, down(90))

@tri.jit
def bad(p):
    tl.store(p, up(0))
"""
    )
    assert "dense<90>" in ttir(module.good, {"p": "*i32"}) or "90 : i32" in ttir(module.good, {"p": "*i32"})
    with pytest.raises(CompilationError, match="up is called at a depth of 100") as caught:
        ttir(module.bad, {"p": "*i32"})
    assert len(caught.value.location.call_sites) == 2


# --- small arrays, for targets that ask ---------------------------------------------------------------------


def ranges(function, *args, small_array: int) -> dict[str, object]:
    facts, _, _ = make_binder(function, 16, True, small_array)(*args)
    found = specialize(function, facts, 16).source.attrs
    return {name: dict(given).get("tt.pointer_range") for name, given in found.items()}


@tri.jit
def takes_two(x, y):
    pass


@tri.jit(do_not_specialize=["y"])
def takes_one_as_it_is(x, y):
    pass


def test_the_memory_that_an_array_is_part_of_decides_whether_it_is_small():
    whole = np.zeros(64, np.float32)
    assert ranges(takes_two, whole[:16], whole[::-1][4:], small_array=256) == {"x": 32, "y": 32}
    assert set(ranges(takes_two, whole[:16], whole[:4], small_array=255).values()) == {None}
    assert ranges(takes_one_as_it_is, whole, whole, small_array=256) == {"x": 32}


def test_size_is_no_fact_where_nobody_asks():
    large, small = np.zeros(1 << 20, np.int8), np.zeros(16, np.int8)
    usual = make_binder(takes_two, 16, True)
    assert len({tuple(f[0] for f in usual(a, a)[0]) for a in (large, small)}) == 1
    assert all(len(fact) == 3 for fact in usual(large, small)[0])
    assert "tt.pointer_range" not in str(signature(takes_two, large, small)[2])
    asked = make_binder(takes_two, 16, True, 1024)
    assert asked(large, small)[0] != asked(small, small)[0]


@tri.jit
def takes_all(x, y: tl.int64, n=3, B: tl.constexpr = 16, *, C: tl.constexpr = None):
    pass


@tri.jit
def takes_four(x, y: tl.int64, n=3, B: tl.constexpr = 16):
    pass


CALLS = [
    ((ARRAY, 1), {}),
    ((ARRAY, 16, 1), {"B": 2, "num_warps": 8}),
    ((), {"y": 5, "x": ARRAY[1:], "stream": 3}),
    ((ARRAY, 2, 1.5, "text"), {}),
    ((ARRAY, (1, 2), None, tl.float32), {}),
]


@pytest.mark.parametrize("function", [takes_four, takes_all])
@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_first_calls_are_read_as_later_ones(function, args, kwargs):
    compiled = []
    first = FirstBinder(function, (16, True, 0), compiled.append)
    found = [first(*args, **kwargs) for _ in range(4)]
    assert found == [make_binder(function, 16, True)(*args, **kwargs)] * 4
    assert len(compiled) == (2 if function is takes_four else 4)


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((ARRAY, 1, 2, 3, 4), {}), ((ARRAY, 1), {"x": 3}), ((object(), 1), {})]
)
def test_first_calls_that_do_not_fit_fail_as_later_ones(args, kwargs):
    with pytest.raises(Exception) as found:  # noqa: PT011
        make_binder(takes_four, 16, True)(*args, **kwargs)
    with pytest.raises(found.type) as first:
        FirstBinder(takes_four, (16, True, 0), lambda binder: None)(*args, **kwargs)
    assert str(first.value) == str(found.value)
