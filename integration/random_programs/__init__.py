"""Random kernels of several programs that wait for each other, or share memory by atomics."""
