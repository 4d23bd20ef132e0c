"""The launcher's code, as LLVM IR: one function for all kernels, which reads what it does from records.

It is fixed text, so that it is compiled once per process and nothing of a user's kernel gets into LLVM here.  The records
are those of :mod:`tri_runtime.native.records`; of Python it uses functions that its documentation names, and no
structure's layout.  ``tri_launch`` has the calling convention ``METH_FASTCALL | METH_KEYWORDS``, and arguments ``(grid, *arguments)``:

* ``fits``: whether a call is one that a record describes, here and now; arguments go into the block of parameters on the way;
* ``grid_of``: the grid as three numbers; ``told``: what a grid that is a function says;
* ``ready``: what depends on the grid, and descriptors; ``start``: the call of the driver, without Python's lock;
* whatever does not fit or fails goes to ``otherwise``, a Python function that does the whole launch and explains.

``%x = field T, record N, %p`` is short for the load of field N of a record.
"""

from __future__ import annotations

import re

from tri_runtime.native.code.arguments import ARGUMENTS
from tri_runtime.native.code.launching import LAUNCHING
from tri_runtime.native.code.matching import MATCHING
from tri_runtime.native.code.types import TYPES

__all__ = ["BLOCK_BYTES", "CODE", "ENTRY", "PARAMETERS"]

ENTRY = "tri_launch"
#: the most bytes that parameters have, and the most parameters
BLOCK_BYTES, PARAMETERS = 4096, 512

_FIELD = re.compile(r"(%[\w.]+) = field (\w+), (\w+) (\d+), (%[\w.]+)")
_LOAD = r"\1.at = getelementptr %\3, ptr \5, i32 0, i32 \4\n  \1 = load \2, ptr \1.at"

CODE = _FIELD.sub(_LOAD, "".join((TYPES, ARGUMENTS, MATCHING, LAUNCHING)))
