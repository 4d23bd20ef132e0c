"""Everything that needs several packages at once: demo, lints, benchmarks, a toy backend, cross-package
tests.
"""
