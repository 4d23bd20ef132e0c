"""The markers of ``ttg`` (:mod:`tri_core.ir.markers`): attributes that passes over TTGIR, and its lowering, leave for each other."""

from __future__ import annotations

from tri_core.ir.markers import marker

__all__ = [
    "AWAITED",
    "CLUSTER",
    "CONVERSION_BYTES",
    "HELD_BEFORE",
    "LATE",
    "MARK",
    "OFFSET",
    "OWNED",
    "PERSISTENT",
    "PLACED",
    "REMARKS",
    "SHARED_BYTES",
    "TENSOR_MEMORY",
]

# --- the execution shape of a module ----------------------------------------------------------------------

for _name, _meaning in {
    "target": "modules for this target",
    "num-warps": "modules whose CTAs have so many warps",
    "threads-per-warp": "modules whose warps have so many threads",
    "num-ctas": "modules whose clusters have so many CTAs",
}.items():
    marker(
        f"ttg.{_name}",
        _meaning,
        written=("convert-triton-to-tritongpu",),
        read=("analysis", "lowering", "stage"),
    )
marker(
    "ttg.total-num-warps", "modules whose CTAs have so many warps, those of partitions included",
    written=("warp-specialize",), read=("lowering",),
)  # fmt: skip
#: of shared memory: :func:`tri_gpu_dialect.plans.scratch.conversion_bytes`
CONVERSION_BYTES = marker(
    "ttg.conversion-bytes", "modules whose conversions take at most so many bytes of shared memory at a time",
    written=("convert-triton-to-tritongpu",), read=("allocate-shared-memory", "insert-barriers", "lowering"),
)  # fmt: skip
SHARED_BYTES = marker(
    "ttg.shared", "modules whose CTAs take so many bytes of shared memory",
    written=("allocate-shared-memory",), read=("lowering", "stage"),
)  # fmt: skip
#: Triton's name for the columns of tensor memory that a kernel allocates
TENSOR_MEMORY = marker(
    "ttg.tensor_memory_size", "modules whose CTAs take so many columns of tensor memory",
    written=("allocate-tensor-memory",), read=("stage",),
)  # fmt: skip
REMARKS = marker(
    "ttg.remarks", "modules of which passes say something to whoever wrote the kernel",
    written=("fit-shared-memory", "pipeline", "stage-matrix-operands", "subtile-epilogue"), read=("stage",),
)  # fmt: skip
marker(
    "ttg.not_specialized", "modules whose kernel could not be cut into producer and consumers, with why",
    written=("warp-specialize",), read=(),
)  # fmt: skip

# --- places in memory -------------------------------------------------------------------------------------

OFFSET = marker(
    "allocation.offset", "buffers, and ops with scratch memory, that begin there in shared memory",
    written=("allocate-shared-memory",), read=("insert-barriers", "lowering"),
)  # fmt: skip
marker(
    "ttg.global_scratch_memory_offset", "Triton's: allocations that begin there in a CTA's global memory",
    written=("text",), read=(),
)  # fmt: skip

OWNED = marker(
    "ttg.owned", "loads that the first thread that holds an element does, and no other",
    written=("insert-barriers",), read=("lowering",),
)  # fmt: skip

# --- loops, copies, barriers ------------------------------------------------------------------------------

HELD_BEFORE = marker(
    "ttg.held_before", "comparisons in a loop, not pipelined, that hold for all elements in the iterations before its first one",
    written=("split-loops",), read=("amdg-share-peeled-iteration",),
)  # fmt: skip

LATE = marker(
    "ttg.late_dots", "loops in which the buffers of an iteration stay untouched during the next one",
    written=("pipeline",), read=("sink-dot-waits",), removed=("sink-dot-waits", "pipeline-chained-dots"),
)  # fmt: skip
PLACED = marker(
    "ttg.placed_waits", "loops whose waits for dots are where they should be",
    written=("pipeline-chained-dots",), read=("sink-dot-waits",), removed=("sink-dot-waits",),
)  # fmt: skip
AWAITED = marker(
    "ttg.awaited", "allocations that partitions fill by copies, each of which the default region waits for",
    written=("warp-specialize",), read=("allocate-shared-memory",),
)  # fmt: skip
PERSISTENT = marker(
    "ttg.persistent",
    "the loop over programs",
    written=("make-persistent",),
    read=("warp-specialize", "insert-barriers"),
)
#: an arrival is made at the barrier of each CTA, a copy goes to all CTAs that hold copies of the block, and at a barrier all threads of the
#: cluster synchronise
CLUSTER = marker(
    "ttg.cluster", "ops of barriers in memory, and copies, that have to do with all CTAs of a cluster",
    written=("warp-specialize",), read=("lowering",),
)  # fmt: skip
MARK = marker(
    "layout.mark", "ops without results that are to be told apart while layouts are assigned",
    written=("remove-layout-conversions",), read=("remove-layout-conversions",), removed=("remove-layout-conversions",),
)  # fmt: skip
