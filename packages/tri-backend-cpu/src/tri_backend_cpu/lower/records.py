"""Records in a kernel's metadata of its assertions and prints, and of the source of its accesses."""

from __future__ import annotations

from typing import Any

from tri_core.locations import source_location
from tri_core.ttir import Op

__all__ = ["Reports", "frames_of"]


class Reports:
    """The assertions and prints of a kernel, as JSON-able records; code refers to them by number."""

    def __init__(self) -> None:
        self.assertions: list[dict[str, Any]] = []
        self.prints: list[dict[str, Any]] = []
        self._numbers: dict[Op, int] = {}

    def assertion(self, op: Op) -> int:
        """The number of ``op``, counted from 1."""
        if op not in self._numbers:
            self.assertions.append({"message": op.attributes["message"], "place": frames_of(op)})
            self._numbers[op] = len(self.assertions)
        return self._numbers[op]

    def print(self, op: Op) -> int:
        """The number of ``op``, counted from 0."""
        signed = op.attributes.get("isSigned", ())
        self.prints.append(
            {
                "prefix": op.attributes["prefix"],
                "hex": bool(op.attributes.get("hex", False)),
                "types": [v.dtype.name for v in op.operands],
                "bits": [v.dtype.bits for v in op.operands],
                "operand": list(op.attributes.get("operand", (0, len(op.operands)))),
                "signed": [bool(s) for s in signed] if isinstance(signed, tuple) else [],
                "shape": next((list(v.shape) for v in op.operands if v.is_tensor), []),
            }
        )
        return len(self.prints) - 1


def frames_of(op: Op) -> list[tuple[str, int, int]]:
    """File, line and column of ``op`` and of the calls that led there, innermost first; empty if not known."""
    place = source_location(op.location)
    if place is None:
        return []
    return [(p.file, p.line, p.column) for p in (place, *place.call_sites)]
