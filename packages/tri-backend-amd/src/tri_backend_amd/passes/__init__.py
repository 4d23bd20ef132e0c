"""Passes of this backend over TTGIR."""
