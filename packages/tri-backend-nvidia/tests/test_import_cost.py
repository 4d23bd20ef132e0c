"""Imports of a compile for a GPU: nothing that only runs kernels, and nothing that other kernels or other targets ask for."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMPILE = """
import sys
import tri, tri.language as tl
from tri import ASTSource

from integration.kernels.vector_add import vector_add

signature = {name: "*fp32" for name in vector_add.arg_names[:3]}
signature |= {vector_add.arg_names[3]: "i32", "BLOCK": "constexpr"}
kernel = tri.compile(ASTSource(vector_add, signature, {"BLOCK": 128}), target="nvidia:sm_90a")
assert kernel.asm["ptx"]
print(*sorted(name for name in sys.modules if name.startswith("tri")))
"""
#: in packages that are there, but for who asks
UNUSED = (
    "tri_runtime",
    "tri_gpu_dialect.lowering.functions",
    "tri_gpu_dialect.lowering.math_expansions",
    "tri_gpu_dialect.lowering.trigonometry",
    "tri_backend_nvidia.driver",
    "tri_backend_nvidia.tcgen05.rules",
    "tri_backend_nvidia.tcgen05.scaled_rules",
    "tri_backend_amd.architectures",
    "tri_backend_amd.mfma",
    "tri_backend_amd.wmma",
    "tri_backend_intel.spirv.reader",
)
#: modules of tri's packages that vector add for sm_90a imports; whoever adds some to each process says so here
MOST = 554


@pytest.fixture(scope="module")
def imported() -> frozenset[str]:
    """Modules of tri's packages that a process has which has compiled vector add for sm_90a."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], capture_output=True, text=True, check=True, timeout=120
    )
    return frozenset(done.stdout.split())


@pytest.mark.parametrize("unused", UNUSED)
def test_a_compile_does_not_import_what_only_others_need(imported: frozenset[str], unused: str) -> None:
    assert not [name for name in imported if name == unused or name.startswith(f"{unused}.")]


def test_a_compile_imports_few_modules(imported: frozenset[str]) -> None:
    assert "tri_backend_nvidia.pipeline" in imported
    assert len(imported) <= MOST
