from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_backend_nvidia.machine.simulation.tma import swizzled_places
from tri_backend_nvidia.mma import NvmmaShared
from tri_backend_nvidia.tma import boxes
from tri_gpu_dialect.encodings import SwizzledShared
from tri_gpu_dialect.layouts import OFFSET

powers = st.integers(0, 9).map(lambda n: 1 << n)


def placed(found, shape, element_bytes):
    """For each element's offset in the buffer its coordinates, as the copy engine places boxes."""
    count = int(np.prod(shape))
    coordinates = np.full((count, len(shape)), -1)
    box = np.stack(np.meshgrid(*(np.arange(n) for n in found.box), indexing="ij"), -1).reshape(-1, len(shape))
    nbytes = len(box) * element_bytes
    for start, offset in found.parts:
        places = offset + swizzled_places(offset, nbytes, found.swizzle)[::element_bytes]
        coordinates[places // element_bytes] = box + np.array(start)
    return coordinates


def check(layout, shape, element_bytes):
    found = boxes(layout, element_bytes)
    assert found is not None
    assert all(n <= 256 for n in found.box)
    assert len(found.parts) * int(np.prod(found.box)) == int(np.prod(shape))
    unpacked = np.zeros((int(np.prod(shape)), len(shape)), int)
    for bit, basis in enumerate(layout.bases[OFFSET]):
        unpacked[np.arange(len(unpacked)) >> bit & 1 > 0] ^= np.array(basis)
    assert (placed(found, shape, element_bytes) == unpacked).all()
    return found


@settings(deadline=None)
@given(st.lists(powers, min_size=1, max_size=5), st.sampled_from([1, 2, 4, 8]))
def test_row_major_blocks(shape, element_bytes):
    if int(np.prod(shape)) > 1 << 13:
        return
    layout = SwizzledShared(1, 1, 1, tuple(reversed(range(len(shape))))).linear_layout(tuple(shape))
    if min(shape[-1], 256) * element_bytes < 16:
        assert boxes(layout, element_bytes) is None
    else:
        parts = check(layout, shape, element_bytes).parts
        # a dimension that is cut lies in boxes one after the other, and so does what is slower
        box = 1
        for size in reversed(shape):
            box *= min(size, 256)
            if size > 256:
                break
        assert len(parts) == np.prod(shape) // box


@settings(deadline=None)
@given(
    st.lists(powers, min_size=2, max_size=3),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([0, 32, 64, 128]),
)
def test_panels(shape, element_bytes, width):
    inner = shape[-1] * element_bytes
    if int(np.prod(shape)) > 1 << 13 or inner < max(width, 16) or shape[-2] < 8:
        return
    layout = NvmmaShared(width, False, 8 * element_bytes).linear_layout(tuple(shape))
    found = check(layout, shape, element_bytes)
    assert found.swizzle == width
    if width:
        assert found.box[-1] * element_bytes == width


def test_what_is_no_box():
    transposed = NvmmaShared(128, True, 16).linear_layout((64, 64))
    assert boxes(transposed, 2) is None
    assert boxes(SwizzledShared(4, 1, 8, (1, 0)).linear_layout((64, 64)), 2) is None  # pieces of 8 bytes
    assert boxes(SwizzledShared(8, 1, 8, (0, 1)).linear_layout((64, 64)), 2) is None
    four_rows = NvmmaShared(128, False, 16).linear_layout((4, 128))
    assert boxes(four_rows, 2) is None  # the second panel would begin in the middle of an atom


def test_the_usual_tiles():
    operand = boxes(NvmmaShared(128, False, 16).linear_layout((64, 256)), 2)
    assert operand is not None
    assert (operand.box, operand.swizzle, operand.alignment) == ((64, 64), 128, 1024)
    assert operand.parts == tuple(((0, 64 * i), 8192 * i) for i in range(4))
    swizzled = boxes(SwizzledShared(8, 1, 8, (1, 0)).linear_layout((128, 64)), 2)
    assert swizzled is not None
    assert (swizzled.box, swizzled.swizzle, len(swizzled.parts)) == ((128, 64), 128, 1)
