"""Parameters in images equal those that a launch passes; another image is refused before it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_amd.hsaco import read_code_object
from tri_backend_cpu.launch_abi import Facts
from tri_backend_intel.spirv import read_module
from tri_backend_nvidia.parameters import parameter_sizes
from tri_core import knobs
from tri_core.api import HiddenParameters, KernelImage, LaunchError
from tri_core.compiler import CompiledKernel
from tri_runtime import argument_table, check_parameters


@tri.jit
def all_types(p, a, b, c, d, e, f, g, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(p + i, a + b.to(tl.float32) + c + d.to(tl.float32) + e + f.to(tl.float32) + g)


@tri.jit
def copies(x, y, n, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n, 64], [64, 1], [N, 64])
    target = tl.make_tensor_descriptor(y, [n, 64], [64, 1], [N, 64])
    target.store([0, 0], source.load([0, 0]))


@tri.jit
def two(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, i, mask=i < n)


@tri.jit
def five(x, y, z, n, m, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(y + i, mask=i < m) + tl.load(z + i), mask=i < n)


TYPES = {"p": "*fp32", "a": "i32", "b": "bf16", "c": "i64", "d": "i1", "e": "fp64", "f": "fp16", "g": "i8"}
READERS: dict[str, Callable[[CompiledKernel], Any]] = {
    "nvidia": lambda k: parameter_sizes(k.image.data, k.metadata.entry_points[0]),
    "amd": lambda k: read_code_object(k.image.data).kernels[k.name].parameter_sizes,
    "intel": lambda k: read_module(k.image.data).parameters[k.name],
    "cpu": lambda k: Facts.find(k.image.data).parameters,
}
TARGETS = [
    "nvidia:sm_75",
    "nvidia:sm_90a",
    "nvidia:sm_100a",
    "nvidia:sm_120a",
    "amd:gfx90a",
    "amd:gfx942",
    "amd:gfx1201",
    "intel:pvc",
    "intel:opencl-cpu",
    "cpu",
]


def compiled(kernel: Any, types: dict[str, str], target: str) -> CompiledKernel:
    source = tri.ASTSource(kernel, {**types, "N": "constexpr"}, {"N": 64}, {})
    return tri.compile(source, target=target)


def table_of(kernel: CompiledKernel) -> Any:
    hidden = HiddenParameters.from_attrs(kernel.metadata.attrs)
    parameters = (*kernel.metadata.signature.parameters, *hidden.parameters)
    return argument_table(parameters, len(hidden.descriptors))


@pytest.mark.parametrize("kernel", ["all types", "descriptors"])
@pytest.mark.parametrize("target", TARGETS)
def test_an_image_says_what_a_launch_passes(target: str, kernel: str) -> None:
    if kernel == "all types":
        made = compiled(all_types, TYPES, target)
    else:
        made = compiled(copies, {"x": "*fp32", "y": "*fp32", "n": "i32"}, target)
    found, table = READERS[target.partition(":")[0]](made), table_of(made)
    assert list(found) == list(table.sizes)
    check_parameters(made.image, found, table)
    if "ptx" in made.asm:
        text = made.asm["ptx"]
        assert isinstance(text, str)
        assert parameter_sizes(text.encode(), made.metadata.entry_points[0]) == found


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_of_another_kernel_is_refused(target: str) -> None:
    mine = compiled(two, {"x": "*i32", "n": "i32"}, target)
    other = compiled(five, {"x": "*i32", "y": "*i32", "z": "*i32", "n": "i32", "m": "i32"}, target)
    found = READERS[target.partition(":")[0]](other)
    with pytest.raises(LaunchError) as caught:
        check_parameters(mine.image, found, table_of(mine))
    said = str(caught.value)
    assert "of kernel two takes 5 parameters of 8, 8, 8, 4, 4 bytes" in said
    assert "a launch passes 2 parameters of 8, 4 bytes (x: *i32, n: i32)" in said


PTX = """
.version 8.0
.target sm_80
.address_size 64
.func helper(.param .b32 unused) { ret; }
.visible .entry other(.param .u64 a) { ret; }
// .entry k(.param .u8 commented)
.visible .entry k (
    .param .u64 .ptr .global .align 16 k_param_0, /* .param .u32 x, */
    .param .align 2 .b8 k_param_1[2], // a comment
    .param .f32 k_param_2,
    .param .align 64 .b8 k_param_3[128],
    .param .pred_is_no_type k_param_4, .param .s8 k_param_5
)
{ ret; }
.visible .entry empty()
{ ret; }
.visible .entry bare
{ ret; }
"""


@pytest.mark.parametrize(("entry", "sizes"), [("other", [8]), ("empty", []), ("bare", []), ("none", None)])
def test_ptx_by_hand(entry: str, sizes: list[int] | None) -> None:
    assert parameter_sizes(PTX.replace(".param .pred_is_no_type k_param_4, ", "").encode(), entry) == sizes


def test_ptx_with_all_kinds_of_parameters() -> None:
    text = PTX.replace(".param .pred_is_no_type k_param_4, ", "")
    assert parameter_sizes(text.encode() + b"\0", "k") == [8, 2, 4, 128, 1]


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF" + bytes(100), b"\xff\xfe\0", b"fatbin?"])
def test_what_is_no_image_says_nothing(data: bytes) -> None:
    assert parameter_sizes(data, "k") is None


def test_an_override_with_other_parameters_is_refused_before_it_runs(tmp_path: Path) -> None:
    other = compiled(five, {"x": "*i32", "y": "*i32", "z": "*i32", "n": "i32", "m": "i32"}, "cpu")
    text = other.asm["llir"]
    assert isinstance(text, str)
    (tmp_path / "two.llir").write_text(text.replace("five", "two"))
    x = np.zeros(64, np.int32)
    with (
        knobs.scope(OVERRIDE_DIR=tmp_path),
        tri.target("cpu"),
        pytest.raises(LaunchError, match="5 parameters"),
    ):
        two[(1,)](x, 64, N=64)
    assert not x.any()


def test_an_edited_image_is_refused_before_it_runs() -> None:
    mine = compiled(two, {"x": "*i32", "n": "i32"}, "cpu")
    data = mine.image.data.replace(b'"parameters": [8, 4]', b'"parameters": [8, 8]')
    assert data != mine.image.data
    image: KernelImage = dataclasses.replace(mine.image, data=data)
    from tri_backend_cpu.runtime.kernel import CpuKernel

    with pytest.raises(LaunchError, match="8, 8 bytes; a launch passes 2 parameters of 8, 4 bytes"):
        CpuKernel(image)
