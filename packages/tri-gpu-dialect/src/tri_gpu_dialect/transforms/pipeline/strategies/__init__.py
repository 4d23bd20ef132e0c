"""Strategies that bring loads of pipelined loops to their use: entries of ``PipelinePolicy.loads``, a module
each.

``AsyncCopy``
    asynchronous copies into a ring of stages in shared memory
``ThroughRegisters``
    to registers, and late to one buffer in shared memory
``InRegisters``
    to registers, where they stay

They are records that :class:`tri_gpu_dialect.policies.loads.LoadStrategy` describes; a backend may have others.
"""

from tri_gpu_dialect.transforms.pipeline.strategies.async_copy import AsyncCopy
from tri_gpu_dialect.transforms.pipeline.strategies.in_registers import InRegisters
from tri_gpu_dialect.transforms.pipeline.strategies.registers import ThroughRegisters

__all__ = ["AsyncCopy", "InRegisters", "ThroughRegisters"]
