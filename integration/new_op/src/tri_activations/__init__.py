"""Activation functions for kernels, as ops."""
