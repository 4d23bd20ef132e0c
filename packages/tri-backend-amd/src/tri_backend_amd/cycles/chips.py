"""Rates of the processors, each from a published table.

Sources: T is the repository ROCm/gfx950-gluon-tutorials, N is nod-ai/amd-shark-ai's ``docs/empirical-lds``, L is LLVM's AMDGPU target.
"""

from __future__ import annotations

from tri_core.lazy_dataclasses import dataclass

__all__ = ["CHIPS", "Chip"]


@dataclass(frozen=True)
class Chip:
    """Cycles of the GPU core's clock.

    ``slot``: between two instructions of a wavefront (T kernels/attention/README.md, section 2).
    ``lds_bytes``: that a compute unit reads or writes in a cycle (T docs/lds_throughput.md; T kernels/gemm/gfx942/README.md; N).
    ``latency``: from issue to data of a read of LDS: 50 to 70 (T docs/lds_throughput.md 1.6).
    ``queue``: accesses of LDS that two SIMDs share (there).
    ``write``: slots in which a write of 128 bits is issued without conflicts: about 20 cycles on gfx942, 4 of its address and 16 of its data
    (T kernels/gemm/gfx942/intra_wave/README.md).
    ``cache``: of the first-level cache for a load of 128 bits a lane (T kernels/gemm/intra_wave/a16w16/v8_sliceMN/README.md, 4.3 and 4.4).
    ``loads``: queue entries of a compute unit in front of it; ``trip``: from issue to data where most is in the second-level cache;
    ``under_way``: bytes that a compute unit has under way (T docs/tcp_bound_tile_model.md).
    ``barrier``: until all are there: mean 37 with three in a step, 65 with two (T kernels/gemm/gfx942/intra_wave/note.md, 3.4).
    """

    lds_bytes: int
    write: int = 1
    slot: int = 4
    latency: int = 60
    queue: int = 8
    cache: int = 16
    loads: int = 12
    trip: int = 1000
    under_way: int = 44 << 10
    barrier: int = 37
    simds: int = 4


CHIPS = {"gfx90a": Chip(128, write=5), "gfx942": Chip(128, write=5), "gfx950": Chip(256)}
