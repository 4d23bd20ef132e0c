from __future__ import annotations

import ctypes
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.api import LaunchError, Parameter, Unsupported
from tri_runtime import ArgumentPool, PackedArguments, argument_table
from tri_runtime.packing import bfloat16_bits

CTYPES = {
    "*fp32": ctypes.c_void_p,
    "i1": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float,
    "fp64": ctypes.c_double,
}


def table_of(*types):
    return argument_table(tuple(Parameter(f"p{i}", t) for i, t in enumerate(types)))


@given(st.lists(st.sampled_from(sorted(CTYPES)), min_size=1, max_size=12))
def test_layout_is_that_of_a_c_struct(types):
    table = table_of(*types)
    fields = [(f"f{i}", CTYPES[t]) for i, t in enumerate(types)]
    mirror = type("Mirror", (ctypes.Structure,), {"_fields_": fields})
    assert table.offsets == tuple(getattr(mirror, name).offset for name, _ in fields)


@given(st.lists(st.sampled_from(sorted(CTYPES)), min_size=1, max_size=12), st.randoms())
def test_both_views_read_back_the_arguments(types, random):
    table = table_of(*types)
    values = [random.randrange(0, 2) if t == "i1" else random.randrange(1, 100) for t in types]
    block = PackedArguments(table)
    table.pack_into(block.memory, values)
    pointers = (ctypes.c_void_p * len(types)).from_address(block.pointers)
    for t, value, pointer, offset in zip(types, values, pointers, table.offsets, strict=True):
        assert CTYPES[t].from_address(pointer).value == value
        assert CTYPES[t].from_address(block.address + offset).value == value


def test_fp16_rounds_as_numpy_does():
    table = table_of("fp16")
    block = PackedArguments(table)
    table.pack_into(block.memory, [1 / 3])
    assert block.memory.raw[:2] == np.float16(1 / 3).tobytes()


@given(st.floats(allow_nan=False, width=32))
def test_bfloat16_is_the_nearest_with_ties_to_even(value):
    def back(bits):
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]

    bits = bfloat16_bits(value)
    if math.isinf(value):
        assert back(bits) == value
        return
    sign, magnitude = bits & 0x8000, bits & 0x7FFF
    near = [back(sign | m) for m in (magnitude - 1, magnitude, magnitude + 1) if 0 <= m < 0x7F80]
    if magnitude < 0x7F80:
        assert abs(back(bits) - value) == min(abs(c - value) for c in near)
        if sum(abs(c - value) == abs(back(bits) - value) for c in near) == 2:
            assert magnitude % 2 == 0


def test_bfloat16_of_nan_and_huge():
    assert bfloat16_bits(math.nan) & 0x7FFF > 0x7F80
    assert bfloat16_bits(1e300) == 0x7F80
    assert bfloat16_bits(-1e300) == 0xFF80


@pytest.mark.parametrize(
    ("type_", "value"), [("i32", 1 << 31), ("u8", -1), ("*fp32", 1.5), ("fp32", "x"), ("fp16", 1e9)]
)
def test_a_misfit_is_named(type_, value):
    table = table_of("i64", type_)
    with pytest.raises(LaunchError, match=rf"argument p1 = .* is not a {type_.replace('*', '[*]')}"):
        table.pack_into(PackedArguments(table).memory, [7, value])


def test_wrong_count():
    table = table_of("i64", "i64")
    with pytest.raises(LaunchError, match="2 arguments are expected, 1 given"):
        table.pack_into(PackedArguments(table).memory, [7])


def test_a_type_without_a_value_form_is_unsupported():
    with pytest.raises(Unsupported, match="p0 has type fp8e5"):
        table_of("fp8e5")


def test_no_parameters():
    table = table_of()
    table.pack_into(PackedArguments(table).memory, [])
    assert table.size == 0


def test_pool_gives_each_launch_its_own_block():
    pool = ArgumentPool(table_of("i32"))
    first, second = pool.take(), pool.take()
    assert first.address != second.address
    pool.give(first)
    assert pool.take() is first


def test_tables_are_made_once():
    assert table_of("i32", "*fp32") is table_of("i32", "*fp32")


def test_descriptors_follow_the_arguments():
    table = argument_table((Parameter("p", "*fp32"), Parameter("n", "i8")), 2)
    assert table.descriptor_offsets == (64, 192)
    assert table.size == 320
    block = PackedArguments(table)
    table.pack_into(block.memory, [1 << 40, 7])
    table.put_descriptors(block.memory, [b"a" * 128, b"b" * 128])
    pointers = (ctypes.c_void_p * 4).from_address(block.pointers)
    assert ctypes.string_at(pointers[2], 128) == b"a" * 128
    assert ctypes.string_at(pointers[3], 128) == b"b" * 128
    assert ctypes.c_int8.from_address(pointers[1]).value == 7
    assert argument_table(table.parameters).size == 9
