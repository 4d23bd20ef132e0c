"""Transformations of TTGIR that any backend may use, by what they decide: layouts, memory, the pipelining of loops."""
