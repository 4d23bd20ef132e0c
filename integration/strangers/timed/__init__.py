"""Strangers' operators, timed on a GPU against Triton, kernel by kernel."""
