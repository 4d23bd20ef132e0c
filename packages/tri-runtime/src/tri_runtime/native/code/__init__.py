"""The launcher's code, as LLVM IR: one function for all kernels, which reads what it does from records.

It is fixed text, so that it is compiled once per process and nothing of a user's kernel gets into LLVM here.  The records
are those of :mod:`tri_runtime.native.layouts`, whose fields the text accesses by name (:func:`tri_runtime.schema.expand`); of Python it
uses functions that its documentation names, and no structure's layout.  The entries have the calling convention ``METH_FASTCALL | METH_KEYWORDS``;
``tri_launch`` has arguments ``(grid, *arguments)``, ``tri_run`` those of a compiled kernel's ``run``:

* ``fits``: whether a call is one that a record describes, here and now; arguments go into the block of parameters on the way;
* ``grid_of``: the grid as three numbers; ``call_grid``: the result of a grid that is a function;
* ``ready``: what depends on the grid, and descriptors; ``start``: the call of the driver, without Python's lock;
* whatever does not fit or fails goes to ``otherwise``, a Python function that does the whole launch and explains.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from tri_runtime.native.code.arguments import ARGUMENTS
from tri_runtime.native.code.launching import LAUNCHING
from tri_runtime.native.code.matching import MATCHING
from tri_runtime.native.code.types import TYPES
from tri_runtime.native.layouts import RECORDS, ConditionKind, ItemKind
from tri_runtime.schema import expand

__all__ = ["CODE", "Entry", "Limit"]


class Entry(Enum):
    """Entry point of a launch, by the function's symbol: ``kernel[grid](*arguments)``, or a compiled kernel's
    ``run(x, y, z, stream, ...)``.
    """

    GRID = "tri_launch"
    COMPILED = "tri_run"


class Limit(IntEnum):
    """The most bytes that parameters have, and the most parameters."""

    BLOCK_BYTES = 4096
    PARAMETERS = 512


_TEXT = "\n".join((*(record.llvm for record in RECORDS), TYPES, ARGUMENTS, MATCHING, LAUNCHING))
CODE = expand(_TEXT, RECORDS, (ItemKind, ConditionKind, Limit))
