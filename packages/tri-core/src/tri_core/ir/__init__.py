"""Queries of passes on ops, whatever their dialect."""
