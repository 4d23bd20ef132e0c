"""Lowering of a planned kernel to loops of vector instructions."""
