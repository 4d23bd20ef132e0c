"""The example kernels: the same source for every target."""
