"""Laws of IR, and of every encoding that the target's pipeline puts into its modules."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tri_conformance.case import Case, Needs, asked, require
from tri_conformance.modules import CORPUS, Held, encodings_of, walk
from tri_conformance.subject import Subject
from tri_core import mlir

__all__ = ["LAWS", "cases"]

Law = Callable[[Any, Held], None]


def cases() -> Iterator[Case]:
    """The cases of this level."""
    for name in CORPUS:
        yield Case("layouts", "text-round-trip", name, asked(_round_trip, name), _needs(name))
    for name, law in LAWS.items():
        yield Case("layouts", name, "", asked(_hold, law), Needs(encodings=True))


def _needs(name: str) -> Needs:
    sample = CORPUS[name]
    return Needs(dtypes=sample.dtypes, warps=sample.options.get("num_warps", 4))


def _round_trip(subject: Subject, name: str) -> None:
    """A module's text, read again, is the same text; and it verifies."""
    with mlir.session():
        for stage, module in walk(subject, name):
            module.operation.verify()
            text = _text(module)
            again = _text(mlir.ir.Module.parse(text))
            require(again == text, f"stage {stage}: the module's text does not read back as the same module")


def _text(module: Any) -> str:
    return str(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))


def _hold(subject: Subject, law: Law) -> None:
    held = encodings_of(subject)
    tested = 0
    with mlir.session():
        for one in held:
            encoding = _encodings().decode(one.attribute)
            for shape in _shapes(one):
                try:
                    law(encoding, Held(one.attribute, shape, one.sample, one.stage, one.warps, one.lanes))
                except AssertionError as error:
                    raise AssertionError(
                        f"{error}\n  {one.attribute} of {shape} ({one.sample}, {one.stage})"
                    ) from error
                tested += 1
    require(tested, "no encoding was found")


def _encodings() -> Any:
    return importlib.import_module("tri_gpu_dialect.layouts.encoding")


def _shapes(held: Held) -> list[tuple[int, ...]]:
    """The shape that it was found with, and larger ones."""
    return [held.shape, tuple(2 * n for n in held.shape), (*held.shape[:-1], 4 * held.shape[-1])]


def _is_distributed(encoding: Any) -> bool:
    return isinstance(encoding, _encodings().DistributedEncoding)


def _onto(encoding: Any, held: Held) -> None:
    """Every element of the tensor has a place."""
    layout = encoding.linear_layout(held.shape)
    require(layout.is_surjective, "the layout is not onto")
    require(tuple(layout.out_sizes.values()) == held.shape, f"its outputs have sizes {layout.out_sizes}")


def _sizes(encoding: Any, held: Held) -> None:
    """As many lanes and warps as the module has."""
    if not _is_distributed(encoding):
        return
    sizes = encoding.linear_layout(held.shape).in_sizes
    require(sizes.get("lane", 1) == held.lanes, f"{sizes.get('lane')} lanes, the module has {held.lanes}")
    require(sizes.get("warp", 1) == held.warps, f"{sizes.get('warp')} warps, the module has {held.warps}")


def _one_value(encoding: Any, held: Held) -> None:
    """Places beyond the elements are exact copies: the free bits of the layout account for all of them."""
    layout = encoding.linear_layout(held.shape)
    places, elements = 1 << layout.in_bits, 1 << layout.out_bits
    copies = 1 << sum(int(mask).bit_count() for mask in layout.free_variable_masks().values())
    require(places == elements * copies, f"{places} places, {elements} elements, {copies} copies")


def _inverse(encoding: Any, held: Held) -> None:
    """A place computed from an element holds that element."""
    layout = encoding.linear_layout(held.shape)
    through = layout.pseudo_invert().compose(layout)

    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(st.integers(0, (1 << layout.out_bits) - 1))
    def check(element: int) -> None:
        require(through.apply_packed(element) == element, f"element {element} is found at another's place")

    check()


def _linear(encoding: Any, held: Held) -> None:
    """The place of a sum (of bits) is the sum of places."""
    layout = encoding.linear_layout(held.shape)
    places = st.integers(0, (1 << layout.in_bits) - 1)

    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(places, places)
    def check(a: int, b: int) -> None:
        both = layout.apply_packed(a) ^ layout.apply_packed(b)
        require(layout.apply_packed(a ^ b) == both, f"places {a} and {b} are not linear")

    check()


def _attribute(encoding: Any, held: Held) -> None:
    """Attribute to encoding to attribute to text and back is nothing changed."""
    again = encoding.to_attr()
    require(again == held.attribute, f"it is written as {again}")
    read = mlir.ir.Attribute.parse(str(again))
    require(_encodings().decode(read) == encoding, f"{again} is read as another encoding")
    require(hash(_encodings().decode(read)) == hash(encoding), "equal encodings hash differently")


def _operands(encoding: Any, held: Held) -> None:
    """Check a dot result's requirements on its operands: onto, with the module's lanes and warps."""
    parent = getattr(encoding, "parent", None)
    index = getattr(encoding, "op_idx", None)
    if parent is None or index is None:
        return
    layout = encoding.linear_layout(held.shape)
    whole = parent.linear_layout((held.shape[0], held.shape[-1])[-len(held.shape) :])
    require(layout.in_sizes.get("lane") == whole.in_sizes.get("lane"), "operand and result differ in lanes")
    require(layout.in_sizes.get("warp") == whole.in_sizes.get("warp"), "operand and result differ in warps")


#: what every encoding obeys
LAWS: dict[str, Law] = {
    "onto": _onto,
    "sizes": _sizes,
    "copies": _one_value,
    "inverse": _inverse,
    "linear": _linear,
    "attribute": _attribute,
    "operands": _operands,
}
