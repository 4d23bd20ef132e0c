"""Random well-typed kernels: one program, every executing target, NumPy and Triton's interpreter, one answer.

``python -m integration.random_kernels --count 2000`` draws kernels, runs each on all targets with the same random
inputs, and compares what they stored with what NumPy makes of the program; ``nox -s random`` does it.  A failing
kernel is shrunk and kept in ``found``.
"""

from __future__ import annotations
