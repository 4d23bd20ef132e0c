"""Machine code of published kernels, beside Triton's."""
