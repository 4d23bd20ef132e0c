"""Choice of layouts for the values of a function.

Two sweeps over the function, conversions being ignored:

*Forward*: what has a layout of its own (a load, a dot) forwards it to what is computed from it.  Such
values are **fixed**; doing their work twice would be expensive, so each has one layout.

*Backward*: what is computed from constants, ranges and scalars only is **free**: it costs little to compute
it again.  Each free value collects the layouts that its users want it in.

Loops and branches tie values together: a carried value has one layout, its initial value, what is yielded
and the result follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeAlias

from tri_core.dialects.tt import (
    BroadcastOp,
    DotOp,
    DotScaledOp,
    ElementwiseInlineAsmOp,
    ExternElementwiseOp,
    LoadOp,
    MapElementwiseOp,
    StoreOp,
)
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.markers import OWN_ROWS, SELDOM
from tri_core.ir.regions import (
    Edge,
    ForwardWalk,
    carried_results,
    edges_of,
    is_control,
    is_loop,
    predecessors,
    region_blocks,
)
from tri_core.ir.traits import maps_elements
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.access import MADE_UP_LINES, Lines, stores_as_well, within_warps
from tri_gpu_dialect.analysis.layout_rules import SHARED, Kind, LayoutRules, Operands, encoding_of
from tri_gpu_dialect.analysis.uses_ahead import becomes_rows, uses_ahead
from tri_gpu_dialect.dialect import LocalDotOp
from tri_gpu_dialect.dialect.markers import MARK
from tri_gpu_dialect.encodings import Encoding, MatrixEncoding
from tri_gpu_dialect.types import tensor_info

#: values that are looked at behind one that has no layout yet
_LOOKED_BACK = 8

__all__ = ["Assignment", "Key", "assign", "key_of", "mark"]

#: what stands for an op in dictionaries: a result, or a mark (hashes of ops change when ops do)
Key: TypeAlias = "ir.Value | ir.Attribute"


def mark(op: ir.Operation, number: int) -> None:
    """Make an op without results known to :func:`key_of`."""
    if not len(op.results):
        op.attributes[MARK] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def key_of(op: ir.Operation) -> Key | None:
    """Dictionary key of ``op``; None for an op without results that is not marked."""
    if len(op.results):
        return op.results[0]
    attributes = op.attributes
    return attributes.get(MARK, None)


@dataclass
class Assignment:
    """Result of layout assignment.

    ``fixed``: the layout of each fixed value; ``wanted``: the layouts that a free value is wanted in, the
    first being the main one; ``operands``: for ops that have a say in it, the layout of each operand;
    ``dead``: ops that nobody uses, users before what they use.
    """

    fixed: dict[ir.Value, Encoding] = field(default_factory=dict)
    wanted: dict[ir.Value, list[Encoding]] = field(default_factory=dict)
    operands: dict[Key, Operands] = field(default_factory=dict)
    dead: list[ir.Operation] = field(default_factory=list)

    def decided(self, op: ir.Operation) -> Operands | None:
        """The layouts of the operands of an op that has a say in it."""
        key = key_of(op)
        return None if key is None else self.operands.get(key)

    def main(self, value: ir.Value) -> Encoding | None:
        """The layout of ``value`` itself (copies of it may have others); None when nobody cares."""
        found = self.fixed.get(value)
        if found is None and (wanted := self.wanted.get(value)):
            return wanted[0]
        return found


def assign(
    function: ir.Operation,
    own: dict[Key, Operands],
    threads: int,
    lines: Lines = MADE_UP_LINES,
    rules: LayoutRules = SHARED,
) -> Assignment:
    """Assign layouts in ``function``, which has no conversions.

    ``own`` holds, for anchors and ops with fixed types, the layouts of their operands; ``threads`` is the
    number of threads of a block, ``lines`` what global memory moves at once: a load of fewer elements follows its users instead of leading them.  ``rules``
    are the target's.
    """
    found = Assignment(operands=own)
    forward = _Forward(found, threads, lines, rules)
    backward = _Backward(found, rules)
    for block in function.regions[0].blocks:
        forward.block(block)
    forward.settle_stores()
    for block in function.regions[0].blocks:
        backward.block(block)
    backward.settle_idle()
    return found


@dataclass
class _Forward(ForwardWalk):
    found: Assignment
    threads: int
    lines: Lines
    rules: LayoutRules
    #: layouts chosen for memory accesses: the second choice where layouts meet
    memory: set[Encoding] = field(default_factory=set)
    #: layouts of reductions that nothing they are given decided: the last choice
    unasked: set[Encoding] = field(default_factory=set)
    stores: list[ir.Operation] = field(default_factory=list)
    #: what the loop that is gone through carries in another layout than at first
    changed: set[ir.Value] = field(default_factory=set)

    def follows(self, op: ir.Operation) -> bool:
        """Partitions have layouts of their own warps."""
        return is_control(op)

    def settle_stores(self) -> None:
        """Let stores follow their values where that is as good for memory, and those that are seldom done always."""
        for op in self.stores:
            value = cast(op, StoreOp).value
            info, made, chosen = tensor_info(value.type), self.found.fixed.get(value), self.found.decided(op)
            if info is None or made is None or chosen is None or chosen[1] is None:
                continue
            if OWN_ROWS in op.attributes:
                made = within_warps(made, chosen[1], info.shape, info.bitwidth)
            seldom = SELDOM in op.attributes or OWN_ROWS in op.attributes
            if made != chosen[1] and (
                seldom or stores_as_well(made, chosen[1], info.shape, info.bitwidth, self.lines)
            ):
                key = key_of(op)
                assert key is not None
                self.found.operands[key] = self.rules.of(op).operands(op, made) or chosen

    def op(self, op: ir.Operation) -> None:
        """Let what ``op`` gives follow what it is given, as its rule says."""
        if not len(op.results):
            if isa(op, StoreOp):
                self.stores.append(op)
            return
        rule = self.rules.of(op)
        match rule.kind:
            case Kind.SOURCE:
                pass
            case Kind.FLOW if _widens_one_element(op):
                pass  # every thread has that element, in any layout: those beside the result decide
            case Kind.FLOW:
                encoding = rule.results(op, self.operands(op))
                if encoding is not None and not self.yields(op, encoding):
                    self.fix(op.results, encoding)
            case Kind.REDUCTION:
                self.reduction(op)
            case Kind.ANCHOR:
                self.anchor(op)
            case Kind.SINK | Kind.FIXED:
                for result in op.results:
                    if (present := encoding_of(result)) is not None:
                        self.found.fixed[result] = present

    def yields(self, op: ir.Operation, encoding: Encoding) -> bool:
        """True of a broadcast whose result, in ``encoding``, meets a tensor of another layout: its operand is the cheaper one to convert."""
        if not isa(op, BroadcastOp):
            return False
        met = self.met(op.results[0])
        return met is not None and met != encoding

    def operands(self, op: ir.Operation) -> Operands:
        """The fixed layouts of the operands; where several meet, the preferred one for all."""
        fixed = self.found.fixed
        given = [fixed.get(v) for v in op.operands]
        if len({e for e in given if e is not None}) > 1:
            chosen = self.prefer(op, [e for e in given if e is not None])
            return [chosen if e is not None else None for e in given]
        return given

    def prefer(self, op: ir.Operation, candidates: Sequence[Encoding]) -> Encoding:
        """The layout that the result is stored in; else one that a computation chose."""
        stored = self.stored_in(op)
        if stored is not None and stored in candidates:
            return stored
        asked = [e for e in candidates if e not in self.unasked] or candidates
        return next((e for e in asked if e not in self.memory), asked[0])

    def stored_in(self, op: ir.Operation) -> Encoding | None:
        """The layout of a store that elementwise ops lead to from ``op``."""
        ahead, seen = [op], 0
        while ahead and seen < 16:
            current, seen = ahead.pop(), seen + 1
            for result in current.results:
                for use in result.uses:
                    user = use.owner.operation
                    if isa(user, StoreOp) and use.operand_number == 1:
                        decided = self.found.decided(user)
                        return None if decided is None else decided[1]
                    if maps_elements(user.name):
                        ahead.append(user)
        return None

    def fix(self, results: Sequence[ir.Value], encoding: Encoding) -> None:
        for result in results:
            if tensor_info(result.type) is not None:
                self.found.fixed[result] = encoding

    def reduction(self, op: ir.Operation) -> None:
        """One layout in any case: that of its operands as they are, if none of them is fixed."""
        rule = self.rules.of(op)
        given = self.operands(op)
        if all(e is None for e in given):
            met = next((e for v in op.operands if (e := self.met(v)) is not None), None)
            given = [encoding_of(v) if met is None else met for v in op.operands]
        encoding = rule.results(op, given)
        if encoding is None:
            first = next((e for e in given if e is not None), None)
            tensors = [tensor_info(v.type) is not None for v in op.operands]
            self.found.operands[op.results[0]] = [first if tensor else None for tensor in tensors]
            # such a result is read from shared memory: into any layout at the same cost
            present = next(e for r in op.results if (e := encoding_of(r)) is not None)
            self.fix(op.results, self.stored_in(op) or present)
            return
        followed = rule.operands(op, encoding) or given
        if encoding not in given and encoding in followed:
            self.unasked.add(encoding)
        self.found.operands[op.results[0]] = followed
        self.fix(op.results, encoding)

    def anchor(self, op: ir.Operation) -> None:
        result = tensor_info(op.results[0].type)
        if result is None or result.encoding is None:
            return
        if isa(op, LoadOp) and self.is_small(op, result.numel) and not reads_again(op):
            # few elements: loading them in any layout is cheaper than moving them
            self.found.operands.pop(op.results[0], None)
            return
        # a layout of a matrix instruction is a dot's, whichever op waits for it
        is_computed = isa(op, DotOp, DotScaledOp, LocalDotOp) or isinstance(result.encoding, MatrixEncoding)
        if not is_computed:
            self.memory.add(result.encoding)
        self.fix(op.results, result.encoding)

    def is_small(self, load: ir.Operation, numel: int) -> bool:
        """True where ``load`` follows its users' layout: it has fewer elements than threads, or as many, which become rows of a larger tensor that is reduced."""
        return numel < self.threads or (numel == self.threads and becomes_rows(load.results[0]))

    def met(self, value: ir.Value) -> Encoding | None:
        """The layout that elementwise ops will want ``value`` in, or what is made of it, as they have another operand in it; None without such."""
        for use in uses_ahead(value):
            op = use.owner.operation
            if maps_elements(op.name):
                found = next((e for v in op.operands if (e := self.comes(v)) is not None), None)
                if found is not None:
                    return found
        return None

    def comes(self, value: ir.Value) -> Encoding | None:
        """The layout that ``value`` has, or will have once the walk comes to the elementwise ops that it is made by; None where none is known."""
        ahead, seen = [value], 0
        while ahead and seen < _LOOKED_BACK:
            here, seen = ahead.pop(0), seen + 1
            if here in self.found.fixed:
                return self.found.fixed[here]
            if not isinstance(here.owner, ir.Block) and maps_elements(here.owner.operation.name):
                ahead += here.owner.operation.operands
        return None

    # --- control flow -----------------------------------------------------------------------------------

    def regions(self, op: ir.Operation) -> None:
        """Propagate layouts from a loop's results to its iter_args, so that the conversion precedes the loop;
        each value changes at most once.
        """
        before, self.changed = self.changed, set()
        super().regions(op)
        self.changed = before

    def enter(self, targets: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
        """See :class:`ForwardWalk`."""
        fixed = self.found.fixed
        for target, value in zip(targets, values, strict=True):
            if value in fixed:
                fixed[target] = fixed[value]

    def join(self, targets: Sequence[ir.Value], values: Sequence[ir.Value], *, loop: bool) -> bool:
        """See :class:`ForwardWalk`."""
        if not loop:
            self.enter(targets, values)
            return False
        fixed, news = self.found.fixed, False
        for target, value in zip(targets, values, strict=True):
            if value in fixed and fixed.get(target) != fixed[value] and target not in self.changed:
                fixed[target] = fixed[value]
                self.changed.add(target)
                news = True
        return news

    def leave(self, op: ir.Operation, edges: Sequence[Edge]) -> None:
        """Results of loops are what was carried last; those of branches what the first side makes, or what all users want."""
        fixed = self.found.fixed
        for arguments, results in carried_results(edges):
            self.enter(results, arguments)
        if is_loop(op):
            return
        for result in op.results:
            sources = [fixed[v] for v in predecessors(result) or () if v in fixed]
            if sources:
                fixed.setdefault(result, sources[0])
            self.hoist(result, sources)

    def hoist(self, result: ir.Value, sources: Sequence[Encoding]) -> None:
        """Give a branch's result the one layout that its users want, if one side at most is converted then.

        So a conversion is under the condition instead of behind it, and a side that is computed of
        constants has none.
        """
        wish = self.wish(result) if result in self.found.fixed else None
        if wish is not None and sum(e != wish for e in sources) <= 1:
            self.found.fixed[result] = wish

    def wish(self, value: ir.Value) -> Encoding | None:
        """The one layout that all users of ``value`` want, if they all have a say in it."""
        wishes: set[Encoding | None] = set()
        for use in value.uses:
            decided = self.found.decided(use.owner.operation)
            if decided is None:
                return None
            wishes.add(decided[use.operand_number])
        return wishes.pop() if len(wishes) == 1 else None


def _widens_one_element(op: ir.Operation) -> bool:
    """True of the broadcast of a tensor of one element."""
    info = tensor_info(cast(op, BroadcastOp).src.type) if isa(op, BroadcastOp) else None
    return info is not None and info.numel == 1


@dataclass
class _Backward:
    found: Assignment
    rules: LayoutRules
    #: ops that were not wanted in any layout when they were passed, by a result
    idle: dict[ir.Value, ir.Operation] = field(default_factory=dict)
    #: results of branches of the loop that is swept: users in its next iteration may want them still; None outside of loops
    branched: list[ir.Value] | None = None

    def want(self, value: ir.Value, encoding: Encoding | None) -> None:
        """A user wants ``value`` in ``encoding``."""
        if encoding is None or value in self.found.fixed or tensor_info(value.type) is None:
            return
        wanted = self.found.wanted.setdefault(value, [])
        if encoding not in wanted and not (wanted and _is_single(value)):
            wanted.append(encoding)

    def want_all(self, op: ir.Operation, encodings: Operands | None) -> None:
        if encodings is None:
            encodings = [encoding_of(v) for v in op.operands]
        for value, encoding in zip(op.operands, encodings, strict=True):
            self.want(value, encoding)

    def block(self, block: ir.Block) -> None:
        for view in reversed(list(block)):
            op = view.operation
            if is_control(op):
                self.control(op)
            elif len(op.operands):
                self.op(op)

    def op(self, op: ir.Operation) -> None:
        decided = self.found.decided(op)
        if decided is not None:
            self.want_all(op, decided)
            return
        rule = self.rules.of(op)
        if rule.kind is Kind.SINK:
            for value in op.operands:
                self.want(value, encoding_of(value))
        elif rule.kind in (Kind.FLOW, Kind.ANCHOR) and any(tensor_info(r.type) for r in op.results):
            for encoding in self.encodings(op):
                self.want_all(op, rule.operands(op, encoding))

    def encodings(self, op: ir.Operation) -> Sequence[Encoding]:
        """The layouts that ``op`` is to be computed in."""
        found: list[Encoding] = []
        for result in op.results:
            fixed = self.found.fixed.get(result)
            if fixed is not None:
                return [fixed]
            found += [e for e in self.found.wanted.get(result, ()) if e not in found]
        if not found:
            self.idle.setdefault(op.results[0], op)
        return self.possible(op, found)

    def possible(self, op: ir.Operation, wanted: Sequence[Encoding]) -> Sequence[Encoding]:
        """Those of ``wanted`` that ``op`` can give; if none, the one that follows from its operands as they are.

        The others are left to conversions.
        """
        rule = self.rules.of(op)
        given = [e for e in wanted if rule.operands(op, e) is not None]
        if len(given) == len(wanted):
            return wanted
        if not given:
            follows = rule.results(op, [encoding_of(v) for v in op.operands])
            given = [follows] if follows is not None else list(wanted)
        for result in op.results:
            if result in self.found.wanted:
                self.found.wanted[result] = list(given)
        return given

    def settle_idle(self) -> None:
        """Ops that nobody wants in any layout: dead, or (with effects, or uses that do not care) as they are."""
        for op in self.idle.values():
            if any(self.found.main(r) is not None for r in op.results):
                continue
            if not isa(op, *_EFFECTS) and all(next(iter(r.uses), None) is None for r in op.results):
                self.found.dead.append(op)
                continue
            for result in op.results:
                if (present := encoding_of(result)) is not None:
                    self.demand(result, present)

    def demand(self, value: ir.Value, encoding: Encoding | None) -> None:
        """Want ``value`` in ``encoding``, and all that it is computed from accordingly."""
        before = len(self.found.wanted.get(value, ()))
        self.want(value, encoding)
        owner = value.owner
        if encoding is None or len(self.found.wanted.get(value, ())) == before or isinstance(owner, ir.Block):
            return
        op = owner.operation
        rule = self.rules.of(op)
        if rule.kind in (Kind.FLOW, Kind.ANCHOR):
            for made in self.encodings(op):
                given = rule.operands(op, made) or [encoding_of(v) for v in op.operands]
                for operand, needed in zip(op.operands, given, strict=True):
                    self.demand(operand, needed)

    # --- control flow -----------------------------------------------------------------------------------

    def tie(self, values: Sequence[ir.Value], to: Sequence[ir.Value]) -> None:
        """Want each of ``values`` as the value it is tied to is."""
        for value, other in zip(values, to, strict=True):
            self.want(value, self.found.main(other))

    def wanted_count(self, values: Sequence[ir.Value]) -> int:
        return sum(self.found.main(v) is not None for v in values)

    def keep_present(self, values: Sequence[ir.Value]) -> bool:
        """Let carried tensors that nobody wants stay as they are; whether there were any."""
        idle = [v for v in values if self.found.main(v) is None and encoding_of(v) is not None]
        for value in idle:
            self.want(value, encoding_of(value))
        return bool(idle)

    def control(self, op: ir.Operation) -> None:
        """Tie together what is forwarded along the edges of ``op``."""
        edges = edges_of(op)
        if is_loop(op):
            self.loop(op, edges)
            return
        if self.branched is None:
            self.keep_present(op.results)
        else:
            self.branched += op.results
        for block in region_blocks(op):
            self.backwards(block, edges)

    def loop(self, op: ir.Operation, edges: Sequence[Edge]) -> None:
        blocks = region_blocks(op)
        carried = [value for block in blocks for value in block.arguments]
        ties = carried_results(edges)

        def sweep() -> None:
            for block in reversed(blocks):
                for arguments, results in ties:
                    if arguments and arguments[0].owner == block:
                        self.tie(arguments, results)
                self.backwards(block, [edge for edge in edges if edge.block is not None])

        self.around(carried, sweep)
        for edge in edges:
            if edge.enters and edge.block is not None:
                self.tie(edge.values, edge.targets)
        for arguments, results in ties:
            self.tie(results, arguments)

    def backwards(self, block: ir.Block, edges: Sequence[Edge]) -> None:
        """Tie what ``block`` forwards along ``edges``, and go through it."""
        for edge in edges:
            if not edge.enters and edge.source.block == block:
                self.tie(edge.values, edge.targets)
        self.block(block)

    def around(self, carried: Sequence[ir.Value], sweep: Callable[[], None]) -> None:
        """Sweep a loop's body until no carried value gets a layout any more, nor a branch's result that the next iteration takes."""
        outer = self.branched
        while True:
            before = self.wanted_count(carried)
            self.branched = []
            sweep()
            if self.wanted_count(carried) == before and not self.keep_present([*carried, *self.branched]):
                break
        self.branched = outer


#: elementwise ops that may do more than compute
_EFFECTS = (ElementwiseInlineAsmOp, ExternElementwiseOp, MapElementwiseOp)


def _is_single(value: ir.Value) -> bool:
    """True if ``value`` can have one layout only: it is loop-carried, or read from memory."""
    owner = value.owner
    return isinstance(owner, ir.Block) or isa(owner.operation, LoadOp) or is_control(owner.operation)
