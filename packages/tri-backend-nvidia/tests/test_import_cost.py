"""What a compile for a GPU imports: nothing that only runs kernels."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMPILE = """
import sys
import tri, tri.language as tl
from tri import ASTSource

from integration.kernels.vector_add import vector_add

signature = {{name: "*fp32" for name in vector_add.arg_names[:3]}}
signature |= {{vector_add.arg_names[3]: "i32", "BLOCK": "constexpr"}}
kernel = tri.compile(ASTSource(vector_add, signature, {{"BLOCK": 128}}), target="nvidia:sm_90a")
assert kernel.asm["ptx"]
print(*sorted(name for name in sys.modules if name.startswith({prefix!r})))
"""


@pytest.mark.parametrize("prefix", ["tri_runtime.simulator", "tri_runtime.loader.l"])
def test_a_compile_imports_nothing_that_runs_kernels(prefix: str) -> None:
    program = COMPILE.format(prefix=prefix)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == []
