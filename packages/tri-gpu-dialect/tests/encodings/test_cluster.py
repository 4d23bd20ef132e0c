"""CTA splits over a cluster: who owns what, against the arithmetic on CTA numbers that the split stands for; the text."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.errors import TriError, VerificationError
from tri_core.mlir import ir
from tri_gpu_dialect.drawing import ownership_of, parse_encoding
from tri_gpu_dialect.encodings import Blocked, DotOperand, Encoding, Slice, SwizzledShared
from tri_gpu_dialect.encodings.transform import transposed
from tri_gpu_dialect.layouts.cluster import ClusterBases, split_bases
from tri_gpu_dialect.layouts.encoding import layout_for
from tri_gpu_dialect.testing.matrix import RefMatrix
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes

Shape = tuple[int, ...]
#: per dimension: CTAs and pieces; and the order
Split = tuple[Shape, Shape, Shape]


@st.composite
def splits(draw: st.DrawFn, rank: int = 2) -> Split:
    ctas = [draw(st.sampled_from([1, 2, 4])) for _ in range(rank)]
    pieces = [draw(st.sampled_from([n for n in (1, 2, 4) if n <= most])) for most in ctas]
    return tuple(ctas), tuple(pieces), tuple(draw(st.permutations(range(rank))))


SHAPES = st.tuples(*[st.sampled_from([1, 2, 16, 32])] * 2)


def owners_by_hand(split: Split, shape: Shape) -> dict[Shape, set[int]]:
    """The CTAs of each element: a CTA's coordinates modulo the pieces, times a piece's size, is where it begins."""
    ctas, pieces, order = split
    owners: dict[Shape, set[int]] = {at: set() for at in itertools.product(*map(range, shape))}
    for cta in range(math.prod(ctas)):
        at, rest = [0] * len(shape), cta
        for d in order:
            at[d], rest = rest % ctas[d], rest // ctas[d]
        cut = [min(n, size) for n, size in zip(pieces, shape, strict=True)]
        spans = [
            range(at[d] % cut[d] * (shape[d] // cut[d]), (at[d] % cut[d] + 1) * (shape[d] // cut[d]))
            for d in range(len(shape))
        ]
        for element in itertools.product(*spans):
            owners[element].add(cta)
    return owners


def owners_of(encoding: Encoding, shape: Shape) -> dict[Shape, set[int]]:
    found = ownership_of(encoding, shape)
    places = (tuple(int(v) for v in np.unravel_index(i, shape)) for i in range(len(found.owners)))
    return {at: set(found.blocks_of(i)) for i, at in enumerate(places)}


def unsplit(split: Split, dim: int) -> Split:
    """Copies along ``dim``, as the operand of a dot has along k."""
    ctas, pieces, order = split
    return ctas, tuple(1 if d == dim else n for d, n in enumerate(pieces)), order


# --- owners -------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(splits(), SHAPES, st.sampled_from([(0, 1), (1, 0)]))
def test_every_element_is_owned_by_exactly_the_ctas_that_the_split_says(
    split: Split, shape: Shape, order: Shape
) -> None:
    bases = split_bases(*split)
    wanted = owners_by_hand(split, shape)
    assert owners_of(Blocked((1, 2), (4, 8), (2, 1), order, bases), shape) == wanted
    assert owners_of(SwizzledShared(2, 1, 4, order, bases), shape) == wanted
    operand = DotOperand(0, Blocked((1, 2), (4, 8), (2, 1), order, bases))
    assert owners_of(operand, shape) == owners_by_hand(unsplit(split, 1), shape)
    operand = DotOperand(1, Blocked((1, 2), (4, 8), (2, 1), order, bases))
    assert owners_of(operand, shape) == owners_by_hand(unsplit(split, 0), shape)


@settings(max_examples=20, deadline=None)
@given(splits(), st.sampled_from([0, 1]), st.sampled_from([1, 4, 32]))
def test_a_slice_has_the_ctas_of_its_parent(split: Split, dim: int, size: int) -> None:
    encoding = Slice(dim, Blocked((1, 2), (4, 8), (2, 1), (1, 0), split_bases(*split)))
    whole = (1, size) if dim == 0 else (size, 1)
    wanted = {(max(at),): ctas for at, ctas in owners_by_hand(split, whole).items()}
    assert owners_of(encoding, (size,)) == wanted


@given(splits())
def test_each_cta_has_its_part_in_its_own_memory_from_offset_0(split: Split) -> None:
    bases = split_bases(*split)
    layout = layout_for(SwizzledShared(2, 1, 4, (1, 0), bases), (32, 32))
    own = layout_for(SwizzledShared(2, 1, 4, (1, 0)), tuple(32 // n for n in split[1]))
    assert layout.bases["offset"] == own.bases["offset"]
    assert layout.is_surjective
    assert layout.in_sizes.get("block", 1) == math.prod(split[0])


@given(splits())
def test_views_keep_the_owners(split: Split) -> None:
    bases = split_bases(*split)
    swapped = {(c, r): ctas for (r, c), ctas in owners_by_hand(split, (16, 32)).items()}
    shared = SwizzledShared(2, 1, 4, (1, 0), bases)
    assert owners_of(shared.permuted((1, 0)), (32, 16)) == swapped
    blocked = Blocked((1, 2), (4, 8), (2, 1), (1, 0), bases)
    assert owners_of(transposed(blocked, (1, 0), (16, 32)), (32, 16)) == swapped


def test_dimensions_before_the_encodings_own_are_not_split() -> None:
    layout = layout_for(SwizzledShared(1, 1, 1, (1, 0), ((1, 0),)), (4, 16, 8))
    assert layout.bases["block"] == ((0, 8, 0),)
    assert layout.in_size("offset") == 4 * 8 * 8


def test_encodings_of_matrix_units_without_clusters_have_one_block() -> None:
    assert layout_for(RefMatrix((2, 2)), (32, 32)).in_size("block") == 1


# --- the text -----------------------------------------------------------------------------------------------

_BLOCKED = "sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]"
_SWIZZLED = "vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]"


def keys(split: Split) -> str:
    names = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")
    return ", ".join(f"{name} = {list(value)}" for name, value in zip(names, split, strict=True))


def printed(encoding: Encoding) -> str:
    """As the text of a module writes the encoding."""
    typed = ir.RankedTensorType.get([2] * 2, ir.F32Type.get(), encoding.to_attr())
    module = text.parse_module(f"module {{\n  tt.func private @k(%x: {typed}) {{\n    tt.return\n  }}\n}}\n")
    first = text.print_module(module, locations=False).splitlines()[0]
    return first.partition(" = ")[2]


@settings(max_examples=30, deadline=None)
@given(splits())
def test_counts_are_read_and_printed_as_bases(split: Split) -> None:
    bases: ClusterBases = split_bases(*split)
    for name, body, wanted in (
        ("blocked", _BLOCKED, Blocked((1, 4), (8, 4), (4, 1), (1, 0), bases)),
        ("swizzled_shared", _SWIZZLED, SwizzledShared(4, 1, 8, (1, 0), bases)),
    ):
        read = parse_encoding(f"#ttg.{name}<{{{body}, {keys(split)}}}>")
        assert read == wanted
        assert parse_encoding(printed(read)) == read
        if not bases:
            assert printed(read) == f"#ttg.{name}<{{{body}}}>"


def test_a_parent_may_be_split() -> None:
    split = ((2, 1), (2, 1), (1, 0))
    sliced = parse_encoding(f"#ttg.slice<{{dim = 1, parent = #ttg.blocked<{{{_BLOCKED}, {keys(split)}}}>}}>")
    assert sliced == Slice(1, Blocked((1, 4), (8, 4), (4, 1), (1, 0), ((1, 0),)))
    assert layout_for(sliced, (64,)).bases["block"] == ((32,),)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("CTAsPerCGA = [2, 1], CTASplitNum = [4, 1], CTAOrder = [1, 0]", "4 does not divide CTAsPerCGA 2 along dimension 0"),
        ("CTAsPerCGA = [2, 3], CTASplitNum = [1, 1], CTAOrder = [1, 0]", r"CTAsPerCGA \[2, 3\]: all must be powers of two"),
        ("CTAsPerCGA = [2, 2], CTASplitNum = [1, 0], CTAOrder = [1, 0]", r"CTASplitNum \[1, 0\]: all must be powers"),
        ("CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 1]", "is not a permutation"),
        ("CTAsPerCGA = [2], CTASplitNum = [2, 1], CTAOrder = [1, 0]", "have 1, 2 and 2 entries"),
        ("CTAsPerCGA = [1, 1, 1], CTASplitNum = [1, 1, 1], CTAOrder = [2, 1, 0]", "the encoding is of rank 2"),
        ("CTAsPerCGA = [2, 1], CTAOrder = [1, 0]", "only CTAsPerCGA, CTAOrder given"),
        ("CTAsPerCGA = [2, 1], CTASplitNum = 2, CTAOrder = [1, 0]", "CTASplitNum = 2; a list of numbers"),
        ("CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0], CGALayout = [[1, 0]]", "give one of the two"),
        ("CGALayout = [[1, 0, 0]]", "2 coordinates per basis"),
        ("CGALayout = [[-1, 0]]", "must not be negative"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("name", "body"), [("blocked", _BLOCKED), ("swizzled_shared", _SWIZZLED)])
def test_splits_that_do_not_fit(name: str, body: str, more: str, why: str) -> None:
    with pytest.raises(VerificationError, match=why):
        parse_encoding(f"#ttg.{name}<{{{body}, {more}}}>")


def test_a_module_with_a_split_that_does_not_fit_is_refused_where_it_is() -> None:
    bad = f"#ttg.blocked<{{{_BLOCKED}, {keys(((1, 1), (2, 1), (1, 0)))}}}>"
    source = f"module {{\n  tt.func public @k(%x: tensor<2x2xf32, {bad}>) {{\n    tt.return\n  }}\n}}\n"
    with pytest.raises(TriError, match="does not divide") as caught:
        text.parse_module(source)
    assert caught.value.location is not None


def test_buffers_take_the_share_of_a_block() -> None:
    split = SwizzledShared(1, 1, 1, (1, 0), ((1, 0),))
    whole = SwizzledShared(1, 1, 1, (1, 0))
    made = [
        mlir_type(f"!ttg.memdesc<16x16xf32, {printed(encoding)}, #ttg.shared_memory, mutable>")
        for encoding in (whole, split)
    ]
    assert buffer_bytes(made[0]) == 1024
    assert buffer_bytes(made[1]) == 512


def mlir_type(written: str):  # type: ignore[no-untyped-def]
    module = text.parse_module(
        f"module {{\n  tt.func private @k(%x: {written}) {{\n    tt.return\n  }}\n}}\n"
    )
    return next(iter(module.body)).operation.regions[0].blocks[0].arguments[0].type
