"""Layouts as basis vectors: what they span is what the pictures of :func:`ownership_of` show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tri_core import mlir
from tri_core.errors import OptionError, VerificationError
from tri_gpu_dialect.drawing import LayoutBases, Owner, bases_of, ownership_of, parse_encoding

ENCODINGS = [
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
    "#ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [4, 8], warpsPerCTA = [1, 2], order = [0, 1]}>",
    "#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>",
]


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    from tri_core.plugins import manager

    manager().register_ir(mlir.registry)
    with mlir.session():
        yield


def _spanned(bases: LayoutBases) -> dict[tuple[int, ...], set[Owner]]:
    """Every place and its element, by exclusive or."""
    bits = [
        (name, 1 << i, vector) for name, vectors in bases.vectors.items() for i, vector in enumerate(vectors)
    ]
    found: dict[tuple[int, ...], set[Owner]] = {}
    for place in range(1 << len(bits)):
        at = [0] * len(bases.shape)
        owner = {"offset": 0} if bases.shared else {}
        for i, (name, weight, vector) in enumerate(bits):
            if place >> i & 1:
                owner[name] = owner.get(name, 0) + weight
                at = [a ^ v for a, v in zip(at, vector, strict=True)]
        found.setdefault(tuple(at), set()).add(Owner(**owner))
    return found


@pytest.mark.parametrize("text", ENCODINGS)
@pytest.mark.parametrize("shape", [(16, 16), (8, 64), (32, 4)])
def test_they_span_what_is_owned(text: str, shape: tuple[int, int]) -> None:
    encoding = parse_encoding(text)
    spanned = _spanned(bases_of(encoding, shape))
    owned = ownership_of(encoding, shape)
    for i, owners in enumerate(owned.owners):
        assert spanned[divmod(i, shape[1])] == set(owners)
    assert len(spanned) == len(owned.owners)


def test_what_has_no_picture_says_why() -> None:
    encoding = parse_encoding(ENCODINGS[0])
    with pytest.raises(OptionError, match="3x4 is not of powers of two"):
        bases_of(encoding, (3, 4))
    with pytest.raises(VerificationError, match="does not fit the shape 4x4x4"):
        bases_of(encoding, (4, 4, 4))
