"""Simulation of the machine ops, in NumPy, from the manuals' tables alone."""
