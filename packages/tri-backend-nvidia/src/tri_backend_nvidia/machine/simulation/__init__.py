"""What the machine ops do in the simulator, in NumPy, by the manuals' tables alone."""
