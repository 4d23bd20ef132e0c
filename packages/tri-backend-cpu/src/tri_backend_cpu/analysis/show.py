"""Plans as text: for tests, for debugging and for the log."""

from __future__ import annotations

from collections.abc import Iterator

from tri_backend_cpu.analysis.plan import (
    BlockPlan,
    Control,
    Dot,
    Effect,
    Member,
    Nest,
    Plan,
    Reduce,
    Scalar,
    Scan,
    View,
    Write,
)

__all__ = ["show"]


def show(plan: Plan) -> str:
    """One line per step and member, blocks indented."""
    return "\n".join([*_block(plan.body, 0), f"arena {plan.arena}"])


def _block(block: BlockPlan, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for step in block.steps:
        match step:
            case Scalar():
                yield f"{pad}{step.op.name}"
            case Nest():
                kind = " scalar" if step.scalar else ""
                yield f"{pad}nest{kind} {'x'.join(map(str, step.shape))}: " + "; ".join(
                    map(_member, step.members)
                )
            case Dot():
                yield f"{pad}dot -> {_view(step.view)}"
            case Scan():
                yield f"{pad}scan -> {', '.join(map(_view, step.views))}"
            case Control():
                yield f"{pad}{step.op.name}"
                for inner in step.blocks:
                    yield f"{pad}  block"
                    yield from _block(inner, depth + 2)
            case _:
                yield f"{pad}{type(step).__name__}"


def _member(member: Member) -> str:
    targets = ", ".join(_view(v) for v in member.views if v is not None)
    arrow = f" -> {targets}" if targets else ""
    match member:
        case Write():
            source = member.value.op.name if member.value.op else f"argument {member.value.index}"
            return f"write {source}{arrow}"
        case Reduce() | Effect():
            return f"{member.op.name}{arrow}"
        case _:
            return type(member).__name__


def _view(view: View) -> str:
    return f"{view.buffer.dtype}[{view.buffer.numel}]@{view.buffer.offset}"
