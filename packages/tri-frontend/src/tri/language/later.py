"""Names of Triton's language that this version does not build yet, and what to do meanwhile."""

from __future__ import annotations

__all__ = ["LATER_METHODS", "LATER_NAMES"]

_DESCRIPTORS = "load through a block of pointers with a mask"
_SCALED = "scale the operands, and use tl.dot"

#: functions of :mod:`tri.language`
LATER_NAMES: dict[str, str] = {
    "advance": _DESCRIPTORS,
    "atomic_load": "use tl.load with volatile=True, or tl.atomic_or with 0",
    "atomic_poll": "loop over tl.atomic_cas",
    "atomic_store": "use tl.atomic_xchg",
    "bitonic_merge": "sort outside of the kernel",
    "dot_scaled": _SCALED,
    "expect_zero": "leave it out: it is a hint",
    "inline_asm_elementwise": "use the functions of tri.language",
    "load_tensor_descriptor": _DESCRIPTORS,
    "make_block_ptr": _DESCRIPTORS,
    "make_tensor_descriptor": _DESCRIPTORS,
    "map_elementwise": "use tl.where",
    "sort": "sort outside of the kernel",
    "store_tensor_descriptor": "store through a block of pointers with a mask",
    "target_info": "pass what depends on the target as a constexpr",
    "tensor_descriptor": _DESCRIPTORS,
    "topk": "select outside of the kernel",
}

#: methods of :class:`tri.language.tensor`
LATER_METHODS: dict[str, str] = {
    name: LATER_NAMES[name] for name in ("advance", "atomic_load", "atomic_poll", "atomic_store", "sort")
}
