from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.layouts import LinearLayout

INS, OUTS = ("register", "lane", "warp"), ("dim0", "dim1")


@st.composite
def layouts(draw: st.DrawFn, ins: tuple[str, ...] = INS, outs: tuple[str, ...] = OUTS) -> LinearLayout:
    sizes = {name: draw(st.integers(0, 3)) for name in outs}
    basis = st.tuples(*(st.integers(0, (1 << bits) - 1) for bits in sizes.values()))
    bases = {name: draw(st.lists(basis, max_size=2)) for name in ins}
    return LinearLayout.from_bases(bases, {name: 1 << bits for name, bits in sizes.items()})


@st.composite
def bijections(draw: st.DrawFn, bits: int = 6) -> LinearLayout:
    columns = [1 << i for i in range(bits)]
    for i, j in draw(st.lists(st.tuples(st.integers(0, bits - 1), st.integers(0, bits - 1)), max_size=20)):
        if i != j:
            columns[i] ^= columns[j]
    flat = LinearLayout((("register", bits),), (("dim0", bits),), tuple(columns))
    return flat.reshape_ins({"register": 4, "lane": 8, "warp": 2}).reshape_outs({"dim0": 8, "dim1": 8})


def places(layout: LinearLayout) -> list[dict[str, int]]:
    ranges = (range(size) for size in layout.in_sizes.values())
    return [dict(zip(layout.in_dims, point, strict=True)) for point in itertools.product(*ranges)]


def test_the_first_example_of_the_module() -> None:
    layout = LinearLayout.from_bases({"register": [(1,), (2,)], "lane": [(4,), (8,)]}, {"dim0": 16})
    assert [layout.apply(p)["dim0"] for p in places(layout)] == [
        r + 4 * lane for r in range(4) for lane in range(4)
    ]
    one = LinearLayout.identity1d(4, "register", "dim0") * LinearLayout.identity1d(4, "lane", "dim0")
    assert layout == one


def test_swizzle_is_linear() -> None:
    bases = {"row": [(8 + 1,), (16 + 2,), (32 + 4,)], "column": [(1,), (2,), (4,)]}
    layout = LinearLayout.from_bases(bases, {"offset": 64})
    for p in places(layout):
        assert layout.apply(p)["offset"] == 8 * p["row"] + (p["column"] ^ p["row"])


@given(layouts())
def test_apply_is_the_xor_of_bases_on_ints_and_arrays(layout: LinearLayout) -> None:
    for p in places(layout):
        expected = [0, 0]
        for name, value in p.items():
            for bit, basis in enumerate(layout.bases[name]):
                if value >> bit & 1:
                    expected = [a ^ b for a, b in zip(expected, basis, strict=True)]
        assert list(layout.apply(p).values()) == expected
    arrays = {name: np.array([p[name] for p in places(layout)]) for name in layout.in_dims}
    whole = layout.apply(arrays)
    for dim, values in whole.items():
        assert list(np.broadcast_to(values, len(places(layout)))) == [
            layout.apply(p)[dim] for p in places(layout)
        ]


@given(layouts())
def test_images_and_table_enumerate(layout: LinearLayout) -> None:
    assert list(layout.table()) == [layout.apply_packed(x) for x in range(1 << layout.in_bits)]
    for name in layout.in_dims:
        alone = layout.sublayout([name], layout.out_dims)
        assert layout.images(name) == list(alone.table())


@given(layouts())
def test_rank_properties(layout: LinearLayout) -> None:
    distinct = len(set(layout.table().tolist()))
    assert distinct == 1 << layout.rank
    assert layout.is_surjective == (distinct == 1 << layout.out_bits)
    assert layout.is_injective == (distinct == 1 << layout.in_bits)
    assert layout.is_invertible == (layout.is_surjective and layout.is_injective)


@given(layouts())
def test_inputs_without_free_bits_reach_everything_once(layout: LinearLayout) -> None:
    masks = layout.free_variable_masks()
    chosen = [p for p in places(layout) if not any(p[name] & masks[name] for name in p)]
    reached = [tuple(layout.apply(p).values()) for p in chosen]
    everything = {tuple(layout.apply(p).values()) for p in places(layout)}
    assert len(reached) == len(set(reached))
    assert set(reached) == everything
    assert all(masks[name] & zero == zero for name, zero in layout.zero_masks().items())


@given(layouts(), layouts())
def test_product_stacks_bits(low: LinearLayout, high: LinearLayout) -> None:
    both = low * high
    assert both.in_sizes == {d: low.in_size(d) * high.in_size(d) for d in INS}
    for p in places(both):
        a = low.apply({d: v % low.in_size(d) for d, v in p.items()})
        b = high.apply({d: v // low.in_size(d) for d, v in p.items()})
        assert both.apply(p) == {d: a[d] + low.out_size(d) * b[d] for d in OUTS}


@given(layouts(), layouts(ins=("lane", "block"), outs=("dim1", "dim2")), layouts(outs=("dim2",)))
def test_product_is_associative_with_a_unit(a: LinearLayout, b: LinearLayout, c: LinearLayout) -> None:
    assert (a * b) * c == a * (b * c)
    assert LinearLayout.empty() * a == a == a * LinearLayout.empty()


@given(layouts(), layouts(ins=OUTS, outs=("x", "y")))
def test_compose_is_application_after_application(inner: LinearLayout, outer: LinearLayout) -> None:
    for dim in OUTS:
        outer = outer.resize_in(dim, max(outer.in_size(dim), inner.out_size(dim)))
    composed = inner.compose(outer)
    for p in places(inner):
        assert composed.apply(p) == outer.apply(inner.apply(p))


@given(layouts(), layouts(ins=OUTS, outs=("x", "y")), layouts(ins=("x", "y"), outs=("z",)))
def test_compose_is_associative(a: LinearLayout, b: LinearLayout, c: LinearLayout) -> None:
    for dim in OUTS:
        b = b.resize_in(dim, max(b.in_size(dim), a.out_size(dim)))
    for dim in ("x", "y"):
        c = c.resize_in(dim, max(c.in_size(dim), b.out_size(dim)))
    assert a.compose(b).compose(c) == a.compose(b.compose(c))


@given(bijections())
def test_invert_undoes_both_ways(layout: LinearLayout) -> None:
    inverse = layout.invert()
    assert inverse.invert() == layout
    for p in places(layout):
        assert inverse.apply(layout.apply(p)) == p


@given(layouts())
def test_pseudo_invert_is_a_right_inverse_of_a_surjection(layout: LinearLayout) -> None:
    if not layout.is_surjective:
        with pytest.raises(ValueError, match="not surjective"):
            layout.pseudo_invert()
        return
    right = layout.pseudo_invert()
    masks = layout.free_variable_masks()
    for p in places(right):
        place = right.apply(p)
        assert layout.apply(place) == p
        assert not any(place[name] & masks[name] for name in place)


@given(layouts(), bijections())
def test_invert_and_compose_finds_each_element(source: LinearLayout, bijection: LinearLayout) -> None:
    outer = bijection.concat_ins(LinearLayout((("copies", 2),), bijection.outs, (3, 0)))
    conversion = source.invert_and_compose(outer)
    assert conversion.ins == source.ins
    assert conversion.outs == outer.ins
    for p in places(source):
        assert outer.apply(conversion.apply(p)) == source.apply(p)


@given(layouts())
def test_conversion_to_itself_is_the_identity(layout: LinearLayout) -> None:
    same = layout.invert_and_compose(layout)
    assert all(same.is_identity(name, name) for name in INS)


def test_invert_and_compose_refuses_what_is_not_held() -> None:
    source = LinearLayout.identity1d(4, "register", "dim0")
    half = LinearLayout.from_bases({"register": [(1,)]}, {"dim0": 4})
    with pytest.raises(ValueError, match="does not reach"):
        source.invert_and_compose(half)


@given(layouts(), layouts())
def test_division_undoes_the_product(low: LinearLayout, high: LinearLayout) -> None:
    assert (low * high).divide_left(low) == high
    assert (low * high).divide_right(high) == low


@given(layouts(), layouts(ins=("lane",), outs=("dim1",)))
def test_a_quotient_multiplies_back(whole: LinearLayout, part: LinearLayout) -> None:
    if (q := whole.divide_left(part)) is not None:
        assert (part * q).transpose_ins(INS).transpose_outs(OUTS) == whole
    if (q := whole.divide_right(part)) is not None:
        assert (q * part).transpose_ins(INS).transpose_outs(OUTS) == whole


def test_vector_width_is_a_quotient() -> None:
    layout = LinearLayout.identity1d(4, "register", "dim0") * LinearLayout.identity1d(8, "lane", "dim0")
    assert layout.divide_left(LinearLayout.identity1d(4, "register", "dim0")) is not None
    assert layout.divide_left(LinearLayout.identity1d(8, "register", "dim0")) is None


@given(layouts())
def test_sublayout_ignores_the_rest(layout: LinearLayout) -> None:
    part = layout.sublayout(["warp", "register"], ["dim1"])
    assert part.in_dims == ("register", "warp")
    for p in places(part):
        assert part.apply(p)["dim1"] == layout.apply({**p, "lane": 0})["dim1"]
    assert layout.without_ins("lane").without_outs("dim0") == part


@given(layouts(), st.permutations(INS), st.permutations(OUTS))
def test_transposition_keeps_the_map(layout: LinearLayout, ins: list[str], outs: list[str]) -> None:
    transposed = layout.transpose_ins(ins).transpose_outs(outs)
    assert transposed.in_dims == tuple(ins)
    assert transposed.out_dims == tuple(outs)
    assert all(transposed.apply(p) == layout.apply(p) for p in places(layout))
    assert transposed.transpose_ins(INS).transpose_outs(OUTS) == layout


@given(layouts())
def test_flattening_counts_the_first_dimension_fastest(layout: LinearLayout) -> None:
    flat = layout.flatten_ins().flatten_outs()
    for p in places(layout):
        r, n = p["register"], layout.in_size("register")
        x = r + n * (p["lane"] + layout.in_size("lane") * p["warp"])
        out = layout.apply(p)
        assert flat.apply({"register": x}) == {"dim0": out["dim0"] + layout.out_size("dim0") * out["dim1"]}
    assert flat.reshape_ins(layout.in_sizes).reshape_outs(layout.out_sizes) == layout


@given(layouts(), layouts(ins=("block", "offset")))
def test_concat_ins_xors_the_parts(left: LinearLayout, right: LinearLayout) -> None:
    for dim in OUTS:
        size = max(left.out_size(dim), right.out_size(dim))
        left, right = left.resize_out(dim, size), right.resize_out(dim, size)
    both = left.concat_ins(right)
    for p in places(both):
        a = left.apply({d: p[d] for d in INS})
        b = right.apply({d: p[d] for d in ("block", "offset")})
        assert both.apply(p) == {d: a[d] ^ b[d] for d in OUTS}


@given(layouts(), layouts(outs=("x",)))
def test_concat_outs_gives_both(left: LinearLayout, right: LinearLayout) -> None:
    for dim in INS:
        size = max(left.in_size(dim), right.in_size(dim))
        left, right = left.resize_in(dim, size), right.resize_in(dim, size)
    both = left.concat_outs(right)
    assert all(both.apply(p) == {**left.apply(p), **right.apply(p)} for p in places(both))


@given(layouts(), st.sampled_from([1, 2, 4, 16]))
def test_resizing(layout: LinearLayout, size: int) -> None:
    resized = layout.resize_in("lane", size)
    for p in places(resized):
        assert resized.apply(p) == layout.apply({**p, "lane": p["lane"] % layout.in_size("lane")})
    narrow = layout.resize_out("dim1", size)
    for p in places(layout):
        assert narrow.apply(p)["dim1"] == layout.apply(p)["dim1"] % size


def test_zeros_and_renaming() -> None:
    layout = LinearLayout.zeros1d(4, "lane", "dim0", 2)
    assert layout.zero_masks() == {"lane": 3}
    assert layout.rename_ins({"lane": "warp"}).in_dims == ("warp",)
    assert layout.rename_outs({"dim0": "dim7"}).out_sizes == {"dim7": 2}


@given(layouts())
def test_equal_layouts_hash_alike(layout: LinearLayout) -> None:
    again = LinearLayout.from_bases(layout.bases, layout.out_sizes)
    assert again == layout
    assert hash(again) == hash(layout)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearLayout.identity1d(3, "lane", "dim0"), "power of two"),
        (lambda: LinearLayout.from_bases({"lane": [(4,)]}, {"dim0": 4}), "outside"),
        (lambda: LinearLayout((("a", 2),), (("b", 1),), (1,)), "1 bases given for 2"),
        (lambda: LinearLayout((("a", 1), ("a", 1)), (("b", 1),), (1, 1)), "repeat"),
        (lambda: LinearLayout.zeros1d(2, "lane", "dim0").invert(), "no inverse"),
        (lambda: LinearLayout.identity1d(2, "a", "b").transpose_outs(["c"]), "not a permutation"),
        (lambda: LinearLayout.identity1d(2, "a", "b").apply({"a": 1, "c": 0}), "expected"),
    ],
)
def test_wrong_use_is_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        make()
