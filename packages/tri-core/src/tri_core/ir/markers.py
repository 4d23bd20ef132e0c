"""Markers: attributes that travel between passes, beside those that an op's definition declares.

A marker has a dialect's name before its own (``tt.num_stages``), as MLIR has it of discardable attributes.  Whoever brings one registers
it, with what it means and who writes, reads and removes it, and uses the constant that he gets::

    LATE = marker("ttg.late_dots", "loops whose buffers stay untouched during the next iteration",
                  written=("pipeline",), read=("sink-dot-waits",), removed=("sink-dot-waits",))

:func:`verify_markers` refuses one that nobody registered: it is misspelt, or left from a pass that nobody reads from any more.  Attributes
with the name of one of MLIR's own dialects are MLIR's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType

from tri_core.errors import PluginError, VerificationError
from tri_core.ir.walking import collect
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import context, ir, registry

__all__ = [
    "ASKED",
    "CHOSEN",
    "ENTERED",
    "EXPLICIT",
    "FACTOR",
    "KEPT",
    "ONE_INDEX",
    "OWN_ROWS",
    "PROMOTED",
    "SCHEDULE",
    "SELDOM",
    "STAGES",
    "Marker",
    "marker",
    "markers",
    "verify_markers",
]


@dataclass(frozen=True)
class Marker:
    """``name`` stands on ops that are ``meaning``.

    ``written``, ``read``, ``removed``: by which passes, by their names, or other parts (``frontend``, ``lowering``, ``stage``, ``analysis``).
    None removes it: it stays until the op is lowered.
    """

    name: str
    meaning: str
    written: tuple[str, ...]
    read: tuple[str, ...]
    removed: tuple[str, ...] = ()


_MARKERS: dict[str, Marker] = {}


def marker(
    name: str, meaning: str, *, written: Sequence[str], read: Sequence[str], removed: Sequence[str] = ()
) -> str:
    """Register the marker called ``name``; gives the name.

    PluginError for a name without a dialect's, for one that nobody writes, and for one that stands for something else already.
    """
    made = Marker(name, meaning, tuple(written), tuple(read), tuple(removed))
    if "." not in name or not written:
        raise PluginError(
            f"the marker {name!r} has no {'writer' if '.' in name else 'dialect'}",
            remedy="call it dialect.name, and say which pass or part writes it",
        )
    if _MARKERS.setdefault(name, made) != made:
        raise PluginError(
            f"the marker {name} is registered already: on {_MARKERS[name].meaning}",
            remedy="give yours the name of your own dialect",
        )
    return name


def markers() -> Mapping[str, Marker]:
    """All that are registered, by name."""
    return MappingProxyType(_MARKERS)


@cache
def _is_upstream(dialect: str) -> bool:
    """True if ``dialect`` is part of MLIR, which verifies its attributes."""
    if dialect in registry.dialects:
        return False
    try:
        context().get_dialect_descriptor(dialect)
    except ValueError:
        return False
    return True


def verify_markers(module: ir.Module) -> None:
    """VerificationError for an op in ``module`` with a marker that nobody registered."""
    for op in collect(module.operation):
        for name in op.attributes:
            if "." in name and name not in _MARKERS and not _is_upstream(name.partition(".")[0]):
                near = get_close_matches(name, _MARKERS, n=1)
                raise VerificationError(
                    f"{op.name} has the attribute {name}, which nobody registered",
                    location=source_location(op.location),
                    remedy=(f"did you mean {near[0]}? else " if near else "")
                    + f"register it by tri_core.ir.markers.marker({name!r}, ...), or remove it in the pass that reads it",
                )


# --- what programs say ------------------------------------------------------------------------------------

STAGES = marker(
    "tt.num_stages", "loops with so many stages", written=("frontend", "loop-unroll", "split-loops"),
    read=("pipeline", "warp-specialize"),
)  # fmt: skip
FACTOR = marker(
    "tt.loop_unroll_factor", "loops of which so many iterations become one",
    written=("frontend",), read=("loop-unroll",), removed=("loop-unroll",),
)  # fmt: skip
marker(
    "tt.warp_specialize", "loops whose kernel is to be cut into producer and consumer warps, or (false) not",
    written=("frontend",), read=("warp-specialize", "choose-schedule"),
)  # fmt: skip
for _hint in ("disallow_acc_multi_buffer", "flatten"):
    marker(f"tt.{_hint}", "loops of which Triton is told this", written=("frontend",), read=())
ONE_INDEX = marker(
    "tt.one_index", "products of an index and a stride: the block of an array that is accessed has this one index along this dimension",
    written=("frontend",), read=("insert-barriers",),
)  # fmt: skip
for _fact in ("divisibility", "contiguity", "constancy", "pointer_range"):
    marker(f"tt.{_fact}", "what has this by what the program says", written=("frontend",), read=("analysis",))

EXPLICIT = marker(
    "tt.explicit", "modules whose author chose all layouts and buffers: no optimising pass runs on them",
    written=("frontend",), read=("stage",),
)  # fmt: skip

# --- what passes say to each other ------------------------------------------------------------------------

KEPT = marker(
    "tt.kept", "ops that stay as they are, with all that they use and make, while values are expanded",
    written=("rewrite-tensor-descriptors",),
    read=("rewrite-tensor-descriptors",),
    removed=("rewrite-tensor-descriptors",),
)  # fmt: skip
ASKED = marker(
    "tt.asked", "accesses that are done only where their condition holds, and branches on it",
    written=("promote-pointer-tiles", "rewrite-tensor-descriptors"), read=("rewrite-tensor-descriptors",),
)  # fmt: skip
SELDOM = marker(
    "tt.seldom", "stores by pointers that are done only where such a condition does not hold: what they cost matters little",
    written=("rewrite-tensor-descriptors",), read=("remove-layout-conversions",),
)  # fmt: skip
OWN_ROWS = marker(
    "tt.own_rows", "stores of whole blocks for which no element should leave the warp that computed it",
    written=("rewrite-tensor-descriptors",), read=("remove-layout-conversions",),
)  # fmt: skip
PROMOTED = marker(
    "tt.promoted", "descriptors that the compiler made of pointers, for reading or writing; one may be of an empty array",
    written=("promote-pointer-tiles",), read=("rewrite-tensor-descriptors", "lower-descriptors-to-tma", "lowering"),
)  # fmt: skip
ENTERED = marker(
    "tt.entered", "branches that are taken if the loop in them runs",
    written=("promote-pointer-tiles",), read=("promote-pointer-tiles",),
)  # fmt: skip
CHOSEN = marker(
    "tt.persistent", "modules whose kernel is to be persistent if it can be, since that was estimated to be faster",
    written=("choose-schedule",), read=("make-persistent",),
)  # fmt: skip
SCHEDULE = marker(
    "tt.schedule", "modules that say how their kernel runs, and why that was chosen",
    written=("choose-schedule",), read=("stage",),
)  # fmt: skip
marker(
    "tt.descriptors_by_pointer", "modules whose descriptors became pointers, with why",
    written=("rewrite-tensor-descriptors",), read=("stage",),
)  # fmt: skip
marker(
    "tt.dot_scaled_decomposed", "modules whose dots with scales were decomposed, with why",
    written=("decompose-dot-scaled",), read=("stage",),
)  # fmt: skip
