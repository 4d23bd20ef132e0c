"""Shared memory: what goes there, where it lies, and the barriers between its uses."""
