"""Kernels on Intel GPUs, judged without a device: operations of SPIR-V, and the machine code of the driver's
compiler.
"""
