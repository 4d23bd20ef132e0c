from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.api import Unsupported, VerificationError
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.encodings import (
    Blocked,
    DistributedEncoding,
    DotOperand,
    DotScale,
    Encoding,
    Linear,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    decode,
    registered,
)
from tri_gpu_dialect.testing.matrix import RefMatrix

BLOCKED = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
EXAMPLES = [
    BLOCKED,
    Blocked((1, 4), (8, 4), (4, 1), (1, 0), ((1, 0), (0, 1))),
    Slice(1, BLOCKED),
    Slice(0, Slice(2, Blocked((1, 1, 1), (32, 1, 1), (4, 1, 1), (0, 1, 2)))),
    DotOperand(1, BLOCKED, 2),
    Linear.of(BLOCKED.linear_layout((32, 32))),
    SwizzledShared(4, 1, 8, (1, 0)),
    PaddedShared(((32, 4),), (1, 0)),
    SharedLinear.of(SwizzledShared(4, 1, 8, (1, 0)).linear_layout((32, 32))),
]


@pytest.mark.parametrize("encoding", EXAMPLES, ids=lambda e: type(e).__name__)
def test_attributes_hold_encodings_and_are_read_back_from_text(encoding: Encoding) -> None:
    attr = encoding.to_attr()
    assert decode(attr) == encoding
    assert type(encoding).from_attr(ir.Attribute.parse(str(attr))) == encoding
    assert str(attr) == str(encoding)
    assert str(encoding).startswith("#ttg.")


def test_the_names_are_the_keys_of_triton() -> None:
    assert str(BLOCKED) == (
        "#ttg.blocked<{order = [1, 0], sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1]}>"
    )
    assert {"ttg.blocked", "ttg.slice", "ttg.dot_op", "ttg.swizzled_shared"} <= set(registered())


@pytest.mark.parametrize("encoding", [e for e in EXAMPLES if not isinstance(e, Slice)], ids=repr)
def test_layouts_cover_a_tensor_exactly(encoding: Encoding) -> None:
    layout = layouts.layout_for(encoding, (32, 32))
    assert layout.is_surjective
    assert layout.out_sizes == {"dim0": 32, "dim1": 32}


def test_the_layout_of_a_type_is_cached() -> None:
    made = ir.RankedTensorType.get([64, 32], ir.F32Type.get(), BLOCKED.to_attr())
    again = ir.RankedTensorType.get([64, 32], ir.F32Type.get(), BLOCKED.to_attr())
    assert layouts.of(made) is layouts.of(again)
    assert layouts.of(made) == BLOCKED.linear_layout((64, 32))
    with pytest.raises(VerificationError, match="has no layout"):
        layouts.of(ir.RankedTensorType.get([64], ir.F32Type.get()))


sizes = st.sampled_from([1, 2, 4, 16, 64, 256])


@given(
    st.lists(sizes, min_size=1, max_size=3),
    st.sampled_from([1, 4, 8]),
    st.sampled_from([16, 32, 64]),
    st.data(),
)
def test_default_blocked_uses_every_thread(shape, warps, lanes, data) -> None:  # type: ignore[no-untyped-def]
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    per_thread = tuple(data.draw(st.sampled_from([1, 4])) for _ in shape)
    encoding = Blocked.make(tuple(shape), per_thread, order, warps, lanes)
    assert math.prod(encoding.threads_per_warp) == lanes
    assert math.prod(encoding.warps_per_cta) == warps
    assert encoding.linear_layout(tuple(shape)).is_surjective


def test_default_blocked_fills_the_fast_dimension_first() -> None:
    assert Blocked.default((64, 128), 4, 32) == Blocked((1, 1), (1, 32), (1, 4), (1, 0))
    assert Blocked.make((64, 32), (1, 4), (1, 0), 4, 32) == Blocked((1, 4), (4, 8), (4, 1), (1, 0))
    clustered = Blocked.default((64, 128), 4, 32, num_ctas=4)
    assert clustered.cga_layout == ((1, 0), (2, 0))
    assert clustered.linear_layout((64, 128)).bases["block"] == ((16, 0), (32, 0))


def test_linear_repeats_in_registers_along_the_last_dimension_first() -> None:
    encoding = Linear(2, lane=((0, 1), (1, 0)))
    assert encoding.linear_layout((2, 8)).bases["register"] == ((0, 2), (0, 4))


def test_only_layouts_of_matrix_units_have_operands() -> None:
    assert isinstance(DotOperand(0, BLOCKED), DistributedEncoding)
    with pytest.raises(Unsupported, match="no dot operands"):
        DotOperand(0, Slice(0, BLOCKED)).linear_layout((16, 16))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 : i32", "not an encoding; known: .*ttg.blocked"),
        ("#ttg.blocked<{order = [1, 0]}>", "missing 3 required"),
        ("#ttg.slice<{dim = 1, parent = #ttg.swizzled_shared<{}>}>", "missing"),
        ("#ttg.slice<{dim = 1, parents = 1}>", "unknown keys"),
        ("#ttg.dot_op<{opIdx = 2, parent = #ttg.linear<{rank = 1}>}>", "0 or 1 is expected"),
        (
            "#ttg.blocked<{order = [0], sizePerThread = [3], threadsPerWarp = [32], warpsPerCTA = [4]}>",
            "powers of two",
        ),
        (
            "#ttg.blocked<{order = [1], sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4]}>",
            "not a permutation",
        ),
    ],
)
def test_malformed_attributes_are_refused(text: str, message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        decode(ir.Attribute.parse(text))


@dataclass(frozen=True)
class Scaled(RefMatrix):
    """The made-up instruction with scales: each lane has a row's."""

    def scale_layout(self, operand: int, shape: tuple[int, ...]) -> layouts.LinearLayout:
        """Rows over lanes, groups over registers; those of operand 1 the other way round."""
        rows, groups = shape
        names = (layouts.LANE, layouts.REGISTER) if operand == 0 else (layouts.REGISTER, layouts.LANE)
        made = layouts.LinearLayout.identity1d(rows, names[0], "dim0")
        return made * layouts.LinearLayout.identity1d(groups, names[1], "dim1")


def test_scales_of_a_dot_lie_as_its_result_says() -> None:
    for operand, dim in ((0, layouts.LANE), (1, layouts.REGISTER)):
        made = DotScale(operand, Scaled()).linear_layout((32, 4))
        assert made.in_size(dim) == 32
        assert made.out_sizes == {"dim0": 32, "dim1": 4}
    with pytest.raises(ValueError, match="RefMatrix has no dots with block scales"):
        DotScale(0, RefMatrix()).linear_layout((32, 4))


@pytest.mark.parametrize(
    ("operand", "parent", "error"), [(2, RefMatrix(), ValueError), (0, BLOCKED, TypeError)]
)
def test_what_has_no_scales(operand: int, parent: Encoding, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"0 or 1|matrix instruction"):
        DotScale(operand, parent)


def test_padded_bases_may_have_leading_dimensions_and_be_transposed() -> None:
    """A ring of buffers lies one buffer after the other, each as its bases say."""
    plain = PaddedShared(((4, 2),), offset=((0, 1), (1, 0), (0, 2)))
    one = plain.linear_layout((2, 4)).images("offset")
    ring = plain.linear_layout((3 + 1, 2, 4))
    assert [ring.unpack_out(image) for image in ring.images("offset")] == [
        (slot, *plain.linear_layout((2, 4)).unpack_out(image)) for slot in range(4) for image in one
    ]
    assert decode(ir.Attribute.parse(str(plain.to_attr()))) == plain
    turned = plain.permuted((1, 0)).linear_layout((4, 2))
    assert [turned.unpack_out(i)[::-1] for i in turned.images("offset")] == [
        plain.linear_layout((2, 4)).unpack_out(image) for image in one
    ]
    rows = PaddedShared(((4, 2),), (0, 1))
    assert rows.permuted((1, 0)) == PaddedShared(((4, 2),), (1, 0))
    assert rows.linear_layout((2, 2, 4)).bases["offset"][-1] == (1, 0, 0)


@pytest.mark.parametrize(
    ("order", "offset", "block"),
    [((), (), ()), ((1, 0), ((1, 0),), ()), ((1, 0), (), ((1, 0),)), ((), ((1, 0), (1,)), ())],
)
def test_padded_encodings_that_say_two_things_or_none_are_refused(
    order: tuple[int, ...], offset: tuple[tuple[int, ...], ...], block: tuple[tuple[int, ...], ...]
) -> None:
    with pytest.raises(ValueError, match=r"either|needs the bases|entries"):
        PaddedShared(((4, 2),), order, offset, block)
