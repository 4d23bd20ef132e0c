"""Records, and LLVM text that accesses their fields by name."""

from __future__ import annotations

import ctypes
import pickle
from enum import IntEnum

import llvmlite.binding as llvm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_runtime.schema import CType, Field, Record, SchemaError, expand

PAIR = Record("pair", (Field("small", CType.I32, "an int"), Field("large", CType.I64)))


class Case(IntEnum):
    """Numbers that text names."""

    FIRST = 0
    LAST = 12


records = st.lists(st.sampled_from(list(CType)), min_size=1, max_size=12).map(
    lambda types: Record(
        "random",
        tuple(Field(f"f{i}", t, count=3 if t is CType.BYTE else 1) for i, t in enumerate(types)),
    )
)


def one(field):
    return b"\1\2\3" if field.type is CType.BYTE else 1


def zero(field):
    return b"\0\0\0" if field.type is CType.BYTE else 0


@given(records)
def test_struct_ctypes_and_llvm_agree(record):
    llvm.initialize_native_target()
    data = llvm.Target.from_default_triple().create_target_machine().target_data
    module = llvm.parse_assembly(f"{record.llvm}@user = external global %random", llvm.create_context())
    (type_,) = module.struct_types
    assert record.size == ctypes.sizeof(record.structure) == data.get_abi_size(type_)
    for i, field in enumerate(record.fields):
        assert record.offset(field.name) == data.get_element_offset(type_, i)
        values = {f.name: (one if f is field else zero)(f) for f in record.fields}
        read = record.structure.from_buffer_copy(record.pack(**values))
        assert {f.name: getattr(read, f.name) or zero(f) for f in record.fields} == values


def test_fields_and_cases_in_text():
    text = "%x = field pair.large, %p\n  %y = address pair.small, %p\n  %z = add i64 %x, $Case.LAST"
    assert expand(text, [PAIR], [Case]) == (
        "%x.at = getelementptr %pair, ptr %p, i32 0, i32 1\n  %x = load i64, ptr %x.at\n"
        "  %y = getelementptr %pair, ptr %p, i32 0, i32 0\n  %z = add i64 %x, 12"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%x = field pair.middle, %p", "'middle'"),
        ("%x = field triple.small, %p", "'triple'"),
        ("$Case.MIDDLE", "'MIDDLE'"),
        ("$Other.FIRST", "'Other'"),
    ],
)
def test_names_that_do_not_exist_are_errors(text, message):
    with pytest.raises(SchemaError, match=message):
        expand(text, [PAIR], [Case])


@pytest.mark.parametrize("values", [{"small": 1}, {"small": 1, "large": 2, "medium": 3}])
def test_packing_takes_each_field_once(values):
    with pytest.raises(SchemaError, match="small, large") as caught:
        PAIR.pack(**values)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_only_bytes_come_as_arrays():
    with pytest.raises(SchemaError, match="'many' is an array of i64"):
        Field("many", CType.I64, count=2)


def test_a_field_twice_is_an_error():
    with pytest.raises(SchemaError, match="twice"):
        Record("twins", (Field("a", CType.I32), Field("a", CType.I64)))
