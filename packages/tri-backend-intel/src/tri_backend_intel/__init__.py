"""Intel GPUs for tri: SPIR-V code, run through SYCL on Level Zero or OpenCL devices.

Everything is found through the entry point :mod:`tri_backend_intel.plugin`; nothing here is meant to be
imported by a user.
"""
