"""Kernels of the kit: compiled by the target, never run by Python."""
