"""Stubs of the kernel language, for type checkers and editors: made from the functions that kernels call."""
