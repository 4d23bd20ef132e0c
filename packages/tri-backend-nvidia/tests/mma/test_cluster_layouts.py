"""Matrix results, their operands and their shared memory over the CTAs of a cluster: who owns what, and the text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_backend_nvidia.mma import NvidiaMma, NvmmaShared
from tri_core import mlir, text
from tri_core.errors import VerificationError
from tri_core.mlir import ir
from tri_core.plugins import manager
from tri_gpu_dialect.drawing import ownership_of, parse_encoding
from tri_gpu_dialect.encodings import DotOperand, Encoding
from tri_gpu_dialect.layouts.cluster import split_bases
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes

Shape = tuple[int, ...]


@pytest.fixture(scope="module", autouse=True)
def _dialects() -> Iterator[None]:
    manager().register_ir(mlir.registry)
    with mlir.session():
        yield


@st.composite
def splits(draw: st.DrawFn) -> tuple[Shape, Shape, Shape]:
    ctas = draw(st.tuples(*[st.sampled_from([1, 2])] * 2))
    pieces = tuple(draw(st.sampled_from([n for n in (1, 2) if n <= most])) for most in ctas)
    return ctas, pieces, tuple(draw(st.permutations(range(2))))


def wanted(ctas: Shape, pieces: Shape, order: Shape, shape: Shape) -> np.ndarray[Shape, np.dtype[np.object_]]:
    """The set of CTAs of each element."""
    owners = np.empty(shape, object)
    for at in itertools.product(*map(range, shape)):
        piece = [i * n // size for i, n, size in zip(at, pieces, shape, strict=True)]
        spans = [range(piece[d], ctas[d], pieces[d]) for d in range(2)]
        stride = {order[0]: 1, order[1]: ctas[order[0]]}
        owners[at] = {sum(c * stride[d] for d, c in enumerate(cta)) for cta in itertools.product(*spans)}
    return owners


def owned(encoding: Encoding, shape: Shape) -> list[set[int]]:
    found = ownership_of(encoding, shape)
    return [set(found.blocks_of(i)) for i in range(len(found.owners))]


@settings(max_examples=16, deadline=None)
@given(splits(), st.booleans())
def test_owners(split: tuple[Shape, Shape, Shape], transposed: bool) -> None:
    ctas, pieces, order = split
    bases = split_bases(*split)
    shape = (32, 64)
    by_hand = wanted(*split, shape).ravel().tolist()
    assert owned(NvmmaShared(32, transposed, 16, bases), shape) == by_hand
    mma = NvidiaMma(2, 0, (2, 1), (16, 8), bases)
    assert owned(mma, shape) == by_hand
    left, right = (ctas, (pieces[0], 1), order), (ctas, (1, pieces[1]), order)
    assert owned(DotOperand(0, mma, 2), (32, 16)) == wanted(*left, (32, 16)).ravel().tolist()
    assert owned(DotOperand(1, mma, 2), (16, 32)) == wanted(*right, (16, 32)).ravel().tolist()


def test_a_transposed_view_keeps_the_owners() -> None:
    shared = NvmmaShared(32, False, 16, ((0, 1), (1, 0)))
    there = np.array(owned(shared, (32, 64)), object).reshape(32, 64)
    assert owned(shared.permuted((1, 0)), (64, 32)) == there.T.ravel().tolist()


def test_a_warp_groups_result_over_a_cluster() -> None:
    split = NvidiaMma(3, 0, (4, 1), (16, 16, 16), ((1, 0),))
    whole = NvidiaMma(3, 0, (4, 1), (16, 16, 16))
    layout, own = split.linear_layout((128, 32)), whole.linear_layout((64, 32))
    assert layout.bases["block"] == ((64, 0),)
    assert {k: v for k, v in layout.bases.items() if k != "block"} == {
        k: v for k, v in own.bases.items() if k != "block"
    }


@settings(max_examples=16, deadline=None)
@given(splits())
def test_the_text(split: tuple[Shape, Shape, Shape]) -> None:
    names = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")
    keys = ", ".join(f"{name} = {list(value)}" for name, value in zip(names, split, strict=True))
    bases = split_bases(*split)
    for name, body, expected in (
        ("nvmma_shared", "swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16", NvmmaShared(64, False, 16, bases)),
        ("nvidia_mma", "versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]", NvidiaMma(2, 0, (2, 2), (16, 8), bases)),
    ):  # fmt: skip
        read = parse_encoding(f"#ttg.{name}<{{{body}, {keys}}}>")
        assert read == expected
        written = _printed(read)
        assert parse_encoding(written) == read
        if not bases:
            assert written == f"#ttg.{name}<{{{body}}}>"


def _printed(encoding: Encoding) -> str:
    typed = ir.RankedTensorType.get([2, 2], ir.F32Type.get(), encoding.to_attr())
    module = text.parse_module(f"module {{\n  tt.func private @k(%x: {typed}) {{\n    tt.return\n  }}\n}}\n")
    return text.print_module(module, locations=False).splitlines()[0].partition(" = ")[2]


@pytest.mark.parametrize(
    ("attribute", "why"),
    [
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16, CTAsPerCGA = [1, 1], CTASplitNum = [1, 2], CTAOrder = [1, 0]}>", "does not divide"),
        ("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8], CTAsPerCGA = [2], CTASplitNum = [2], CTAOrder = [0]}>", "of rank 2"),
        ("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8], CGALayout = [[1]]}>", "2 coordinates per basis"),
    ],
)  # fmt: skip
def test_splits_that_do_not_fit(attribute: str, why: str) -> None:
    with pytest.raises(VerificationError, match=why):
        parse_encoding(attribute)


def test_shares_too_narrow_for_the_swizzle_are_refused() -> None:
    shared = NvmmaShared(64, False, 16, ((0, 1),))
    assert ownership_of(shared, (16, 64)).blocks == 2
    with pytest.raises(VerificationError, match="does not fill rows of 64 bytes"):
        ownership_of(shared, (16, 32))


def test_a_split_buffer_takes_its_share() -> None:
    written = _printed(NvmmaShared(64, False, 16, ((1, 0),)))
    module = text.parse_module(
        "module {\n  tt.func private @k(%x: !ttg.memdesc<32x32xf16, " + written + ", #ttg.shared_memory, mutable>) {\n"
        "    tt.return\n  }\n}\n"
    )  # fmt: skip
    type_ = next(iter(module.body)).operation.regions[0].blocks[0].arguments[0].type
    assert buffer_bytes(type_) == 16 * 32 * 2
