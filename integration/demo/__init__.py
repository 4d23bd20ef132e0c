"""The four example kernels on one target, checked against NumPy: ``python -m integration.demo``."""
