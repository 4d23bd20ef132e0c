"""Launches by compiled code: what it hands to the pool."""

from __future__ import annotations

import ctypes

from tri_backend_cpu.launch_abi import ARGUMENTS
from tri_backend_cpu.runtime.kernel import CpuKernel
from tri_backend_cpu.runtime.launcher import CHUNKS_PER_THREAD
from tri_backend_cpu.runtime.pool import ThreadPool
from tri_backend_cpu.runtime.start_ir import NATIVE, TASK_BYTES
from tri_core import knobs
from tri_core.api import HiddenNumbers, LaunchPlan
from tri_runtime import argument_table

__all__ = ["launch_plan"]


def launch_plan(kernel: CpuKernel, pool: ThreadPool) -> LaunchPlan | None:
    """Launch plan of ``kernel`` on arrays that do not overlap; None if a launch has something to report, or
    is checked.
    """
    address, facts = kernel.versions[0]
    table = argument_table(kernel.parameters)
    if facts.assertions or facts.prints or facts.accesses or ARGUMENTS + table.size > TASK_BYTES:
        return None
    start, place, watched = pool.places()
    fields = {
        "pool": place,
        "watched": watched,
        "kernel": address,
        "printer": 0,
        "arena_bytes": facts.arena,
        "argument_bytes": table.size,
        "threads": knobs.get("CPU_THREADS"),
        "chunks": CHUNKS_PER_THREAD,
        "stored": facts.stored,
        "stream_from": knobs.get("CPU_STREAM_BYTES"),
        "cost": 0,
    }
    native = ctypes.create_string_buffer(NATIVE.pack(**fields), NATIVE.size)
    return LaunchPlan(
        name=kernel.name,
        start=start,
        function=ctypes.addressof(native),
        threads=1,
        shared=0,
        parameters=tuple(kernel.parameters),
        numbers=lambda stream: HiddenNumbers(),
        keep=(kernel, native, pool),
        apart=kernel.apart,
    )
