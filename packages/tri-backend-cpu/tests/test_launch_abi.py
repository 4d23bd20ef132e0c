"""The records of a launch as LLVM lays them out, against what the runtime fills."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest

from tri_backend_cpu import launch_abi as abi
from tri_backend_cpu.runtime.pool_ir import HEADER, POOL, POOL_IR


@pytest.mark.parametrize("record", [abi.TASK, POOL, HEADER], ids=lambda record: record.name)
def test_llvm_and_python_agree_on_sizes_and_offsets(record):
    llvm.initialize_native_target()
    data = llvm.Target.from_default_triple().create_target_machine().target_data
    # in a context of its own, types keep their names; they live as long as the module does
    module = llvm.parse_assembly(POOL_IR.replace("PAUSE", ""), llvm.create_context())
    types = {type_.name: type_ for type_ in module.struct_types}
    assert data.get_abi_size(types[record.name]) == record.size == ctypes.sizeof(record.structure)
    for i, field in enumerate(record.fields):
        assert record.offset(field.name) == data.get_element_offset(types[record.name], i)


def test_the_offsets_that_objects_built_ahead_of_time_rely_on():
    names = "NEXT TOTAL CHUNK GRID FAILED PRINTER FAILED_PROGRAM STREAM ATTENTION POLL ARGUMENTS"
    assert [getattr(abi, name) for name in names.split()] == [0, 8, 16, 24, 36, 40, 48, 60, 64, 72, 88]
