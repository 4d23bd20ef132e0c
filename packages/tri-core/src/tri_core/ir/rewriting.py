"""Copies and replacements of operations that keep what their maker does not ask to change.

Every function keeps the location and all attributes of the operation that it starts from: inherent, discardable and the
markers that passes leave for each other (:mod:`tri_core.ir.markers`).  Changes are keyword arguments: ``attributes`` are set,
``without`` are left out.

=====================  =====================================================================================
:func:`clone_mapped`   a copy with other values for operands, also inside of its regions
:func:`clone_with`     a copy with other operands, types of results, attributes
:func:`for_like`, ...  structured control flow like another, its blocks to be filled
:func:`erase_dead`     what nobody uses goes; :func:`erase_all`: these ops go
:func:`erase_unused`   an op goes if nobody uses it, with what was for it alone
:func:`rebuild`        the operation itself with other operands, types of results, attributes or name
:func:`rebuild_loop`   an ``scf.for`` with other iter_args: removed, of other values and types, added
:func:`rebuild_while`  an ``scf.while`` with more loop-carried values
:func:`rebuild_if`     an ``scf.if`` with more results
=====================  =====================================================================================

Copies are made at the ambient insertion point, as operations are; replacements stand where the replaced operation stood.
A rebuilt operation takes over the blocks of the old one: handles of operations in them, and of their results, stay good;
those of the blocks themselves and of their arguments do not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence

from tri_core.ir.traits import is_pure
from tri_core.ir.walking import walk
from tri_core.mlir import ir

__all__ = [
    "attributes_of",
    "clone_mapped",
    "clone_with",
    "create_like",
    "end_block",
    "erase_all",
    "erase_dead",
    "erase_unused",
    "for_like",
    "if_like",
    "is_dead",
    "rebuild",
    "rebuild_if",
    "rebuild_loop",
    "rebuild_while",
    "replace_terminator",
    "replace_with",
    "terminator",
    "while_like",
]

Attributes = Mapping[str, ir.Attribute]

#: operands of an ``scf.for`` before the initial values of its iter_args: lower and upper bound, step
_BOUNDS = 3


def terminator(block: ir.Block) -> ir.Operation:
    """The last operation of ``block``."""
    operations = block.operations
    return operations[len(operations) - 1].operation


def attributes_of(
    op: ir.Operation, attributes: Attributes | None = None, *, without: Collection[str] = ()
) -> dict[str, ir.Attribute]:
    """The attributes of ``op`` by name, but those ``without``, and with ``attributes`` set."""
    kept = {name: op.attributes[name] for name in op.attributes if name not in without}
    return {**kept, **(attributes or {})}


# --- copies ---------------------------------------------------------------------------------------------


def create_like(
    op: ir.Operation,
    *,
    name: str | None = None,
    operands: Sequence[ir.Value] | None = None,
    results: Sequence[ir.Type] | None = None,
    attributes: Attributes | None = None,
    without: Collection[str] = (),
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """An operation like ``op`` with as many regions, which are empty."""
    return ir.Operation.create(
        op.name if name is None else name,
        results=[r.type for r in op.results] if results is None else list(results),
        operands=list(op.operands if operands is None else operands),
        attributes=attributes_of(op, attributes, without=without),
        regions=len(op.regions),
        loc=op.location,
        ip=ip,
    )


def clone_with(
    op: ir.Operation,
    *,
    operands: Sequence[ir.Value] | None = None,
    results: Sequence[ir.Type] | None = None,
    attributes: Attributes | None = None,
    without: Collection[str] = (),
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """A copy of ``op``, with copies of its regions, with other ``operands`` or types of ``results``."""
    made = create_like(op, operands=operands, results=results, attributes=attributes, without=without, ip=ip)
    if len(op.regions):
        copy = op.clone(ip=False).operation
        _move_regions(copy, made)
        copy.erase()
    return made


def clone_mapped(
    op: ir.Operation, known: MutableMapping[ir.Value, ir.Value], ip: ir.InsertionPoint | None = None
) -> ir.Operation:
    """A copy of ``op`` that uses ``known[v]`` for a value ``v``, inside of its regions too; its results enter ``known``."""
    made = op.clone(ip=ip or ir.InsertionPoint.current).operation

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for i, value in enumerate(list(inner.operands)):
            other = known.get(value)
            if other is not None:
                inner.operands[i] = other
        return ir.WalkResult.ADVANCE

    if len(made.regions):
        walk(made, visit)
    else:
        visit(made)
    known.update(zip(op.results, made.results, strict=True))
    return made


def for_like(
    loop: ir.Operation,
    bounds: Sequence[ir.Value],
    initial: Sequence[ir.Value],
    *,
    kept: Sequence[int] | None = None,
    attributes: Attributes | None = None,
    without: Collection[str] = (),
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """An ``scf.for`` like ``loop`` over ``bounds`` (lower, upper, step), whose iter_args start as ``initial``.

    Its block has arguments only, located as those of ``loop`` that are ``kept`` (numbers of iter_args; None: all) and, behind
    them, as ``loop`` itself.
    """
    types = [v.type for v in initial]
    made = create_like(
        loop, operands=[*bounds, *initial], results=types, attributes=attributes, without=without, ip=ip
    )
    numbers = None if kept is None else [0, *(1 + i for i in kept)]
    _append_block(
        made.regions[0], loop.regions[0].blocks[0], [bounds[0].type, *types], loop.location, numbers
    )
    return made


def while_like(
    loop: ir.Operation,
    initial: Sequence[ir.Value],
    results: Sequence[ir.Type],
    *,
    kept: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None),
    attributes: Attributes | None = None,
    without: Collection[str] = (),
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """An ``scf.while`` like ``loop`` that starts with ``initial`` and has ``results``; its two blocks have arguments only.

    Of both, ``kept`` are the numbers of those of ``loop`` by which the first ones are located (None: all).
    """
    made = create_like(loop, operands=initial, results=results, attributes=attributes, without=without, ip=ip)
    kinds = ([v.type for v in initial], results)
    for old, new, types, numbers in zip(loop.regions, made.regions, kinds, kept, strict=True):
        _append_block(new, old.blocks[0], types, loop.location, numbers)
    return made


def if_like(
    branch: ir.Operation,
    condition: ir.Value,
    results: Sequence[ir.Type],
    *,
    attributes: Attributes | None = None,
    without: Collection[str] = (),
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """An ``scf.if`` like ``branch`` with two regions that have no blocks yet."""
    return create_like(
        branch, operands=[condition], results=results, attributes=attributes, without=without, ip=ip
    )


def _append_block(
    region: ir.Region,
    like: ir.Block,
    types: Sequence[ir.Type],
    location: ir.Location,
    kept: Sequence[int] | None = None,
) -> ir.Block:
    known = [a.location for a in like.arguments]
    known = known if kept is None else [known[i] for i in kept]
    locations = [known[i] if i < len(known) else location for i in range(len(types))]
    return region.blocks.append(*types, arg_locs=locations)


# --- terminators ----------------------------------------------------------------------------------------


def replace_terminator(
    block: ir.Block,
    operands: Sequence[ir.Value],
    *,
    name: str | None = None,
    attributes: Attributes | None = None,
) -> ir.Operation:
    """End ``block`` with ``operands`` (and another ``name``); gives the new terminator."""
    old = terminator(block)
    made = create_like(old, name=name, operands=operands, attributes=attributes, ip=ir.InsertionPoint(old))
    old.erase()
    return made


def end_block(
    block: ir.Block,
    operands: Sequence[ir.Value] = (),
    *,
    name: str = "scf.yield",
    loc: ir.Location | None = None,
) -> ir.Operation:
    """Append the terminator ``name`` to ``block``, which has none; located as ``loc``, or as the operation around it."""
    where = block.owner.operation.location if loc is None else loc
    return ir.Operation.create(name, operands=list(operands), loc=where, ip=ir.InsertionPoint(block))


# --- replacements ---------------------------------------------------------------------------------------


def replace_with(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Use ``values`` for the results of ``op``, one for each, and erase it."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def erase_all(ops: Sequence[ir.Operation]) -> None:
    """Erase ``ops``, users before what they use; those inside of another go with it."""
    taken = set(ops)
    for op in [op for op in ops if not _is_inside(op, taken)]:
        op.erase()


def _is_inside(op: ir.Operation, others: Collection[ir.Operation]) -> bool:
    around = op.parent
    while around is not None:
        if around.operation in others:
            return True
        around = around.operation.parent
    return False


def erase_dead(root: ir.Operation, removable: Callable[[ir.Operation], bool] = is_pure) -> None:
    """Erase what nobody uses in the regions of ``root``, of the ops that are ``removable``, and what then nobody uses.

    Block by block from the end, since users come after what they use; the regions of an op that goes are not looked into.
    """
    for region in root.regions:
        for block in region.blocks:
            for view in reversed(list(block.operations)):
                op = view.operation
                if removable(op) and is_dead(op):
                    op.erase()
                else:
                    erase_dead(op, removable)


def erase_unused(op: ir.Operation, removable: Callable[[ir.Operation], bool] = is_pure) -> None:
    """Erase ``op`` unless a result of it is used, and with it the ``removable`` ops that only it and such ops used.

    Each op is looked at once, behind all its users: what several of them share is neither left behind nor touched again
    once it is erased.
    """
    if not is_dead(op):
        return
    for each in reversed(_makers(op, removable)):
        if is_dead(each):
            each.erase()


def _makers(op: ir.Operation, removable: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    """``op`` and the ``removable`` ops that it is made of, each behind what it uses; no recursion, since chains are thousands long."""
    order: list[ir.Operation] = []
    seen, ahead = {op}, [(op, iter(list(op.operands)))]
    while ahead:
        here, operands = ahead[-1]
        for value in operands:
            maker = None if isinstance(value.owner, ir.Block) else value.owner.operation
            if maker is not None and maker not in seen and removable(maker):
                seen.add(maker)
                ahead.append((maker, iter(list(maker.operands))))
                break
        else:
            order.append(here)
            ahead.pop()
    return order


def is_dead(op: ir.Operation) -> bool:
    """True if ``op`` has results, none of which has a use."""
    results = op.results
    return len(results) > 0 and all(next(iter(r.uses), None) is None for r in results)


def rebuild(
    op: ir.Operation,
    *,
    name: str | None = None,
    operands: Sequence[ir.Value] | None = None,
    results: Sequence[ir.Type] | None = None,
    attributes: Attributes | None = None,
    without: Collection[str] = (),
) -> ir.Operation:
    """``op`` with other parts in its place: it has the regions, and its first results have the uses, of the old one's.

    ``results``, if given, are at least as many as before.
    """
    made = create_like(
        op, name=name, operands=operands, results=results, attributes=attributes, without=without,
        ip=ir.InsertionPoint(op),
    )  # fmt: skip
    _move_regions(op, made)
    replace_with(op, list(made.results)[: len(op.results)])
    return made


def rebuild_loop(
    loop: ir.Operation,
    *,
    added: Sequence[ir.Value] = (),
    removed: Collection[int] = (),
    initial: Mapping[int, ir.Value] | None = None,
    attributes: Attributes | None = None,
    without: Collection[str] = (),
) -> ir.Operation:
    """The ``scf.for`` ``loop`` with other iter_args, in its place.

    ``added``: initial values of iter_args behind the others.  In each iteration they are what they were in the last, until the
    caller sets the operands of the terminator that belong to them.  ``removed``: numbers of iter_args that go; initial values take
    the place of what they are in the body and of the results.  ``initial``: other initial values by the iter_arg's number as it
    was; the types of arguments and results follow, uses are left to the caller.
    """
    body = loop.regions[0].blocks[0]
    starts = [(initial or {}).get(i, v) for i, v in enumerate(list(loop.operands)[_BOUNDS:])]
    kept = [i for i in range(len(starts)) if i not in removed]
    for i in removed:
        body.arguments[1 + i].replace_all_uses_with(starts[i])
        loop.results[i].replace_all_uses_with(starts[i])
    for i in initial or {}:
        body.arguments[1 + i].set_type(starts[i].type)
    ends = [terminator(body).operands[i] for i in kept]
    new = [body.add_argument(v.type, loop.location) for v in added]
    replace_terminator(body, [*ends, *new])
    for i in sorted(removed, reverse=True):
        body.erase_argument(1 + i)
    operands = [*list(loop.operands)[:_BOUNDS], *(starts[i] for i in kept), *added]
    made = create_like(
        loop, operands=operands, results=[v.type for v in operands[_BOUNDS:]], attributes=attributes,
        without=without, ip=ir.InsertionPoint(loop),
    )  # fmt: skip
    _move_regions(loop, made)
    for number, i in enumerate(kept):
        loop.results[i].replace_all_uses_with(made.results[number])
    loop.erase()
    return made


def rebuild_while(
    loop: ir.Operation,
    *,
    added: Sequence[ir.Value] = (),
    attributes: Attributes | None = None,
    without: Collection[str] = (),
) -> ir.Operation:
    """The ``scf.while`` ``loop`` with more loop-carried values, which start as ``added``, in its place.

    Both blocks pass on what they are given, until the caller sets the last operands of their terminators.
    """
    for region in loop.regions:
        block = region.blocks[0]
        new = [block.add_argument(v.type, loop.location) for v in added]
        replace_terminator(block, [*terminator(block).operands, *new])
    return rebuild(
        loop,
        operands=[*loop.operands, *added],
        results=_more(loop, added),
        attributes=attributes,
        without=without,
    )


def rebuild_if(
    branch: ir.Operation,
    *,
    added: Sequence[ir.Value] = (),
    attributes: Attributes | None = None,
    without: Collection[str] = (),
) -> ir.Operation:
    """The ``scf.if`` ``branch`` with more results, in its place; it has both blocks if there are any results.

    Both blocks give ``added``, values from before, until the caller sets the last operands of their terminators.
    """
    made = rebuild(branch, results=_more(branch, added), attributes=attributes, without=without)
    for region in made.regions:
        if len(region.blocks):
            block = region.blocks[0]
            replace_terminator(block, [*terminator(block).operands, *added])
        elif added:
            end_block(region.blocks.append(), added)
    return made


def _more(op: ir.Operation, added: Sequence[ir.Value]) -> list[ir.Type]:
    return [*(r.type for r in op.results), *(v.type for v in added)]


def _move_regions(source: ir.Operation, target: ir.Operation) -> None:
    for old, new in zip(source.regions, target.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
