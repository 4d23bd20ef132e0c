"""The launcher's records as LLVM lays them out, against what Python packs."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest

from tri_runtime.native.code import CODE
from tri_runtime.native.layouts import CONFIG, ITEM, ITEM_VARIANTS, RECORDS, TENSOR


@pytest.fixture(scope="module")
def compiled():
    """The launcher's module, and the data layout of this machine."""
    llvm.initialize_native_target()
    machine = llvm.Target.from_default_triple().create_target_machine()
    # in a context of its own, types keep their names
    return llvm.parse_assembly(CODE, llvm.create_context()), machine.target_data


@pytest.fixture(scope="module")
def structs(compiled):
    """LLVM's struct types by name; the module has one of each that its code uses."""
    module, _ = compiled
    return {type_.name: type_ for type_ in module.struct_types}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_llvm_and_python_agree_on_sizes_and_offsets(record, compiled, structs):
    type_, data = structs[record.name], compiled[1]
    assert data.get_abi_size(type_) == record.size == ctypes.sizeof(record.structure)
    offsets = {f.name: data.get_element_offset(type_, i) for i, f in enumerate(record.fields)}
    assert offsets == {f.name: record.offset(f.name) for f in record.fields}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_each_field_is_packed_at_its_own_offset(record):
    for field in record.fields:
        data = record.pack(**{f.name: 7 if f is field else 0 for f in record.fields})
        assert [i for i, byte in enumerate(data) if byte] == [record.offset(field.name)]
        assert record.unpack(data)[field.name] == 7


@pytest.mark.parametrize("record", ITEM_VARIANTS, ids=lambda record: record.name)
def test_an_item_of_each_kind_fits_into_an_array_of_items(record):
    assert record.fields[:3] == ITEM.fields[:3]
    assert record.size <= ITEM.size


def test_the_driver_s_and_dlpack_s_structures_have_the_offsets_of_their_headers():
    # cuda.h, CUlaunchConfig: 3 + 3 + 1 unsigned, CUstream, CUlaunchAttribute *, unsigned
    assert [CONFIG.offset(f.name) for f in CONFIG.fields] == [0, 4, 8, 12, 16, 20, 24, 32, 40, 48]
    # dlpack.h, DLTensor: void *, DLDevice, int32_t, DLDataType, int64_t *, int64_t *, uint64_t
    assert [TENSOR.offset(f.name) for f in TENSOR.fields] == [0, 8, 16, 20, 24, 32, 40]
    assert (CONFIG.size, TENSOR.size) == (56, 48)
