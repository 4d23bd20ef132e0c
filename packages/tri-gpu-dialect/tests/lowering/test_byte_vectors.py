"""Bytes that change places among a thread's registers on the way to shared memory: by permutes of words, in few of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.encodings import Blocked, SwizzledShared
from tri_gpu_dialect.lowering import Builder
from tri_gpu_dialect.testing import ReferencePrimitives, TensorSpec, kernel, run

SHAPE = (32, 64)


class Permutes:
    """What ``permute_bytes`` was called with, and the word that it is to give, by shifts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.selectors: list[tuple[int, ...]] = []

        def permute(
            words: ReferencePrimitives, b: Builder, low: ir.Value, high: ir.Value, selector: tuple[int, ...]
        ) -> ir.Value:
            self.selectors.append(selector)
            made = b.int_(0)
            for place, number in enumerate(selector):
                byte = b.and_(b.lshr(high if number > 3 else low, 8 * (number % 4)), b.int_(255))
                made = b.or_(made, b.shl(byte, 8 * place))
            return made

        monkeypatch.setattr(ReferencePrimitives, "has_byte_permutes", True)
        monkeypatch.setattr(ReferencePrimitives, "permute_bytes", permute)


def through_memory(size: tuple[int, int], vec: int, order: tuple[int, int]) -> None:
    """Bytes are what they were, from registers in blocks of ``size`` by way of memory in ``order``."""
    lanes = (SHAPE[0] // size[0], 32 * size[0] // SHAPE[0])
    source = TensorSpec("i8", SHAPE, Blocked(size, lanes, (1, 4), (1, 0)))
    target = TensorSpec("i8", SHAPE, Blocked((1, 4), (4, 8), (4, 1), (1, 0)))
    encoding = SwizzledShared(vec, 1, 1, order)
    buffer = MemDescType.of(SHAPE, ir.Type.parse("i8"), encoding.to_attr(), mutable=True, alloc_shape=SHAPE)
    body = f"""%b = "ttg.local_alloc"(%in0) : ({source.type}) -> {buffer}
      %out0 = "ttg.local_load"(%b) {{operandSegmentSizes = array<i32: 1, 0>}} : ({buffer}) -> {target.type}"""
    x = np.random.default_rng(size[0] * vec).integers(-128, 128, SHAPE).astype(np.int8)
    y = np.zeros(SHAPE, np.int8)
    run(kernel([source], [target], body, warps=4, lanes=32), [x, y])
    np.testing.assert_array_equal(y, x)


@settings(max_examples=20)
@given(
    rows=st.sampled_from([1, 2, 4, 8]),
    columns=st.sampled_from([1, 2, 4, 8, 16]),
    vec=st.sampled_from([1, 2, 4, 8]),
    transposed=st.booleans(),
)
def test_bytes_stay(rows: int, columns: int, vec: int, transposed: bool) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        Permutes(monkeypatch)
        through_memory((rows, columns), vec, (0, 1) if transposed else (1, 0))


@pytest.mark.parametrize(
    ("size", "count"), [((4, 4), 8), ((2, 4), 2), ((8, 4), 16), ((1, 16), 0)], ids=["words", "halves", "pairs of words", "as they are"]
)  # fmt: skip
def test_a_transpose_takes_few_permutes(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], count: int
) -> None:
    """Of four words eight: four of pairs, four of whole words."""
    used = Permutes(monkeypatch)
    along = SHAPE[1] // (32 * size[0] // SHAPE[0]) // 4
    through_memory(size, 8, (1, 0) if size[0] == 1 else (0, 1))
    assert along % size[1] == 0 or size[1] > along
    assert len(used.selectors) == count * max(along // size[1], 1)


def test_who_has_none_says_so() -> None:
    from tri_core.api import CommonOptions
    from tri_gpu_dialect.testing import make_target

    words = ReferencePrimitives(make_target(), CommonOptions(), threads_per_warp=32, num_warps=1)
    assert not words.has_byte_permutes
    with pytest.raises(Unsupported, match="byte permutes"):
        words.permute_bytes(None, None, None, (0, 1, 2, 3))  # type: ignore[arg-type]
