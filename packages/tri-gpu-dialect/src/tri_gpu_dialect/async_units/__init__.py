"""The model of hardware with asynchronous units: copies into shared memory and dots that run beside the threads.

Such hardware signals by barriers with phases, lets warps run different code (partitions: producer and consumer warps),
and is used best by persistent kernels.  A backend opts in by giving the records that describe its hardware.
"""

from __future__ import annotations

from tri_gpu_dialect.async_units.proxy_ordering import ProxyOrdering

__all__ = ["ProxyOrdering"]
