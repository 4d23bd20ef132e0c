"""Kernels in Helion's language, whose generator writes Triton for them."""
