"""Rows that a loop loads in many copies, loaded by neighbouring lanes, each element once, and converted where they are used.

A row that meets a matrix is in the layout of that: a thread has all that its elements meet, perhaps the whole row, and as many registers of it.
One that comes ahead would hold these all the while; spread over the threads it is one, and its address is one, too: what an address is computed
from is carried once more, in the new layout.
"""

from __future__ import annotations

from collections.abc import Iterable

from tri_core.dialects.tt import LoadOp
from tri_core.ir.regions import For
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.traits import is_rematerializable
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import LayoutRules, encoding_of
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.layouts import REGISTER, layout_for
from tri_gpu_dialect.transforms.layout.rematerialize import can_be_rematerialized, rematerialized
from tri_gpu_dialect.transforms.pipeline.building import build
from tri_gpu_dialect.transforms.pipeline.copy_buffers import row_spread
from tri_gpu_dialect.transforms.pipeline.dead_code import drop_dead
from tri_gpu_dialect.transforms.pipeline.expander import Expander
from tri_gpu_dialect.transforms.pipeline.schedule import Carried, Place, Schedule
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["spread_rows"]


def spread_rows(loop: ir.Operation, rows: Iterable[ir.Operation], rules: LayoutRules) -> bool:
    """Have those of ``rows``, loads of ``loop``, of which a thread has more than its share be spread; whether ``loop`` was replaced."""
    view = For(loop)
    found = [row for row in rows if isa(row, LoadOp) and _has_more_than_its_share(row)]
    if not found:
        return False
    spread = _Spread(view, row_spread(found[0]), rules)
    found = [row for row in found if spread.takes(row)]
    if not found:
        return False
    old = block_ops(view.body)[:-1]
    arguments = {
        v: view.body.add_argument(spread.type_of(v), loop.location) for v in _in_order(spread.carried)
    }
    for row in found:
        with ir.InsertionPoint(row), row.location:
            _replace(row, spread, arguments)
    with ir.InsertionPoint(view.end), loop.location:
        ends = {v: spread.made(spread.coming(v), arguments) for v in arguments}
    with ir.InsertionPoint(loop), loop.location:
        inits = {v: spread.made(view.inits[_number(v)], {}) for v in arguments}
    for row in reversed(old):
        if row in found:
            row.erase()
    ops = block_ops(view.body)[:-1]
    added = tuple(Carried(argument, inits[v], ends[v]) for v, argument in arguments.items())
    schedule = Schedule(loop, {op: Place(0, at) for at, op in enumerate(ops)}, 1, added=added)
    drop_dead(Expander(schedule, without=()).run())
    return True


def _in_order(values: Iterable[ir.Value]) -> list[ir.Value]:
    """Arguments of a block in their order."""
    return sorted(values, key=_number)


def _number(argument: ir.Value) -> int:
    """Index of the iter_arg ``argument``."""
    return int(ir.BlockArgument(argument).arg_number) - 1


def _has_more_than_its_share(row: ir.Operation) -> bool:
    result = row.results[0]
    info = tensor_info(result.type)
    if info is None or info.rank != 1 or info.encoding is None:
        return False
    spread = layout_for(row_spread(row), info.shape).packed(REGISTER)
    return registers_of(result) > max((1 << sum(map(bool, spread))) * info.bitwidth // 32, 1)


def _replace(row: ir.Operation, spread: _Spread, arguments: dict[ir.Value, ir.Value]) -> None:
    """Load ``row`` spread, here, and convert it."""
    view = cast(row, LoadOp)
    operands = [spread.made(v, arguments) for v in (view.ptr, view.mask, view.other) if v is not None]
    made = build("tt.load", operands, [spread.type_of(row.results[0])], attributes_of(row, {}))
    converted = build("ttg.convert_layout", [made], [row.results[0].type])
    row.results[0].replace_all_uses_with(converted)


@dataclass
class _Spread:
    """Values of ``loop`` in the layout ``encoding``; ``carried``: those arguments of its body that are needed in it."""

    loop: For
    encoding: Encoding
    rules: LayoutRules

    def __post_init__(self) -> None:
        self.carried: set[ir.Value] = set()

    def takes(self, row: ir.Operation) -> bool:
        """True if all operands that ``row`` is loaded by are available in the layout."""
        view = cast(row, LoadOp)
        needed: set[ir.Value] = set()
        ahead = [v for v in (view.ptr, view.mask, view.other) if v is not None]
        while ahead:
            value = ahead.pop()
            found = self._arguments_of(value)
            if not can_be_rematerialized(value, self.encoding, self.rules, found):
                return False
            for argument in found - needed - self.carried:
                if not can_be_rematerialized(self.loop.inits[_number(argument)], self.encoding, self.rules):
                    return False
                needed.add(argument)
                ahead.append(self.coming(argument))
        self.carried |= needed
        return True

    def coming(self, argument: ir.Value) -> ir.Value:
        """Value of ``argument`` in the next iteration."""
        return self.loop.yielded[_number(argument)]

    def made(self, value: ir.Value, arguments: dict[ir.Value, ir.Value]) -> ir.Value:
        """``value`` in the layout, here, of ``arguments`` in it."""
        return rematerialized(value, self.encoding, {}, self.rules, arguments)

    def type_of(self, value: ir.Value) -> ir.Type:
        """The type of ``value`` in the layout."""
        info = tensor_info(value.type)
        assert info is not None
        return tensor_type(info.shape, info.element_type, self.encoding)

    def _arguments_of(self, value: ir.Value) -> set[ir.Value]:
        """Tensors that the loop carries in the layout of ``value``, of which that is computed."""
        own = {a for a in self.loop.carried if tensor_info(a.type) is not None}
        ahead, seen, found = [value], set[ir.Value](), set[ir.Value]()
        while ahead:
            here = ahead.pop()
            if here in seen:
                continue
            seen.add(here)
            if here in own:
                if encoding_of(here) == encoding_of(value):
                    found.add(here)
            elif not isinstance(here.owner, ir.Block) and is_rematerializable(here.owner.operation):
                ahead += list(here.owner.operation.operands)
        return found
