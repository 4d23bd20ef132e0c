from __future__ import annotations

import pytest

from tri_gpu_dialect.lowering.formats import FORMATS, encode_constant


@pytest.mark.parametrize("name", FORMATS)
def test_constants_are_their_own_nearest_pattern(name):
    format_ = FORMATS[name]
    for pattern in range(0, format_.largest + 1, 1 if format_.width == 8 else 37):
        assert encode_constant(format_.value(pattern), format_) == pattern
    negative_zero = format_.sign if format_.negative_zero else 0
    assert encode_constant(-0.0, format_) == negative_zero
