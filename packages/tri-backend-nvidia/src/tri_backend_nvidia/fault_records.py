"""Record of a failure: the format shared by kernels with assertions and the host."""

from __future__ import annotations

__all__ = ["RECORD_SYMBOL"]

#: the module's variable that is the slot (:mod:`tri_core.fault_records`)
RECORD_SYMBOL = "tri_fault_record"
