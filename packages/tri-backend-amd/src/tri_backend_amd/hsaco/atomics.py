"""Properties of atomics' memory that LLVM may assume.

Memory shared with the host at fine grain, or of another device, lacks most atomic instructions, so LLVM makes
loops of compare-and-swap unless metadata says that there is none of it.  HIP's compiler adds that by default.  On the
oldest of our processors float additions in memory flush subnormal sums to zero; that too is accepted.
"""

from __future__ import annotations

import re

__all__ = ["on_device_memory"]

_RMW = re.compile(r"^(  .*= atomicrmw .*)$", re.MULTILINE)
#: an empty metadata node under a number that no module reaches
_NODE = 9_000_000
_METADATA = ("no.fine.grained.memory", "no.remote.memory", "ignore.denormal.mode")
_CLAIMS = "".join(f", !amdgpu.{word} !{_NODE}" for word in _METADATA)


def on_device_memory(llvm_ir: str) -> str:
    """``llvm_ir`` with every read-modify-write marked to work on the device's own memory."""
    marked, count = _RMW.subn(rf"\1{_CLAIMS}", llvm_ir)
    return f"{marked}\n!{_NODE} = !{{}}\n" if count else llvm_ir
