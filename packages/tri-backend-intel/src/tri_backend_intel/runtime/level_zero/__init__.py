"""Level Zero directly: its loader through ctypes."""
