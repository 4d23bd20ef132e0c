"""Data races in global memory: what programs of one launch did to each element, and which of it is ordered.

For whoever runs programs and sees their accesses (the interpreter, the simulator): :class:`Order` knows which
accesses happen before what a program does now, :class:`Shadow` remembers who touched each piece of an array.
Needs NumPy only.
"""

from __future__ import annotations

from tri_runtime.races.order import RELAXED, History, Order, Semantics
from tri_runtime.races.shadow import Conflict, Shadow, unchanged

__all__ = ["RELAXED", "Conflict", "History", "Order", "Semantics", "Shadow", "unchanged"]
