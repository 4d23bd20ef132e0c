"""Functions for kernels: ``tl.extra.act.square(x)``."""

import tri.language as tl


@tl.builtin
def square(x, *, _semantic):
    """``x * x``, elementwise."""
    return _semantic.value("act.square", x.type, x)
