"""What a kernel with assertions and the host agree on: the record of a failure."""

from __future__ import annotations

__all__ = ["RECORD_BYTES", "RECORD_SYMBOL"]

#: the module's variable: address of the record (8 bytes, 0: there is none), whether a thread writes it, whether it is written
RECORD_SYMBOL = "tri_fault_record"
#: of a record: the site plus one (16 bits), the thread (16), the program's x (32), y plus one (16), z plus one (16)
RECORD_BYTES = 16
