"""A kernel whose parameters have names that a launcher in C could use itself."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def named(
    x, y, z, module, function, launch, image, symbol, parameters, extra, size, arguments, attributes, config
):
    """Store the sum of all but ``x``, which points to it."""
    total = y + z + module + function + launch + image + symbol + parameters + extra
    tl.store(x, total + size + arguments + attributes + config)
