"""Ops with variadic operands of several types, past a rule of IRDL's that is too strict for them.

A variadic operand (or result) of an op defined through IRDL has one constraint variable, and a variable stands
for one type: ``tt.reduce`` of an f32 and an i32 tensor is refused, although nothing is wrong with it.  Only
MLIR's verifier minds, so such *mixed* ops can be made, moved and rewritten freely; but parsing verifies.  Here a
mixed op goes through the verifier as its *twin*: the same op under an unregistered name, which nobody checks,
while its own rules are checked by hand.  When IRDL's variadics accept several types, this module goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tri_core.bindings import ext, ir
from tri_core.ir.walking import walk

__all__ = ["is_type_clash", "parse_with_twins", "verify_with_twins"]

_TWIN = "__mixed__"
_CLASH = re.compile(r"expected '.*' but got '.*'", re.DOTALL)


def is_type_clash(error: ir.MLIRError) -> bool:
    """True if ``error`` may be IRDL's complaint about a mixed op."""
    return any(_CLASH.match(d.message) for d in error.error_diagnostics)


def parse_with_twins(text: str, dialects: Iterable[type[ext.Dialect]]) -> ir.Module:
    """The module of ``text``, which may hold mixed ops of ``dialects``; raises MLIRError as parsing does."""
    variadic = _variadic_ops(dialects)
    named = re.compile(rf'"(?=(?:{"|".join(map(re.escape, variadic))})")')
    with _unregistered_allowed():
        module = ir.Module.parse(named.sub(f'"{_TWIN}.', text))
    for op in _collect(module.operation, lambda op: op.name.startswith(_TWIN)):
        _rename(op, op.name.removeprefix(f"{_TWIN}."))
    _verify(module.operation, variadic)
    return module


def verify_with_twins(root: ir.Operation, dialects: Iterable[type[ext.Dialect]]) -> None:
    """Verify ``root``, which may hold mixed ops of ``dialects``; raises MLIRError as verifying does.

    Works on a copy: references that the caller holds stay good.
    """
    _verify(root, _variadic_ops(dialects))


def _verify(root: ir.Operation, variadic: frozenset[str]) -> None:
    _check_by_hand(_collect(root, lambda op: op.name in variadic and _is_mixed(op)))
    copy = root.clone(ip=False)
    for op in _collect(copy, lambda op: op.name in variadic and _is_mixed(op)):
        _rename(op, f"{_TWIN}.{op.name}")
    with _unregistered_allowed():
        copy.verify()


def _check_by_hand(ops: Sequence[ir.Operation]) -> None:
    """The ops' own rules, which their twins do not have."""
    for op in ops:
        diagnostics: list[ir.DiagnosticInfo] = []
        with _listening(op.context, diagnostics):
            valid = _is_valid(op.opview)
        if not valid:
            error = ir.MLIRError("Verification failed")
            error.message = "Verification failed"
            error.error_diagnostics = diagnostics
            raise error


def _is_valid(op: Any) -> bool:
    # a rule may be a static method
    check = getattr(type(op), "verify_invariants", None)
    return check is None or bool(check(op))


@contextmanager
def _listening(context: ir.Context, diagnostics: list[ir.DiagnosticInfo]) -> Iterator[None]:
    """Append what is reported meanwhile to ``diagnostics``, instead of printing it."""

    def listen(diagnostic: ir.Diagnostic) -> bool:
        diagnostics.append(ir.DiagnosticInfo(diagnostic))
        return True

    handler = context.attach_diagnostic_handler(listen)
    try:
        yield
    finally:
        handler.detach()


@contextmanager
def _unregistered_allowed() -> Iterator[None]:
    context = ir.Context.current
    before = context.allow_unregistered_dialects
    context.allow_unregistered_dialects = True
    try:
        yield
    finally:
        context.allow_unregistered_dialects = before


def _collect(root: ir.Operation, wanted: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    """The ops below ``root`` that are ``wanted``, inner ones first."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if wanted(op):
            found.append(op)
        return ir.WalkResult.ADVANCE

    walk(root, visit, ir.WalkOrder.POST_ORDER)
    return found


def _variadic_ops(dialects: Iterable[type[ext.Dialect]]) -> frozenset[str]:
    """Names of the ops of ``dialects`` with a variadic operand or result."""
    return frozenset(
        op.OPERATION_NAME
        for dialect in list(dialects)
        for op in dialect.operations
        if any(field.variadicity.name == "variadic" for field in op._fields)
    )


def _is_mixed(op: ir.Operation) -> bool:
    return len({v.type for v in op.operands}) > 1 or len({v.type for v in op.results}) > 1


def _rename(op: ir.Operation, name: str) -> None:
    """Put an op called ``name`` in the place of ``op``, with all that it has."""
    made = ir.Operation.create(
        name,
        results=[r.type for r in op.results],
        operands=list(op.operands),
        attributes={key: op.attributes[key] for key in op.attributes},
        regions=len(op.regions),
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    for old, new in zip(op.regions, made.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    for before, after in zip(op.results, made.results, strict=True):
        before.replace_all_uses_with(after)
    op.erase()
