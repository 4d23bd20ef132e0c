"""Kernels of other people's packages, recorded as they are launched, compiled by tri and by Triton, and compared without a GPU.

``python -m integration.strangers`` has the commands; ``docs/design/strangers.md`` says how it works.
"""
