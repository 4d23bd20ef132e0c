"""Elementary functions as short sequences of vector instructions.

Each is a range reduction and a polynomial (minimax fits made for this package), without branches, for f32
and f64, of any width, scalars included.  The errors, measured by the tests against results of twice the
precision, are below 1.5 ulp (2 for erf).  Functions that kernels seldom
use are calls of the C library, lane by lane (:mod:`.libm`).
"""

from __future__ import annotations

from tri_backend_cpu.vector_math.table import FUNCTIONS, apply

__all__ = ["FUNCTIONS", "apply"]
