"""PyTorch's own tests of Inductor, each by Triton and by tri; they are not in PyTorch's wheels, but in its sources."""
