"""Dynamic slices: the ops, and elements of their results, that one stored element was computed from in the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri.interpreter.allocations import Part
from tri.interpreter.arrays import Array, Data
from tri.interpreter.location import here
from tri_core.errors import SourceLocation
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ROUNDED", "Slicer", "Step", "place_of"]

Program = tuple[int, int, int]
Mask = npt.NDArray[np.bool_]
#: ops that make one element of many: of products, or by their body
_DOTS, _FOLDS = ("tt.dot", "tt.dot_scaled"), ("tt.reduce", "tt.scan")
#: ops that round
ROUNDED = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.fma", *_DOTS)
#: which operand of an op that writes is the value
_WRITTEN = {
    "tt.store": 1, "tt.atomic_store": 1, "tt.atomic_rmw": 1, "tt.atomic_cas": 2,
    "tt.descriptor_store": 1, "tt.descriptor_reduce": 1, "tt.descriptor_scatter": 3,
}  # fmt: skip
#: what they compute comes from memory: where from is not followed
_LEAVES = ("tt.load", "tt.atomic_load", "tt.descriptor_load", "tt.descriptor_gather")


@dataclass(eq=False)
class Step:
    """An op that ran at ``place``, with the names of the ops of its ``body``.

    ``masks`` are the elements of each result that are in the slice, ``taken`` those of each operand.
    """

    op: str
    place: SourceLocation | None
    operands: Sequence[Array]
    results: Sequence[Array]
    attributes: Mapping[str, Any]
    body: frozenset[str] = frozenset()
    masks: list[Mask | None] = field(default_factory=list)
    taken: list[Mask | None] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """The op and its place in the source: the same each time that it runs."""
        return self.op, place_of(self.place)

    def values(self) -> list[Data]:
        """The elements of the results that are in the slice, one after the other."""
        pairs = zip(self.results, self.masks, strict=True)
        return [np.asarray(result.data)[mask] for result, mask in pairs if mask is not None]

    @property
    def folds(self) -> bool:
        """True if it makes one element of many floats, and how they are grouped changes bits."""
        return self.op in _DOTS or (self.op in _FOLDS and not self.body.isdisjoint(ROUNDED))

    @property
    def width(self) -> int:
        """Elements of the first operand for each of the result."""
        taken, mask = self.taken[0], next(each for each in self.masks if each is not None)
        return 0 if taken is None else int(taken.sum()) // max(int(mask.sum()), 1)


def place_of(location: SourceLocation | None) -> str:
    """``file:line:column`` of the line of a kernel, or that it is not known."""
    return (
        "an unknown place" if location is None else f"{location.file}:{location.line}:{location.column + 1}"
    )


@dataclass
class Slicer:
    """Observer of one ``program``, for the element at byte ``offset`` of array ``name``."""

    program: Program
    name: str
    offset: int
    steps: list[Step] = field(default_factory=list)
    _lanes: Mask | None = None
    #: the step that stored the element last, and its lane
    _last: tuple[int, Mask] | None = None

    def computed(
        self,
        program: Program,
        op: str,
        operands: Sequence[Array],
        results: Sequence[Array],
        attributes: Mapping[str, Any],
        body: Sequence[str],
    ) -> None:
        """Record a step of the program."""
        if program != self.program:
            return
        self.steps.append(Step(op, here(), operands, results, attributes, frozenset(body)))
        if self._lanes is not None:
            self._last = len(self.steps) - 1, self._lanes
            self._lanes = None

    def stored(self, program: Program, part: Part, values: Data, *, adds: bool, commutes: bool) -> None:
        """Record the lanes that store the element."""
        del adds, commutes
        if program != self.program or part.target.name != self.name:
            return
        first = self.offset - part.offsets
        hit = np.asarray((first >= 0) & (first < values.dtype.itemsize))
        if hit.any():
            lanes = hit
            if part.lanes is not None:
                lanes = np.zeros(part.lanes.shape, np.bool_)
                lanes[part.lanes] = hit
            self._lanes = lanes

    def slice(self) -> list[Step]:
        """The steps that the element comes from, with its store, in the order in which they ran; none where nothing stored it."""
        if self._last is None:
            return []
        at, lanes = self._last
        store, needed = self.steps[at], dict[int, Mask]()
        value = store.operands[_WRITTEN.get(store.op, 1)]
        _need(
            needed, value, lanes.reshape(value.data.shape) if lanes.size == value.data.size else _all(value)
        )
        found = []
        for step in reversed(self.steps[:at]):
            step.masks = [needed.get(id(each)) for each in step.results]
            if any(each is not None for each in step.masks):
                found.append(step)
                step.taken = [None] * len(step.operands) if step.op in _LEAVES else _spread(step)
                for operand, mask in zip(step.operands, step.taken, strict=True):
                    if mask is not None:
                        _need(needed, operand, mask)
        return [*reversed(found), store]


def _need(needed: dict[int, Mask], value: Array, mask: Mask) -> None:
    # steps hold all values, so an id stays that of one
    needed[id(value)] = needed[id(value)] | mask if id(value) in needed else mask


def _all(value: Array) -> Mask:
    return np.ones(np.shape(value.data), np.bool_)


def _spread(step: Step) -> list[Mask | None]:
    """The elements of each operand that the elements of results in ``masks`` are computed from."""
    mask = np.logical_or.reduce([each for each in step.masks if each is not None])
    shapes = [np.shape(getattr(each, "data", ())) for each in step.operands]
    match step.op:
        case "tt.reduce":
            wide = np.expand_dims(mask, step.attributes["axis"])
            return [np.broadcast_to(wide, shape) for shape in shapes]
        case "tt.scan":
            along = mask.any(step.attributes["axis"], keepdims=True)
            return [np.broadcast_to(along, shape) for shape in shapes]
        case "tt.dot":
            rows, columns = mask.any(-1)[..., :, None], mask.any(-2)[..., None, :]
            return [np.broadcast_to(rows, shapes[0]), np.broadcast_to(columns, shapes[1]), mask]
        case "tt.trans":
            return [np.transpose(mask, np.argsort(step.attributes["order"]))]
        case "tt.broadcast":
            axes = tuple(i for i, (a, b) in enumerate(zip(shapes[0], mask.shape, strict=True)) if a != b)
            return [mask.any(axes, keepdims=True)]
        case "tt.expand_dims" | "tt.reshape":
            return [mask.reshape(shapes[0])]
    return [mask if shape == mask.shape else np.ones(shape, np.bool_) for shape in shapes]
