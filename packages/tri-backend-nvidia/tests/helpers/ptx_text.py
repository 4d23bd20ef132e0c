"""PTX run by the text level: one instruction on arrays, or a whole kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.text import TextProgram
from tri_runtime.simulator import Machine, Memory, Scene

Array = npt.NDArray[Any]

_LETTER = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}
_REGISTERS = """
.reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %q<16>; .reg .b64 %at<16>; .reg .b128 %w<4>;
"""


def kernel(body: str, count: int) -> str:
    """A module with kernel ``k`` of ``count`` pointers ``%at0`` and on, and 1 KB of shared memory ``smem``."""
    parameters = ", ".join(f".param .u64 p{i}" for i in range(count))
    loads = "\n".join(f"ld.param.b64 %at{i}, [p{i}];" for i in range(count))
    head = ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n"
    return f"{head}.visible .entry k({parameters})\n{{{_REGISTERS}{loads}\n{body}\nret;\n}}\n"


def run(body: str, arrays: Sequence[Array], threads: int = 32, grid: int = 1, functions: str = "") -> None:
    """Run ``body`` with pointers to ``arrays``, which are written in place, and ``functions`` behind it in the module."""
    program = TextProgram(kernel(body, len(arrays)) + functions, "k")
    machine = Machine(program=program, num_threads=threads, threads_per_warp=32, shared_bytes=1024)
    memory = Memory("global", scene=Scene())
    places = [memory.allocate(a.reshape(-1).view(np.uint8), f"array {i}") for i, a in enumerate(arrays)]
    machine.run((grid, 1, 1), places, memory)
    for array, place in zip(arrays, places, strict=True):
        array.reshape(-1).view(np.uint8)[:] = memory.contents(place)


def evaluate(code: str, inputs: Sequence[Array], result: str, bits: int) -> Array:
    """Register ``result`` of ``bits`` after ``code``, for each row of ``inputs``, which it finds in ``{0}``, ``{1}``, ...

    ``%p1`` to ``%p3``, ``%h8`` to ``%h15``, ``%r8`` to ``%r31`` and ``%q8`` to ``%q15`` are free.
    """
    count = len(inputs[0])
    threads = -(-count // 32) * 32
    padded = [np.resize(a, threads) for a in inputs]
    made = np.zeros(threads, f"u{bits // 8}")
    names = [
        f"%{'h' if a.itemsize <= 2 else 'r' if a.itemsize == 4 else 'q'}{i}" for i, a in enumerate(inputs)
    ]
    lines = ["mov.u32 %r31, %tid.x;"]
    for i, (array, name) in enumerate(zip(padded, names, strict=True)):
        lines += [
            f"mad.wide.u32 %at10, %r31, {array.itemsize}, %at{i};",
            f"ld.global.b{8 * array.itemsize} {name}, [%at10];",
        ]
    lines += [
        code.format(*names),
        f"mad.wide.u32 %at10, %r31, {bits // 8}, %at{len(inputs)};",
        f"st.global.b{bits} [%at10], {result};",
    ]
    run("\n".join(lines), [*padded, made], threads)
    return made[:count]
