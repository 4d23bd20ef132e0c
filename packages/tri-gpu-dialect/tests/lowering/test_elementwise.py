from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core.errors import Unsupported
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.testing import TensorSpec, kernel, run

Array = npt.NDArray[Any]
RNG = np.random.default_rng(9)
SIZE = 512
ENCODING = Blocked((2,), (32,), (4,), (0,))
DTYPES = {
    "i1": "i1",
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
}


def apply(body: str, inputs: list[tuple[str, Array]], output: str) -> Array:
    """The first output of ``body``, in which TYPE is the tensor type of the last input."""
    specs = [TensorSpec(element, (SIZE,), ENCODING) for element, _ in inputs]
    out = TensorSpec(output, (SIZE,), ENCODING)
    text = body.replace("TYPE", specs[-1].type).replace("OUT", out.type)
    result = np.zeros(SIZE, DTYPES[output])
    run(kernel(specs, [out], text, warps=4, lanes=32), [*(a for _, a in inputs), result])
    return result


def integers(element: str, *, nonzero: bool = False) -> Array:
    info = np.iinfo(DTYPES[element])
    x = RNG.integers(info.min, info.max, SIZE, endpoint=True).astype(DTYPES[element])
    x[:4] = [info.min, info.max, -1, 1]
    return np.where(x == 0, 3, x).astype(x.dtype) if nonzero else x


def unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def c_division(x: Array, y: Array) -> Array:
    q = np.array(
        [abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y, strict=True)],
        object,
    )
    return (q & ((1 << (8 * x.dtype.itemsize)) - 1)).astype(f"u{x.dtype.itemsize}").view(x.dtype)


INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minui": lambda x, y: np.minimum(unsigned(x), unsigned(y)).view(x.dtype),
    "divui": lambda x, y: (unsigned(x) // unsigned(y)).view(x.dtype),
    "remui": lambda x, y: (unsigned(x) % unsigned(y)).view(x.dtype),
    "divsi": c_division,
    "remsi": lambda x, y: x - c_division(x, y) * y,
    "floordivsi": lambda x, y: np.array([int(a) // int(b) for a, b in zip(x, y, strict=True)]).astype(x.dtype),
    "ceildivsi": lambda x, y: np.array([-(-int(a) // int(b)) for a, b in zip(x, y, strict=True)]).astype(x.dtype),
    "ceildivui": lambda x, y: np.array([-(-int(a) // int(b)) for a, b in zip(unsigned(x), unsigned(y), strict=True)], f"u{x.dtype.itemsize}").view(x.dtype),
}  # fmt: skip


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("op", list(INTEGER))
def test_integer_arithmetic(op: str, element: str) -> None:
    x, y = integers(element), integers(element, nonzero=True)
    if "div" in op or "rem" in op:
        x[x == np.iinfo(x.dtype).min] = 7  # the smallest number divided by -1 overflows
    found = apply(f"%out0 = arith.{op} %in0, %in1 : TYPE", [(element, x), (element, y)], element)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, INTEGER[op](x, y))


@pytest.mark.parametrize("op", ["shli", "shrsi", "shrui"])
def test_shifts(op: str) -> None:
    x, y = integers("i32"), RNG.integers(0, 32, SIZE).astype(np.int32)
    found = apply(f"%out0 = arith.{op} %in0, %in1 : TYPE", [("i32", x), ("i32", y)], "i32")
    oracle = {"shli": x << y, "shrsi": x >> y, "shrui": (unsigned(x) >> unsigned(y)).view(np.int32)}
    np.testing.assert_array_equal(found, oracle[op])


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_integer_comparison(predicate: str) -> None:
    x, y = integers("i32"), integers("i32")
    y[100:200] = x[100:200]
    found = apply(f"%out0 = arith.cmpi {predicate}, %in0, %in1 : TYPE", [("i32", x), ("i32", y)], "i1")
    a, b = (x, y) if predicate[0] != "u" else (unsigned(x), unsigned(y))
    name = {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }
    np.testing.assert_array_equal(found, getattr(np, name[predicate[-2:]])(a, b))


def floats(element: str) -> Array:
    x = (RNG.standard_normal(SIZE) * 10).astype(DTYPES[element])
    x[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, np.nan, 2.0]
    return x


@pytest.mark.parametrize(
    "predicate",
    ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"],
)
def test_float_comparison(predicate: str) -> None:
    x, y = floats("f32"), np.roll(floats("f32"), 1)
    y[100:200] = x[100:200]
    found = apply(f"%out0 = arith.cmpf {predicate}, %in0, %in1 : TYPE", [("f32", x), ("f32", y)], "i1")
    unordered = np.isnan(x) | np.isnan(y)
    plain = {
        "eq": x == y,
        "gt": x > y,
        "ge": x >= y,
        "lt": x < y,
        "le": x <= y,
        "ne": (x < y) | (x > y),
        "rd": ~unordered,
        "no": unordered,
    }
    expected = plain[predicate[1:]] | (unordered if predicate[0] == "u" else False)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
@pytest.mark.parametrize(
    ("op", "oracle"),
    [
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("divf", np.divide),
        ("remf", np.fmod),
        ("maximumf", np.maximum),
        ("minimumf", np.minimum),
        ("maxnumf", np.fmax),
        ("minnumf", np.fmin),
    ],
)
def test_float_arithmetic(op: str, oracle: Callable[[Array, Array], Array], element: str) -> None:
    x, y = floats(element), np.roll(floats(element), 1)
    found = apply(f"%out0 = arith.{op} %in0, %in1 : TYPE", [(element, x), (element, y)], element)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, oracle(x, y))


@pytest.mark.parametrize("propagate", [False, True])
def test_clamp(propagate: bool) -> None:
    x, low, high = floats("f32"), np.full(SIZE, -3, np.float32), np.full(SIZE, 4, np.float32)
    body = f'%out0 = "tt.clampf"(%in0, %in1, %in2) {{propagateNan = {0xFFFF if propagate else 0} : i32}} : (TYPE, TYPE, TYPE) -> TYPE'
    found = apply(body, [("f32", x), ("f32", low), ("f32", high)], "f32")
    expected = np.clip(x, -3, 4)
    np.testing.assert_array_equal(found, expected if propagate else np.where(np.isnan(x), -3, expected))


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
def test_high_half_of_a_product(element: str) -> None:
    x, y = integers(element), integers(element)
    found = apply(
        '%out0 = "tt.mulhiui"(%in0, %in1) : (TYPE, TYPE) -> TYPE', [(element, x), (element, y)], element
    )
    bits = x.dtype.itemsize * 8
    high = [int(a) * int(b) >> bits for a, b in zip(unsigned(x), unsigned(y), strict=True)]
    np.testing.assert_array_equal(unsigned(found), np.array(high, unsigned(x).dtype))


@pytest.mark.parametrize(
    ("op", "source", "target"),
    [
        ("extsi", "i8", "i32"),
        ("extui", "i8", "i32"),
        ("trunci", "i64", "i16"),
        ("extui", "i1", "i32"),
        ("extsi", "i1", "i32"),
        ("sitofp", "i32", "f32"),
        ("uitofp", "i32", "f32"),
        ("uitofp", "i1", "f32"),
        ("fptosi", "f32", "i32"),
        ("truncf", "f32", "f16"),
        ("extf", "f16", "f64"),
    ],
)
def test_casts(op: str, source: str, target: str) -> None:
    if source == "i1":
        x = RNG.integers(0, 2, SIZE).astype(np.int8)
    else:
        x = integers(source) if source[0] == "i" else (RNG.standard_normal(SIZE) * 100).astype(DTYPES[source])
    found = apply(f"%out0 = arith.{op} %in0 : TYPE to OUT", [(source, x)], target)
    wide = unsigned(x) if op in ("extui", "uitofp") else x
    expected = wide.astype(DTYPES[target])
    np.testing.assert_array_equal(found, -expected if (op, source) == ("extsi", "i1") else expected)


def test_select_by_elements_and_by_a_scalar() -> None:
    x, y = floats("f32"), np.roll(floats("f32"), 3)
    c = RNG.integers(0, 2, SIZE).astype(np.int8)
    ctype = TensorSpec("i1", (SIZE,), ENCODING).type
    body = f"%out0 = arith.select %in0, %in1, %in2 : {ctype}, TYPE"
    found = apply(body, [("i1", c), ("f32", x), ("f32", y)], "f32")
    np.testing.assert_array_equal(found, np.where(c, x, y))
    body = """%p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
      %z = arith.constant 0 : i32
      %c = arith.cmpi eq, %p, %z : i32
      %out0 = arith.select %c, %in0, %in1 : TYPE"""
    np.testing.assert_array_equal(apply(body, [("f32", x), ("f32", y)], "f32"), x)


def test_constants_that_differ_by_element() -> None:
    values = [int(v) for v in RNG.integers(-99, 99, SIZE)]
    body = f"%c = arith.constant dense<{values}> : TYPE\n%out0 = arith.addi %c, %in0 : TYPE"
    x = integers("i32")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(apply(body, [("i32", x)], "i32"), x + np.array(values, np.int32))


def test_a_region_over_elements() -> None:
    body = """%out0 = "tt.map_elementwise"(%in0, %in1) ({
      ^bb0(%a: i32, %b: i32):
        %m = arith.maxsi %a, %b : i32
        %s = arith.subi %m, %b : i32
        "tt.map_elementwise_return"(%s) : (i32) -> ()
      }) {pack = 1 : i32} : (TYPE, TYPE) -> TYPE"""
    x, y = (RNG.integers(-99, 99, SIZE).astype(np.int32) for _ in range(2))
    np.testing.assert_array_equal(apply(body, [("i32", x), ("i32", y)], "i32"), np.maximum(x, y) - y)


def test_a_function_that_the_target_lacks_is_computed() -> None:
    x = RNG.uniform(-9, 9, SIZE)
    found = apply("%out0 = math.exp %in0 : TYPE", [("f64", x)], "f64")
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-15)


def test_an_op_without_a_rule_is_refused_with_its_name() -> None:
    with pytest.raises(Unsupported, match=r"math\.cttz cannot be lowered for ref:v1"):
        apply("%out0 = math.cttz %in0 : TYPE", [("i32", np.ones(SIZE, np.int32))], "i32")


def test_an_error_names_the_line() -> None:
    body = '%out0 = math.cttz %in0 : TYPE loc("kernel.py":12:5)'
    with pytest.raises(Unsupported) as caught:
        apply(body, [("i32", np.ones(SIZE, np.int32))], "i32")
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line, caught.value.location.column) == (
        "kernel.py",
        12,
        4,
    )
