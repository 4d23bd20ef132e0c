"""Control flow as ops declare it: where control goes between an op and its regions, and which values go with it.

An :class:`Edge` is one way of control with the values that it passes on, after MLIR's ``RegionBranchOpInterface``::

    %r = scf.for %i = %low to %high step %s iter_args(%a = %init) { ...; scf.yield %next }

    op -> body    %init becomes %a          body -> body    %next becomes %a
    op -> behind  %init becomes %r          body -> behind  %next becomes %r

An op declares its edges by the trait :class:`RegionBranch` (:class:`LoopLike`: regions may run more than once; or
:class:`ConcurrentRegions`: they run at the same time), and analyses ask :func:`edges_of`, :func:`predecessors`, or derive from
:class:`ForwardWalk`: none of them knows an op by name.  ``scf.for``, ``scf.while`` and ``scf.if`` declare theirs here, and have the
views :class:`For`, :class:`While` and :class:`If` for passes that rewrite them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Self

from tri_core.errors import VerificationError
from tri_core.ir.rewriting import terminator
from tri_core.ir.traits import Trait
from tri_core.ir.walking import collect
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir

__all__ = [
    "ConcurrentRegions",
    "Edge",
    "For",
    "ForwardWalk",
    "If",
    "LoopLike",
    "RegionBranch",
    "RegionBranchTerminator",
    "RegionHolder",
    "ScalarRegions",
    "While",
    "carried_results",
    "counted",
    "deciding_operands",
    "edges_of",
    "ends_region",
    "is_branch",
    "is_control",
    "is_loop",
    "loops_in",
    "predecessors",
    "region_blocks",
    "tied",
    "verify_regions",
]


@dataclass(frozen=True)
class Edge:
    """A way of control at the op ``branch``: ``count`` operands of ``source``, from number ``first`` on, go along.

    ``source`` is the op itself, where control enters, or the terminator of one of its blocks.  ``block``, one of the op's, gets them
    as its arguments from number ``skipped`` on; None: the op's results, control goes on behind it.
    """

    branch: ir.Operation
    source: ir.Operation
    first: int
    count: int
    block: ir.Block | None
    skipped: int = 0

    @property
    def values(self) -> list[ir.Value]:
        """Values that are forwarded."""
        return list(self.source.operands)[self.first : self.first + self.count]

    @property
    def targets(self) -> list[ir.Value]:
        """Targets of the values: block arguments, or results."""
        given = self.branch.results if self.block is None else self.block.arguments
        return list(given)[self.skipped : self.skipped + self.count]

    @property
    def enters(self) -> bool:
        """True if control comes from before the op."""
        return self.source == self.branch

    def leads_to(self, block: ir.Block | None) -> bool:
        """True if control continues in ``block``; None: after the op."""
        return self.block is None if block is None else self.block is not None and self.block == block

    def value(self, number: int) -> ir.Value | None:
        """Value forwarded to argument or result ``number`` of the target; None if the op itself produces it."""
        at = number - self.skipped
        return self.source.operands[self.first + at] if 0 <= at < self.count else None


class RegionBranch(Trait):
    """Control goes through the op's regions as its edges say, one block at a time.

    The op's class defines ``region_edges(self)``, its :class:`Edge` s in the order of their sources: first those from before the op, then
    those of each block in the order in which an analysis should go through them; and ``region_blocks(self)`` where these are not the
    first blocks of its regions.
    """


class RegionBranchTerminator(Trait):
    """Ends blocks of a :class:`RegionBranch`, whose edges say where the operands go."""


class LoopLike(RegionBranch):
    """Edges lead back to blocks before: what is inside may run any number of times."""

    @classmethod
    def attach(cls, name: str) -> None:
        """As :meth:`Trait.attach`; the op is a :class:`RegionBranch` as well."""
        super().attach(name)
        RegionBranch.attach(name)


class ConcurrentRegions(RegionBranch):
    """The regions run at the same time, by different threads."""

    @classmethod
    def attach(cls, name: str) -> None:
        """As :meth:`Trait.attach`; the op is a :class:`RegionBranch` as well."""
        super().attach(name)
        RegionBranch.attach(name)


class ScalarRegions(Trait):
    """The regions are functions of scalars that the op applies to elements: analyses look at the op alone."""


class RegionHolder(Trait):
    """Holds blocks of the op around it, which says how control goes through them."""


# --- what scf has -----------------------------------------------------------------------------------------


class _View:
    """An op by the names of its parts; lists of loop-carried values have one entry for each."""

    OPERATION_NAME: ClassVar[str]
    __slots__ = ("op",)

    def __init__(self, op: ir.Operation) -> None:
        self.op = op

    @classmethod
    def of(cls, op: ir.Operation | None) -> Self | None:
        """The view of ``op`` if it is such an op, else None."""
        return cls(op) if op is not None and op.name == cls.OPERATION_NAME else None


class For(_View):
    """``scf.for``: counts from ``lower`` to below ``upper`` by ``step``, in signed order or unsigned."""

    OPERATION_NAME = "scf.for"
    __slots__ = ()
    #: operands before the initial values of what is carried, and arguments of the body before what is carried
    BOUNDS: ClassVar[int] = 3
    COUNTERS: ClassVar[int] = 1

    @property
    def bounds(self) -> list[ir.Value]:
        """The lower bound, the upper one, which is never reached, and the step."""
        return list(self.op.operands)[: self.BOUNDS]

    @property
    def lower(self) -> ir.Value:
        """Lower bound, the first value of the induction variable."""
        return self.op.operands[0]

    @property
    def upper(self) -> ir.Value:
        """Upper bound, exclusive."""
        return self.op.operands[1]

    @property
    def step(self) -> ir.Value:
        """Step of the induction variable; positive."""
        return self.op.operands[2]

    @property
    def inits(self) -> list[ir.Value]:
        """Initial values of the iter_args."""
        return list(self.op.operands)[self.BOUNDS :]

    @property
    def body(self) -> ir.Block:
        """The block that is repeated."""
        return self.op.regions[0].blocks[0]

    @property
    def variable(self) -> ir.Value:
        """The induction variable."""
        return self.body.arguments[0]

    @property
    def carried(self) -> list[ir.Value]:
        """Iter_args as block arguments of the body."""
        return list(self.body.arguments)[self.COUNTERS :]

    @property
    def end(self) -> ir.Operation:
        """The terminator of the body, whose operands are carried into the next iteration."""
        return terminator(self.body)

    @property
    def yielded(self) -> list[ir.Value]:
        """Values that an iteration yields."""
        return list(self.end.operands)

    @property
    def is_unsigned(self) -> bool:
        """True if the induction variable and the bounds are compared as unsigned numbers."""
        return "unsignedCmp" in self.op.attributes

    def edges(self) -> Iterator[Edge]:
        """See :class:`RegionBranch`."""
        op, body, count = self.op, self.body, len(self.op.results)
        end = terminator(body)
        yield Edge(op, op, self.BOUNDS, count, body, self.COUNTERS)
        yield Edge(op, op, self.BOUNDS, count, None)
        yield Edge(op, end, 0, count, body, self.COUNTERS)
        yield Edge(op, end, 0, count, None)


class While(_View):
    """``scf.while``: the block ``before`` decides whether ``after`` runs, which gives what ``before`` starts with again."""

    OPERATION_NAME = "scf.while"
    __slots__ = ()

    @property
    def inits(self) -> list[ir.Value]:
        """Initial operands of ``before``."""
        return list(self.op.operands)

    @property
    def before(self) -> ir.Block:
        """The block that decides."""
        return self.op.regions[0].blocks[0]

    @property
    def after(self) -> ir.Block:
        """The block that runs if ``before`` says so."""
        return self.op.regions[1].blocks[0]

    @property
    def condition(self) -> ir.Value:
        """Condition (i1) for ``after`` to run."""
        return terminator(self.before).operands[0]

    @property
    def passed(self) -> list[ir.Value]:
        """Values that ``before`` forwards to ``after``, or finally to the results."""
        return list(terminator(self.before).operands)[1:]

    @property
    def yielded(self) -> list[ir.Value]:
        """Values that ``after`` yields to ``before``."""
        return list(terminator(self.after).operands)

    def edges(self) -> Iterator[Edge]:
        """See :class:`RegionBranch`."""
        op, before, after = self.op, self.before, self.after
        decision, end = terminator(before), terminator(after)
        count, passed = len(op.operands), len(op.results)
        yield Edge(op, op, 0, count, before)
        yield Edge(op, decision, 1, passed, after)
        yield Edge(op, decision, 1, passed, None)
        yield Edge(op, end, 0, count, before)


class If(_View):
    """``scf.if``: one of two blocks runs, or one block or none."""

    OPERATION_NAME = "scf.if"
    __slots__ = ()

    @property
    def condition(self) -> ir.Value:
        """Condition (i1) that selects the block."""
        return self.op.operands[0]

    @condition.setter
    def condition(self, value: ir.Value) -> None:
        self.op.operands[0] = value

    @property
    def blocks(self) -> list[ir.Block]:
        """The blocks that there are: that of the condition being true, then the other."""
        return [block for region in self.op.regions for block in region.blocks]

    @property
    def then(self) -> ir.Block:
        """The block that runs where the condition is true."""
        return self.op.regions[0].blocks[0]

    @property
    def otherwise(self) -> ir.Block | None:
        """The block that runs where it is false, if there is one."""
        return next(iter(self.op.regions[1].blocks), None)

    def edges(self) -> Iterator[Edge]:
        """See :class:`RegionBranch`."""
        op, blocks = self.op, self.blocks
        for block in blocks:
            yield Edge(op, op, 1, 0, block)
        if len(blocks) == 1:
            yield Edge(op, op, 1, 0, None)
        for block in blocks:
            yield Edge(op, terminator(block), 0, len(op.results), None)


_EDGES: dict[str, Callable[[ir.Operation], Iterator[Edge]]] = {
    view.OPERATION_NAME: lambda op, view=view: view(op).edges()  # type: ignore[misc]
    for view in (For, While, If)
}
RegionBranch.attach(If.OPERATION_NAME)
for _end in ("scf.yield", "scf.condition"):
    RegionBranchTerminator.attach(_end)
for _loop in (For, While):
    LoopLike.attach(_loop.OPERATION_NAME)


_UNDERSTOOD = (RegionBranch, ScalarRegions, RegionHolder)


# --- what analyses ask ------------------------------------------------------------------------------------


def verify_regions(root: ir.Operation) -> None:
    """VerificationError for an op in ``root`` whose regions analyses would go by without a look inside."""
    for op in collect(root):
        if not len(op.regions) or any(trait.declared_by(op.name) for trait in _UNDERSTOOD):
            continue
        if op.name != "builtin.module" and "sym_name" not in op.attributes:
            raise VerificationError(
                f"{op.name} has regions, and does not declare how control goes through them",
                location=source_location(op.location),
                remedy="give its class the trait RegionBranch, LoopLike or ConcurrentRegions of tri_core.ir.regions and region_edges(self), "
                "or rewrite it before",
            )


def is_control(op: ir.Operation) -> bool:
    """True if ``op`` declares the control flow through its regions, one block at a time."""
    return RegionBranch.declared_by(op.name) and not ConcurrentRegions.declared_by(op.name)


def is_loop(op: ir.Operation) -> bool:
    """True if the regions of ``op`` may run more than once."""
    return LoopLike.declared_by(op.name)


def is_branch(op: ir.Operation) -> bool:
    """True if at most one block of ``op`` runs, and once."""
    return is_control(op) and not is_loop(op)


def counted(value: ir.Value) -> For | None:
    """The loop that ``value`` is the induction variable of."""
    owner = value.owner
    if not isinstance(owner, ir.Block) or ir.BlockArgument(value).arg_number:
        return None
    op = owner.owner.operation
    return For(op) if op.name == For.OPERATION_NAME else None


def edges_of(op: ir.Operation) -> list[Edge]:
    """The edges that ``op`` declares, those from before it first, then by source.

    VerificationError for an op with the trait whose class does not say them.
    """
    known = _EDGES.get(op.name)
    if known is not None:
        return list(known(op))
    declared = getattr(op.opview, "region_edges", None)
    if declared is None:
        raise VerificationError(
            f"{op.name} is a RegionBranch and does not say how control goes through its regions",
            location=source_location(op.location),
            remedy=f"define region_edges(self) in {type(op.opview).__name__}, which returns its edges",
        )
    return list(declared())


def region_blocks(op: ir.Operation) -> list[ir.Block]:
    """The blocks of ``op`` between which its edges lead, in the order in which an analysis goes through them."""
    own = None if op.name in _EDGES else getattr(op.opview, "region_blocks", None)
    return [block for region in op.regions for block in region.blocks] if own is None else list(own())


def predecessors(value: ir.Value) -> list[ir.Value] | None:
    """Values that control flow may forward to ``value``, an argument of a block in an op's region or a result
    of such an op.

    None: no edge gives it: another op computes it, it is a function's argument, or the op makes it itself (an induction variable).
    """
    owner = value.owner
    if isinstance(owner, ir.Block):
        op, number, block = owner.owner.operation, ir.BlockArgument(value).arg_number, owner
    else:
        op, number, block = owner.operation, ir.OpResult(value).result_number, None
    while not RegionBranch.declared_by(op.name):
        # blocks of an op that stands in for regions of the one around it
        if block is None or op.parent is None or not RegionBranch.declared_by(op.parent.operation.name):
            return None
        op = op.parent.operation
    found = [e.value(number) for e in edges_of(op) if e.leads_to(block)]
    given = [each for each in found if each is not None]
    return given or None


def ends_region(op: ir.Operation) -> bool:
    """True if ``op`` terminates a block of an op that declares its control flow, and forwards its operands."""
    return RegionBranchTerminator.declared_by(op.name)


def carried_results(edges: Sequence[Edge]) -> list[tuple[list[ir.Value], list[ir.Value]]]:
    """Arguments of blocks and, pairwise, the results that are what these are when control goes on behind the op: both get the same
    operands of one terminator.
    """
    return [
        (inner.targets, outer.targets)
        for outer in edges
        if outer.block is None and outer.count and not outer.enters
        for inner in edges
        if inner.block is not None
        and (inner.source, inner.first, inner.count) == (outer.source, outer.first, outer.count)
    ]


def deciding_operands(op: ir.Operation) -> list[ir.Value]:
    """Operands that decide the control flow at ``op`` and are not forwarded: bounds, conditions, also of its
    terminators.
    """
    forwarded: dict[ir.Operation, set[int]] = {op: set()}
    for edge in edges_of(op):
        forwarded.setdefault(edge.source, set()).update(range(edge.first, edge.first + edge.count))
    return [v for source, known in forwarded.items() for i, v in enumerate(source.operands) if i not in known]


def tied(value: ir.Value) -> list[ir.Value] | None:
    """Values forwarded to ``value`` (:func:`predecessors`), and the arguments or results that receive the
    same; None as there.
    """
    found = predecessors(value)
    if found is None:
        return None
    owner = value.owner
    op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    if not RegionBranch.declared_by(op.name):
        return found
    pairs = [pair for left, right in carried_results(edges_of(op)) for pair in zip(left, right, strict=True)]
    return [*found, *(b if a == value else a for a, b in pairs if value in (a, b))]


def loops_in(root: ir.Operation) -> list[ir.Operation]:
    """All counted loops in ``root``, inner ones first."""
    return [op for op in collect(root) if op.name == For.OPERATION_NAME]


class ForwardWalk(ABC):
    """An analysis in the order of control, to a fixpoint: what holds of a value follows from what its op was given.

    Subclasses define :meth:`op`, and :meth:`join`, which weakens what is known of ``targets`` to hold of ``values`` as well.
    """

    @abstractmethod
    def op(self, op: ir.Operation) -> None:
        """Transfer function of ``op``, which declares no control flow."""

    @abstractmethod
    def join(self, targets: Sequence[ir.Value], values: Sequence[ir.Value], *, loop: bool) -> bool:
        """Let ``targets`` be what ``values`` are as well; whether that is news.  ``loop``: control leads back."""

    def enter(self, targets: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
        """Let ``targets``, arguments of a block that control enters, be what ``values`` are."""
        self.join(targets, values, loop=False)

    def begin(self, op: ir.Operation, edges: Sequence[Edge]) -> None:
        """Control enters ``op`` by ``edges``; what its regions make themselves (an induction variable) is for subclasses to know."""
        for edge in edges:
            self.enter(edge.targets, edge.values)

    def follows(self, op: ir.Operation) -> bool:
        """True if the walk enters the regions of ``op``; else it is an op like others."""
        return RegionBranch.declared_by(op.name)

    def block(self, block: ir.Block) -> None:
        """Go through the ops of ``block``."""
        for view in block:
            op = view.operation
            if self.follows(op):
                self.regions(op)
            else:
                self.op(op)

    def regions(self, op: ir.Operation) -> None:
        """Go through the blocks of ``op`` until nothing is news, then forward its results."""
        blocks, edges = region_blocks(op), edges_of(op)
        self.begin(op, [edge for edge in edges if edge.enters and edge.block is not None])
        while self._once(blocks, edges):
            pass
        self.leave(op, edges)

    def leave(self, op: ir.Operation, edges: Sequence[Edge]) -> None:
        """Control goes on behind ``op``: its results are what its edges say."""
        for edge in edges:
            if edge.block is None and edge.count:
                self.join(edge.targets, edge.values, loop=False)

    def _once(self, blocks: Sequence[ir.Block], edges: Sequence[Edge]) -> bool:
        """Go through ``blocks`` once; whether what leads back brings news."""
        news = False
        for number, block in enumerate(blocks):
            self.block(block)
            for edge in edges:
                if edge.block is None or edge.enters or edge.source.block != block:
                    continue
                back = edge.block in blocks[: number + 1]
                news |= self.join(edge.targets, edge.values, loop=back) and back
        return news
