from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.encodings import Blocked, Linear, Slice, transform
from tri_gpu_dialect.layouts import LinearLayout, layout_for

BLOCKED = Blocked((1, 4), (8, 4), (4, 1), (1, 0))


@st.composite
def encodings(draw: st.DrawFn) -> tuple[Blocked, tuple[int, ...]]:
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.sampled_from([1, 2, 8, 32])) for _ in range(rank))
    per_thread = tuple(draw(st.sampled_from([1, 2, 4])) for _ in range(rank))
    order = tuple(draw(st.permutations(range(rank))))
    return Blocked.make(shape, per_thread, order, draw(st.sampled_from([1, 4])), 32), shape


def at(layout: LinearLayout, place: dict[str, int]) -> tuple[int, ...]:
    return tuple(layout.apply(place).values())


def corners(layout: LinearLayout) -> list[dict[str, int]]:
    """Every input bit alone: enough for a linear map."""
    places: list[dict[str, int]] = []
    for name, bits in layout.ins:
        places += [{n: (1 << i if n == name else 0) for n, _ in layout.ins} for i in range(bits)]
    return places


@given(encodings())
def test_a_blocked_layout_is_recognised(given: tuple[Blocked, tuple[int, ...]]) -> None:
    encoding, shape = given
    layout = layout_for(encoding, shape)
    assert layout_for(transform.of_layout(layout), shape) == layout


def test_recognition_gives_blocked_encodings() -> None:
    assert transform.of_layout(layout_for(BLOCKED, (32, 32))) == BLOCKED
    clustered = Blocked((1, 4), (8, 4), (4, 1), (1, 0), ((1, 0),))
    assert transform.of_layout(layout_for(clustered, (64, 32))) == clustered
    odd = LinearLayout.from_bases({"register": [(3,)], "lane": [(1,)], "warp": [], "block": []}, {"dim0": 4})
    assert isinstance(transform.of_layout(odd), Linear)


@given(encodings(), st.data())
def test_transposition(given: tuple[Blocked, tuple[int, ...]], data: st.DataObject) -> None:
    encoding, shape = given
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    transposed = tuple(shape[d] for d in order)
    before, after = (
        layout_for(encoding, shape),
        layout_for(transform.transposed(encoding, order, shape), transposed),
    )
    for place in corners(before):
        assert at(after, place) == tuple(at(before, place)[d] for d in order)


def test_transposition_of_a_slice_goes_through_its_layout() -> None:
    encoding = Slice(0, Blocked((1, 1, 4), (1, 8, 4), (1, 4, 1), (2, 1, 0)))
    transposed = transform.transposed(encoding, (1, 0), (32, 16))
    assert layout_for(transposed, (16, 32)).bases["register"] == ((1, 0), (2, 0))


@given(encodings(), st.data())
def test_reshape_keeps_row_major_numbers(given: tuple[Blocked, tuple[int, ...]], data: st.DataObject) -> None:
    encoding, shape = given
    flat = (1 << sum(n.bit_length() - 1 for n in shape),)
    other = data.draw(st.sampled_from([flat, (*shape, 1), (1, *shape)]))
    before, after = layout_for(encoding, shape), layout_for(transform.reshaped(encoding, shape, other), other)

    def number(point: tuple[int, ...], sizes: tuple[int, ...]) -> int:
        found = 0
        for value, size in zip(point, sizes, strict=True):
            found = found * size + value
        return found

    for place in corners(before):
        assert number(at(before, place), shape) == number(at(after, place), other)


@given(encodings())
def test_join_pairs_registers_and_split_undoes_it(given: tuple[Blocked, tuple[int, ...]]) -> None:
    encoding, shape = given
    pair = transform.joined(encoding, shape)
    before, after = layout_for(encoding, shape), layout_for(pair, (*shape, 2))
    for place in corners(before):
        for half in (0, 1):
            there = {**place, "register": 2 * place["register"] + half}
            assert at(after, there) == (*at(before, place), half)
    back = transform.split(pair, (*shape, 2))
    assert back is not None
    assert layout_for(back, shape) == before


def test_split_needs_pairs_in_registers() -> None:
    assert transform.split(Blocked((1, 1), (16, 2), (4, 1), (1, 0)), (64, 2)) is None
    assert transform.split(Blocked((1, 2), (32, 1), (4, 1), (1, 0)), (128, 2)) == Blocked(
        (1,), (32,), (4,), (0,)
    )


def test_concatenation_puts_the_second_in_further_registers() -> None:
    encoding = Blocked((1,), (32,), (4,), (0,))
    assert layout_for(transform.concatenated(encoding, (64,)), (128,)).bases["register"] == ((64,),)


def test_expansion_needs_the_slice() -> None:
    assert transform.expanded(Slice(1, BLOCKED), 1) == BLOCKED
    assert transform.expanded(Slice(1, BLOCKED), 0) is None
