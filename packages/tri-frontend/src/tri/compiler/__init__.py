"""From a jit function's syntax tree to a TTIR module."""
