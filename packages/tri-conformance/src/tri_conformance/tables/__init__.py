"""The language, row by row: kernels, oracles and contracts."""
