"""The CPU backend of tri: TTIR to fused, vectorised loops, compiled and run in process.

Read it in the order of a compile: :mod:`.plugin` (what core sees), :mod:`.pipeline` (the stages),
:mod:`.graph` (a kernel as plain objects), :mod:`.analysis` (which ops become one loop, which values get
memory), :mod:`.lower` (loops of vector instructions), :mod:`.vector_math` (exp and its like) and
:mod:`.runtime` (loading, threads, launching).
"""

from __future__ import annotations

__all__: list[str] = []
