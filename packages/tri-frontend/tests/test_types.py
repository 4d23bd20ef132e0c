"""dtypes, pointers, blocks and constexpr as values."""

from __future__ import annotations

import operator
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tri.language as tl
from tri.language.promotion import arithmetic_type, integer_type, scalar_dtype
from tri.language.types import ALL_DTYPES, parse_type

INTEGERS = [d for d in ALL_DTYPES if d.is_int()]
FLOATS = [d for d in ALL_DTYPES if d.is_floating() and not d.is_fp8()]
any_dtype = st.sampled_from(ALL_DTYPES)


def test_types_are_interned_and_pickle_to_themselves():
    pointer = tl.pointer_type(tl.float16, const=True)
    block = tl.block_type(pointer, [4, 8])
    for value in (tl.int32, pointer, block):
        assert pickle.loads(pickle.dumps(value)) is value
    assert tl.dtype("fp32") is tl.float32
    assert tl.block_type(tl.float32, (4,)) is tl.block_type(tl.float32, [4])
    assert tl.pointer_type(tl.float16) is not pointer


def test_an_unknown_dtype_names_the_known_ones():
    with pytest.raises(TypeError, match=r"'float32' is not a dtype; known: .*fp32"):
        tl.dtype("float32")


@pytest.mark.parametrize(
    ("dtype", "bits", "bytes_", "predicates"),
    [
        (tl.int1, 1, 1, {"is_int", "is_int1", "is_bool", "is_int_unsigned"}),
        (tl.int16, 16, 2, {"is_int", "is_int16", "is_int_signed"}),
        (tl.uint64, 64, 8, {"is_int", "is_uint64", "is_int_unsigned"}),
        (tl.bfloat16, 16, 2, {"is_floating", "is_standard_floating", "is_bf16"}),
        (tl.float8e4nv, 8, 1, {"is_floating", "is_fp8", "is_fp8e4nv"}),
    ],
)
def test_properties(dtype, bits, bytes_, predicates):
    assert dtype.primitive_bitwidth == bits
    assert dtype.itemsize == bytes_
    true = {n for n in dir(dtype) if n.startswith("is_") and n != "is_dtype" and getattr(dtype, n)()}
    assert true == predicates
    assert tl.dtype.is_dtype(dtype.name)
    assert not tl.dtype.is_dtype("int3")


def test_texts():
    block = tl.block_type(tl.pointer_type(tl.float32), [4, 8])
    assert str(block) == "<[4, 8], pointer<fp32>>"
    assert block.mangle() == "Pfp32S4_8S"
    assert block.scalar.element_ty is tl.float32
    assert repr(tl.float8e5) == "tri.language.float8e5"
    assert repr(tl.bfloat16) == "tri.language.bfloat16"
    assert [t.mangle() for t in (tl.int1, tl.int8, tl.uint32, tl.float16)] == ["u1", "i8", "u32", "fp16"]


@given(any_dtype)
def test_signatures_name_every_dtype(dtype):
    assert parse_type(dtype.mangle()) is dtype
    assert parse_type("*" + dtype.mangle()) is tl.pointer_type(dtype)
    assert parse_type("*k" + dtype.mangle()) is tl.pointer_type(dtype, const=True)


@pytest.mark.parametrize("text", ["", "*", "i33", "float32", "**"])
def test_wrong_signature_types(text):
    with pytest.raises(ValueError, match="is not a type"):
        parse_type(text)


# --- promotion ------------------------------------------------------------------------------------------


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS))
def test_integer_promotion_is_one_of_both_and_as_wide(x, y):
    result = integer_type(x, y)
    assert result in (x, y)
    assert result is integer_type(y, x)
    assert result.int_bitwidth == max(x.int_bitwidth, y.int_bitwidth)


@given(st.sampled_from(FLOATS), st.sampled_from([*FLOATS, *INTEGERS]), st.booleans())
def test_float_promotion_gives_a_float_that_is_as_wide(x, y, division):
    result = arithmetic_type(x, y, division=division)
    assert result.is_floating()
    assert result is arithmetic_type(y, x, division=division)
    assert result.primitive_bitwidth >= x.primitive_bitwidth


@given(st.integers(-(2**63), 2**64 - 1))
def test_plain_integers_take_a_dtype_that_holds_them(value):
    dtype = scalar_dtype(value)
    assert dtype.get_int_min_value() <= value <= dtype.get_int_max_value()


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_plain_floats_are_fp32_where_that_is_normal(value):
    expected = (
        tl.float64 if 0 < abs(value) < 2**-126 or 3.4028235e38 < abs(value) < float("inf") else tl.float32
    )
    assert scalar_dtype(value) is expected


# --- constexpr ------------------------------------------------------------------------------------------

BINARY = [
    operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip
DIVISIONS = [operator.floordiv, operator.mod, operator.truediv]


@given(st.sampled_from(BINARY), st.integers(), st.integers())
def test_constexpr_computes_as_python(function, x, y):
    expected = function(x, y)
    for result in (
        function(tl.constexpr(x), tl.constexpr(y)),
        function(tl.constexpr(x), y),
        function(x, tl.constexpr(y)),
    ):
        assert isinstance(result, tl.constexpr)
        assert result.value == expected
        assert type(result.value) is type(expected)


@given(st.sampled_from(DIVISIONS), st.integers(-100, 100), st.integers(1, 100), st.integers(0, 8))
def test_constexpr_divides_shifts_and_negates_as_python(function, x, y, shift):
    assert function(tl.constexpr(x), y).value == function(x, y)
    assert function(x, tl.constexpr(y)).value == function(x, y)
    assert (tl.constexpr(x) << shift).value == x << shift
    assert (tl.constexpr(x) >> shift).value == x >> shift
    assert (tl.constexpr(y) ** shift).value == y**shift
    assert (-tl.constexpr(x)).value == -x
    assert (~tl.constexpr(x)).value == ~x
    assert abs(tl.constexpr(x)).value == abs(x)


def test_constexpr_stands_for_its_value():
    assert tl.constexpr(tl.constexpr(3)).value == 3
    assert range(tl.constexpr(3)) == range(3)
    assert [1, 2][tl.constexpr(1)] == 2
    assert bool(tl.constexpr(0)) is False
    assert hash(tl.constexpr("a")) == hash("a")
    assert [c.value for c in tl.constexpr((1, 2))] == [1, 2]
    assert tl.constexpr((1, 2))[1].value == 2
    assert repr(tl.constexpr(3)) == "constexpr[3]"


def test_language_functions_refuse_to_run_outside_of_kernels():
    with pytest.raises(Exception, match=r"tri\.language\.arange was called outside of a kernel"):
        tl.arange(0, 4)
