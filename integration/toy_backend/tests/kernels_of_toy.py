"""Kernels that say what only toys know."""

import tri
import tri.language as tl


@tri.jit
def copies(out_ptr, x_ptr, n, CACHE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, modifiers=tl.extra.toy.cache(CACHE))
    tl.store(out_ptr + offsets, x, mask=offsets < n, modifiers=(tl.extra.toy.cache(CACHE),))


@tri.jit
def half(x):
    return x * 0.5


@tri.jit
def streams(out_ptr, x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    kept = tl.load(x_ptr + i)
    with tl.extra.toy.streaming():
        for k in range(4):
            x = tl.load(x_ptr + k * BLOCK + i)
            tl.store(out_ptr + k * BLOCK + i, half(x))
        first = tl.load(x_ptr + i, modifiers=tl.extra.toy.cache("keep"))
    tl.store(out_ptr + i, first - kept)


@tri.jit
def doubled(window, i):
    window.store(i, window.load(i, 0.0) * 2.0)


@tri.jit
def windows(out_ptr, n, backwards, BLOCK: tl.constexpr):
    """Double the first ``n`` elements, block by block; the first block twice where ``backwards``."""
    i = tl.arange(0, BLOCK)
    window = tl.extra.toy.Window(out_ptr, n)
    whole = window
    for _ in range(tl.cdiv(n, BLOCK)):
        doubled(window, i)
        window = window.behind(BLOCK)
    if backwards > 0:
        window = whole
    doubled(window, i)
