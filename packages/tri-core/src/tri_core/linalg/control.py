"""Control flow: ``scf`` as it is, with offsets for pointers."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects import tt
from tri_core.ir.regions import For, If, While
from tri_core.ir.rewriting import end_block, terminator
from tri_core.ir.views import defining_op
from tri_core.lazy_dataclasses import dataclass
from tri_core.linalg import build, indices
from tri_core.linalg.state import RULES, Lowering, Pointer, is_pointer, refuse, shape_of
from tri_core.linalg.strides import Strided
from tri_core.mlir import arith, ir

__all__: list[str] = []

_OTHER_MEMORY = "pointers into one of several arrays"
_REMEDY = "choose between what is loaded, or between offsets into one array"


def _value(lowering: Lowering, value: ir.Value) -> ir.Value:
    """Values carried for ``value``: itself, or the offsets of pointers."""
    return lowering.pointers[value].offsets() if is_pointer(value) else lowering.values[value]


def _type(value: ir.Value) -> ir.Type:
    """The type of what goes along."""
    if not is_pointer(value):
        return value.type
    index: ir.Type = ir.IndexType.get()
    return build.tensor_type(shape_of(value), index) if shape_of(value) else index


def _bind(lowering: Lowering, value: ir.Value, given: ir.Value, base: ir.Value | None) -> None:
    """``value`` is ``given``, which is an offset into ``base`` for pointers."""
    if not is_pointer(value):
        lowering.values[value] = given
        return
    assert base is not None
    lowering.pointers[value] = Pointer(base, given if shape_of(value) else Strided(given))


def _base(lowering: Lowering, value: ir.Value) -> ir.Value | None:
    return lowering.pointers[value].base if is_pointer(value) else None


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes if not name.startswith("tt.")}


# --- counted loops ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moving:
    """Pointers or integers that a loop moves by a uniform step: ``start`` before it; the loop carries the offset alone."""

    start: Strided


@RULES.on(For)
def _for(lowering: Lowering, op: ir.Operation) -> None:
    loop = For(op)
    moving = [_moving(lowering, *pair) for pair in zip(loop.carried, loop.inits, loop.yielded, strict=True)]
    inits = [_value(lowering, value) for value in loop.inits]
    for number, found in enumerate(moving):
        if found is not None and is_pointer(loop.carried[number]):
            inits[number] = indices.as_value(found.start.offset)
    # integers go along as they are, too: what they are used for beside addresses may wrap
    beside = [n for n, found in enumerate(moving) if found is not None and not is_pointer(loop.carried[n])]
    offsets = [found.start.offset for n in beside if (found := moving[n]) is not None]
    starts = [*inits, *map(indices.as_value, offsets)]
    bases = [_base(lowering, value) for value in loop.inits]
    made = ir.Operation.create(
        op.name,
        results=[value.type for value in starts],
        operands=[*(lowering.values[value] for value in loop.bounds), *starts],
        attributes=_attributes(op),
        regions=1,
    )
    counter = lowering.values[loop.lower].type
    body = made.regions[0].blocks.append(counter, *(value.type for value in starts))
    lowering.values[loop.variable] = body.arguments[0]
    _carry(lowering, loop.carried, list(body.arguments)[1:], moving, bases, beside)
    with ir.InsertionPoint(body):
        lowering.block(loop.body)
        yielded = [
            _advanced(lowering, value) if found is not None and is_pointer(value) else _value(lowering, value)
            for value, found in zip(loop.yielded, moving, strict=True)
        ]
        more = [_advanced(lowering, loop.yielded[n]) for n in beside]
    _check_bases(lowering, op, loop.yielded, bases)
    end_block(body, [*yielded, *more], loc=loop.end.location)
    _carry(lowering, list(op.results), list(made.results), moving, bases, beside)


def _carry(
    lowering: Lowering,
    values: Sequence[ir.Value],
    given: Sequence[ir.Value],
    moving: Sequence[_Moving | None],
    bases: Sequence[ir.Value | None],
    beside: Sequence[int],
) -> None:
    """``values`` are ``given``, behind which are the offsets of those with the numbers ``beside``."""
    for value, each, found, base in zip(values, given[: len(values)], moving, bases, strict=True):
        if found is not None and base is not None:
            lowering.pointers[value] = Pointer(base, found.start.moved(each))
        else:
            _bind(lowering, value, each, base)
    for number, offset in zip(beside, given[len(values) :], strict=True):
        found = moving[number]
        assert found is not None
        lowering.strided[values[number]] = found.start.moved(offset)


def _moving(lowering: Lowering, carried: ir.Value, init: ir.Value, yielded: ir.Value) -> _Moving | None:
    if not shape_of(carried) or not _steps(carried, yielded):
        return None
    start = lowering.pointers[init].offset if is_pointer(init) else lowering.strided.get(init)
    return _Moving(start) if isinstance(start, Strided) else None


def _steps(carried: ir.Value, yielded: ir.Value) -> bool:
    """True if ``yielded`` is ``carried`` and numbers that are the same at each place."""
    while yielded != carried:
        advance, sum_ = defining_op(yielded, tt.AddPtrOp), defining_op(yielded, arith.AddIOp)
        if advance is not None and _is_uniform(advance.offset):
            yielded = advance.ptr
        elif sum_ is not None and _is_uniform(sum_.rhs):
            yielded = sum_.lhs
        elif sum_ is not None and _is_uniform(sum_.lhs):
            yielded = sum_.rhs
        else:
            return False
    return True


def _is_uniform(value: ir.Value) -> bool:
    if defining_op(value, tt.SplatOp) is not None:
        return True
    constant = defining_op(value, arith.ConstantOp)
    elements = None if constant is None else constant.attributes["value"]
    return isinstance(elements, ir.DenseElementsAttr) and elements.is_splat


def _advanced(lowering: Lowering, value: ir.Value) -> ir.Value:
    """The offset of what a loop moves, for the next iteration."""
    known = lowering.pointers[value].offset if is_pointer(value) else lowering.strided[value]
    assert isinstance(known, Strided), "a uniform step leaves strides as they are"
    return indices.as_value(known.offset)


def _check_bases(
    lowering: Lowering, op: ir.Operation, values: Sequence[ir.Value], bases: Sequence[ir.Value | None]
) -> None:
    if [_base(lowering, value) for value in values] != list(bases):
        refuse(op, _OTHER_MEMORY, _REMEDY)


# --- branches, other loops --------------------------------------------------------------------------------


@RULES.on(If)
def _if(lowering: Lowering, op: ir.Operation) -> None:
    branch = If(op)
    made = ir.Operation.create(
        op.name,
        results=[_type(value) for value in op.results],
        operands=[lowering.values[branch.condition]],
        attributes=_attributes(op),
        regions=2,
    )
    bases: list[list[ir.Value | None]] = []
    for region, block in zip(made.regions, branch.blocks, strict=False):
        new = region.blocks.append()
        with ir.InsertionPoint(new):
            end = lowering.block(block)
            given = [_value(lowering, value) for value in end.operands]
        end_block(new, given, loc=end.location)
        bases.append([_base(lowering, value) for value in end.operands])
    if any(each != bases[0] for each in bases):
        refuse(op, _OTHER_MEMORY, _REMEDY)
    for value, given_value, base in zip(op.results, made.results, bases[0], strict=True):
        _bind(lowering, value, given_value, base)


@RULES.on(While)
def _while(lowering: Lowering, op: ir.Operation) -> None:
    loop = While(op)
    inits = [_value(lowering, value) for value in loop.inits]
    bases = [_base(lowering, value) for value in loop.inits]
    types = [_type(value) for value in op.results]
    made = ir.Operation.create(op.name, results=types, operands=inits, attributes=_attributes(op), regions=2)
    before = made.regions[0].blocks.append(*(value.type for value in inits))
    after = made.regions[1].blocks.append(*types)
    for value, given, base in zip(loop.before.arguments, before.arguments, bases, strict=True):
        _bind(lowering, value, given, base)
    with ir.InsertionPoint(before):
        decision = lowering.block(loop.before)
        passed = [_value(lowering, value) for value in loop.passed]
        condition = lowering.values[loop.condition]
    end_block(before, [condition, *passed], name=decision.name, loc=decision.location)
    kept = [_base(lowering, value) for value in loop.passed]
    for value, given, base in zip(loop.after.arguments, after.arguments, kept, strict=True):
        _bind(lowering, value, given, base)
    with ir.InsertionPoint(after):
        lowering.block(loop.after)
        yielded = [_value(lowering, value) for value in loop.yielded]
    _check_bases(lowering, op, loop.yielded, bases)
    end_block(after, yielded, loc=terminator(loop.after).location)
    for value, given, base in zip(op.results, made.results, kept, strict=True):
        _bind(lowering, value, given, base)
