"""Analyses for asynchronous copies and dots."""
