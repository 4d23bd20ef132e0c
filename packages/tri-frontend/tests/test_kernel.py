"""A kernel as a record: the compiler and the interpreter need no more of a jit function."""

from __future__ import annotations

import numpy as np

import tri
import tri.language as tl
from tri.kernel import Kernel


@tri.jit
def _twice(x):  # type: ignore[no-untyped-def]
    return x + x


def _add(x_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, _twice(x), mask=offsets < n)


def test_a_record_is_compiled_as_a_jit_function_is() -> None:
    signature, constants = {"x_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 16}
    compiled = [
        tri.compile(tri.ASTSource(made, signature, constants), target="fake:a").asm["ttir"]
        for made in (Kernel(_add), tri.jit(_add))
    ]
    assert "tt.load" in compiled[0]
    assert compiled[0] == compiled[1]


def test_a_record_is_interpreted_as_a_jit_function_is() -> None:
    kernel = Kernel(_add)
    array = np.arange(8, dtype=np.float32)
    kernel.services.interpret(kernel, kernel.services.launcher(kernel), (1,), (array, 5), {"BLOCK": 8})
    assert array.tolist() == [0, 2, 4, 6, 8, 5, 6, 7]


def test_keys_of_a_record_and_of_its_jit_function_are_one() -> None:
    assert Kernel(_add).cache_key == tri.jit(_add).cache_key
    assert Kernel(_add).cache_key != Kernel(_twice.fn).cache_key


def test_new_source_makes_a_new_key() -> None:
    kernel = Kernel(_add)
    before = kernel.cache_key
    kernel._unsafe_update_src(kernel.src.replace("offsets < n", "offsets <= n"))
    assert kernel.cache_key != before
