"""Analyses of a kernel before any loop is made: runs of indices, inductions, the fusion plan, memory."""
