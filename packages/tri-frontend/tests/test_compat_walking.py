"""TTIR as a record to be walked: order, names in Triton's words, values, attributes."""

from __future__ import annotations

from typing import Any

import pytest

import tri
import tri.compat.triton as compat
import tri.language as tl
from tri_core.errors import CompilationError


@tri.jit
def helper(p: Any, x: Any) -> None:
    tl.store(p, x)


@tri.jit
def everything(a: Any, o: Any, n: Any, desc: Any, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(n):
        if k > 2:
            total += tl.load(a + i)
    helper(o + i, tl.cumsum(total, 0) + tl.sum(total, 0))
    tl.atomic_store(o, 1.0)
    tl.inline_asm_elementwise("nop", "=r,r", [i], tl.int32, is_pure=False, pack=1)
    desc.atomic_add([0, 0], desc.load([0, 0]))


TYPES = {"a": "*fp32", "o": "*fp32", "n": "i32", "desc": "tensordesc<fp32[4, 4]>"}


@pytest.fixture(scope="module")
def made() -> Any:
    with compat.installed():
        import importlib

        compiler: Any = importlib.import_module("triton.compiler.compiler")
        ir: Any = importlib.import_module("triton._C.libtriton.ir")
        target = importlib.import_module("triton.runtime.driver").active.get_current_target()
        backend = compiler.make_backend(target)
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        source = compiler.ASTSource(everything, TYPES, {"BLOCK": 16}, {(0,): backend.parse_attr("D")})
        assert isinstance(tri.ASTSource(everything, TYPES, {"BLOCK": 16}), compiler.ASTSource)
        options = backend.parse_options({})
        functions = backend.get_codegen_implementation(options)
        yield source.make_ir(target, options, functions, backend.get_module_map(), context)


def _ops(made: Any) -> list[Any]:
    found: list[Any] = []
    made.walk(found.append)
    return found


def test_ops_of_regions_come_before_their_op(made: Any) -> None:
    names = [op.get_name() for op in _ops(made)]
    assert names[-2:] == ["tt.func", "builtin.module"]
    assert names.index("scf.if") < names.index("scf.for")
    assert names.index("tt.reduce.return") < names.index("tt.reduce")
    assert names.index("tt.scan.return") < names.index("tt.scan")
    assert names.count("tt.store") == 2  # of them one that is atomic
    assert "tt.call" not in names
    assert made.verify()
    assert "tt.func" in str(made)
    assert made.str_nodebug() == made.str() == str(made)


def test_accesses_that_walkers_do_not_know_have_names_that_they_know(made: Any) -> None:
    ops = _ops(made)
    described = [op for op in ops if op.get_name().startswith("tt.descriptor")]
    assert [op.get_name() for op in described] == ["tt.descriptor_load", "tt.descriptor_store"]
    [maker] = [op for op in ops if op.get_name() == "tt.make_tensor_descriptor"]
    assert {op.get_operand(0).id() for op in described} == {maker.get_result(0).id()}


def test_values_blocks_and_regions_have_numbers_of_their_own(made: Any) -> None:
    ops = _ops(made)
    [loop] = [op for op in ops if op.get_name() == "scf.for"]
    [branch] = [op for op in ops if op.get_name() == "scf.if"]
    body = branch.get_block()
    assert body.get_parent().id() == loop.get_region(0).id()
    assert loop.get_region(0).size() == 1
    assert (body.get_num_arguments(), loop.get_num_operands(), loop.get_num_results()) == (2, 4, 1)
    [end] = [op for op in ops if op.get_name() == "scf.yield" and op.get_block().id() == body.id()]
    assert end.get_operand(0).id() == branch.get_result(0).id() != body.get_argument(1).id()
    numbers = [op.get_result(i).id() for op in ops for i in range(op.get_num_results())]
    assert len(set(numbers)) == len(numbers)
    assert ops[-1].get_block() is None
    assert ops[-1].get_num_regions() == 1


def test_a_descriptor_has_as_many_arguments_as_in_triton(made: Any) -> None:
    [function] = [op for op in _ops(made) if op.get_name() == "tt.func"]
    [first] = [op for op in _ops(made) if op.get_name() == "tt.return"]
    assert first.get_block().get_parent().id() == function.get_region(0).id()
    # a, o, n; the descriptor, two sizes and two strides
    assert first.get_block().get_num_arguments() == 3 + 5
    assert function.get_str_attr("sym_name") == "everything"


def test_attributes_by_their_kinds(made: Any) -> None:
    [assembly] = [op for op in _ops(made) if op.get_name() == "tt.elementwise_inline_asm"]
    assert assembly.get_bool_attr("pure") is False
    assert assembly.get_int_attr("packed_element") == 1
    assert assembly.get_str_attr("asm_string") == "nop"
    assert assembly.get_str_attr("pure") is None
    assert assembly.get_flat_symbol_ref_attr("asm_string") is None
    assert assembly.get_int_attr("none such") is None


def test_a_kernel_that_cannot_be_compiled_is_an_error() -> None:
    from tri.compat.triton.sources import ASTSource
    from tri.compat.triton.targets import gpu_target
    from tri_core.target_selection import resolve

    target = resolve("fake:v1")
    source = ASTSource(helper, {"p": "i32", "x": "fp32"})
    with pytest.raises(CompilationError):
        source.make_ir(gpu_target(target), target.options_type.parse({}), {}, {}, None)
