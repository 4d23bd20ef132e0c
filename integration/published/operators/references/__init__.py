"""Plain PyTorch in float64 of operators for which their packages, and PyTorch, have none."""
