"""A compiled kernel as PyTorch's Inductor treats it: attributes beside, pickles of its ``__dict__``, copies."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import weakref
from typing import Any

import pytest

from tri_core.compiler import CompiledKernel
from tri_core.compiler import compile as compile_source
from tri_core.errors import LaunchError


@pytest.fixture
def kernel(source: Any, toy: Any) -> CompiledKernel:
    del toy
    return compile_source(source(), "toy:one")


class Loaded:
    """What a runtime makes of a kernel."""


def test_what_it_defines_is_read_only(kernel: CompiledKernel) -> None:
    for name in ("metadata", "asm", "image", "src", "state", "run", "module", "hash"):
        with pytest.raises(AttributeError, match=f"cannot assign to '{name}'"):
            setattr(kernel, name, None)
    beside: Any = kernel
    beside._noted = "a file"
    assert pickle.loads(pickle.dumps(kernel))._noted == "a file"


def test_made_anew_of_its_attributes(kernel: CompiledKernel) -> None:
    loaded: Any = Loaded()
    kernel.handles.append(weakref.ref(loaded))
    kernel.loaded["registers"] = 17
    assert (kernel.module, kernel.n_regs) == (loaded, 17)
    sent = {**kernel.__dict__, "src": None, "packed_metadata": (1, 1, 0)}
    made = CompiledKernel.__new__(CompiledKernel)
    made.__dict__.update(pickle.loads(pickle.dumps(sent)), module=None, function=None, run=None)
    assert (made.hash, dict(made.asm), made.image) == (kernel.hash, dict(kernel.asm), kernel.image)
    assert made.module is made.function is None
    assert made.run == made.launch_over
    assert (made.loaded, made.handles) == ({}, [])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda kernel: kernel.from_source(None)])
def test_copies_are_loaded_by_themselves(kernel: CompiledKernel, copied: Any) -> None:
    kernel.loaded["registers"] = 17
    made = copied(kernel)
    assert (made.hash, made.loaded) == (kernel.hash, {})
    made.loaded["registers"] = 18
    assert kernel.n_regs == 17


def test_what_a_program_without_tri_launches_it_by(kernel: CompiledKernel) -> None:
    schema = kernel.launch_metadata_schema
    assert schema == {
        "entry_name": kernel.metadata.entry,
        "num_warps": kernel.num_warps,
        "num_ctas": 1,
        "shared_mem": kernel.shared,
    }
    clustered = dataclasses.replace(kernel.metadata, attrs={**kernel.metadata.attrs, "num_ctas": 2})
    made = CompiledKernel(clustered, kernel.asm, kernel.image)
    with pytest.raises(LaunchError, match=f"{kernel.name} .* is launched by tri alone") as refused:
        _ = made.launch_metadata_schema
    assert "cpp_wrapper" in str(refused.value)


def test_notebooks_show_what_it_takes(kernel: CompiledKernel) -> None:
    shown = kernel._repr_html_()
    assert f"<caption>{kernel.name} for toy:one</caption>" in shown
    assert "<td>parameters</td>" in shown
    assert f"<td>verdict</td><td>{kernel.resources.verdict}</td>" in shown
    for stage, made in kernel.asm.items():
        assert f"<td>{stage}</td><td>{len(made)} " in shown
