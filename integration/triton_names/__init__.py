"""The names of Triton's wheel, held against what the compatibility layer has."""
