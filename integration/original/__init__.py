"""The original, Triton 3.9, as the judge of what kernels mean: ``nox -s triton``.

Kernels that the tests launch on the CPU target are recorded with their arguments (:mod:`recorder`), written
so that the original can compile them too (:mod:`portable`), and given to an interpreter that has Triton
(:mod:`worker`, driven by :mod:`client`); :mod:`checks` compares.
"""

from __future__ import annotations
