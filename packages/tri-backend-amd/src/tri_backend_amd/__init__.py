"""AMD GPUs for tri: AMDGPU code objects, run through HIP.

Everything is found through the entry point :mod:`tri_backend_amd.plugin`; nothing here is meant to be
imported by a user.
"""
