"""Random distributed layouts, with copies, swizzles and dimensions in any order."""

from __future__ import annotations

from hypothesis import strategies as st

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.layouts import BLOCK, LinearLayout, dim_names, gf2, layout_for

#: of a thread's box of two dimensions
BOXES = st.sampled_from([(1, 8), (8, 1), (2, 4), (4, 4), (4, 8), (1, 1), (2, 2)])
ORDERS = st.sampled_from([(0, 1), (1, 0)])


def of_boxes(
    shape: tuple[int, int], box: tuple[int, int], order: tuple[int, int], *, warps: int = 4, lanes: int = 32
) -> LinearLayout:
    """The blocked layout of ``shape`` in one CTA whose threads have a ``box``: lanes run along ``order[0]`` first, warps along rows."""
    spread = [1, 1]
    spread[order[0]] = min(lanes, max(shape[order[0]] // box[order[0]], 1))
    spread[1 - order[0]] = lanes // spread[order[0]]
    return layout_for(Blocked(box, (spread[0], spread[1]), (warps, 1), order), shape).without_ins(BLOCK)


@st.composite
def invertible(draw: st.DrawFn, bits: int) -> list[int]:
    """A random basis of all vectors of ``bits`` bits: often a permutation, sometimes mixed."""
    columns = [1 << i for i in draw(st.permutations(range(bits)))]
    if bits > 1 and draw(st.booleans()):
        for _ in range(draw(st.integers(1, 4))):
            i, j = draw(st.lists(st.integers(0, bits - 1), min_size=2, max_size=2, unique=True))
            columns[i] ^= columns[j]
    assert gf2.rank(columns) == bits
    return columns


@st.composite
def distributed(draw: st.DrawFn, shape: tuple[int, ...], lanes: int, warps: int) -> LinearLayout:
    """A surjective layout of ``shape`` on ``lanes`` and ``warps`` (log2), with copies anywhere."""
    dims = tuple(
        (name, size.bit_length() - 1) for name, size in zip(dim_names(len(shape)), shape, strict=True)
    )
    bits = sum(n for _, n in dims)
    columns = draw(invertible(bits))
    copies = draw(st.integers(0, 2)) + max(lanes + warps - bits, 0)
    slots = columns + [0] * copies
    slots = list(draw(st.permutations(slots)))
    registers = len(slots) - lanes - warps
    ins = (("register", registers), ("lane", lanes), ("warp", warps), ("block", 0))
    return LinearLayout(ins, dims, tuple(slots))
