"""The device for PyTorch's Inductor: its numbers, and blocks for a machine whose threads are slow."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.api import InductorInfo, InductorKernel, InductorProperties, Target

from tri_backend_toy.architectures import ARCHITECTURES, DEVICE_KIND

__all__ = ["configuration", "inductor"]

#: elements that one warp takes at once
_ELEMENTS = 256


def inductor(target: Target) -> InductorInfo:
    """The row of ``target`` in PyTorch's words; one processor runs all threads."""
    row = ARCHITECTURES[target.key.arch]
    return InductorInfo(
        device_type=DEVICE_KIND,
        properties=InductorProperties(
            name=f"Toy {target.key.arch}",
            multi_processor_count=1,
            warp_size=row.lanes,
            max_threads_per_block=row.threads,
            max_threads_per_multi_processor=row.threads,
            shared_memory_per_block=row.shared,
        ),
        templates={
            "mm": ({"block_m": 32, "block_n": 32, "block_k": 16, "num_stages": 1, "num_warps": 1},),
            "flex_attention": (
                {"block_m": 16, "block_n": 32, "num_stages": 1, "num_warps": 1},
                {"block_m": 32, "block_n": 32, "num_stages": 1, "num_warps": 2},
            ),
        },
        configuration=configuration,
    )


def configuration(kernel: InductorKernel) -> Mapping[str, int] | None:
    """One warp, and as many elements as it is quick with; PyTorch chooses for kernels of several dimensions."""
    across = [name for name in kernel.sizes if not name.startswith("r")]
    if across != ["x"] or kernel.sizes.keys() - {"x", "r0_"}:
        return None
    if kernel.kind == "pointwise":
        return {"XBLOCK": _ELEMENTS, "num_warps": 1, "num_stages": 1}
    if kernel.kind == "persistent_reduction":
        return {"XBLOCK": 1, "num_warps": 1, "num_stages": 1}
    return {"XBLOCK": 1, "R0_BLOCK": _ELEMENTS, "num_warps": 1, "num_stages": 1}
