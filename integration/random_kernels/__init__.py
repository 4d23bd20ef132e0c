"""Random well-typed kernels: one source, every executing target, one answer.

``python -m integration.random_kernels --count 2000 --targets cpu,interpreter,intel`` draws kernels, runs each
on all targets with the same random inputs, and compares what they stored; ``nox -s random`` does it.  A
failing kernel is shrunk by hypothesis and printed, source and all.
"""

from __future__ import annotations
