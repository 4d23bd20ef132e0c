"""The control flow of a kernel's text: blocks, numbered so that what a loop repeats comes before what follows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_backend_nvidia.text.operation import unknown
from tri_backend_nvidia.text.syntax import Guard, Instruction, Kernel
from tri_core.api import Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Block", "Way", "blocks_of", "loops_of"]

_LEAVES = ("ret", "exit")
#: instructions that make threads wait, which guards may keep others from
_WAITING = ("bar", "barrier", "mbarrier")


@dataclass(frozen=True)
class Way:
    """Threads go to ``target``: where ``guard`` holds, or (``case``) where ``register`` has that value, or all that are left."""

    target: int
    guard: Guard | None = None
    register: str = ""
    case: int = 0


@dataclass(frozen=True)
class Block:
    """Instructions, then ``ways`` to other blocks, by number; none: the end of the kernel."""

    code: tuple[Instruction, ...]
    ways: tuple[Way, ...]
    last: Instruction | None = None


def blocks_of(kernel: Kernel) -> list[Block]:
    """The blocks of ``kernel`` that are reached, in the order in which threads at different places run."""
    raw = _cut(kernel)
    order = _order(set(_reached(raw)), 0, raw)
    place = {old: new for new, old in enumerate(order)}
    return [
        Block(
            raw[i].code,
            tuple(Way(place[w.target], w.guard, w.register, w.case) for w in raw[i].ways),
            raw[i].last,
        )
        for i in order
    ]


def _splits(code: Instruction) -> bool:
    """True if an instruction has a block of its own: its guard keeps threads from waiting or leaving."""
    return code.guard is not None and (code.parts[0] in _WAITING or code.parts[0] in _LEAVES)


def _cut(kernel: Kernel) -> list[Block]:
    """Blocks in the order of the text, with the numbers of blocks in that order."""
    code = kernel.code
    firsts = {0, *kernel.labels.values()}
    for i, each in enumerate(code):
        if each.parts[0] in ("bra", "brx", *_LEAVES) or _splits(each):
            firsts |= {i + 1} | ({i} if _splits(each) else set())
    starts = sorted(f for f in firsts if f < len(code))
    # a guarded block needs one before it, in which threads part
    number: dict[int, int] = {}
    for start in starts:
        number[start] = len(number) + sum(1 for s in starts if s < start and _splits(code[s]))
    made: list[Block] = []
    for start, end in zip(starts, [*starts[1:], len(code)], strict=True):
        following = number.get(end)
        if _splits(code[start]):
            made.append(_parting(code[start], len(made) + 1, following))
        made.append(_block(kernel, code[start:end], number, following))
    return made


def _parting(code: Instruction, own: int, following: int | None) -> Block:
    if following is None:
        raise unknown(code, "a guard at the end of the text")
    return Block((), (Way(own, code.guard), Way(following)), code)


def _block(
    kernel: Kernel, code: Sequence[Instruction], number: dict[int, int], following: int | None
) -> Block:
    last = code[-1]
    name = last.parts[0]
    if name in _LEAVES:
        return Block(tuple(code[:-1]), (), last)
    rest = [] if following is None else [Way(following)]
    if name == "bra":
        target = _target(kernel, last, last.operands[0], number)
        ways = [Way(target, last.guard), *rest] if last.guard else [Way(target)]
        return Block(tuple(code[:-1]), tuple(ways), last)
    if name == "brx":
        register, table = last.operands
        cases = kernel.targets.get(table, ())
        ways = [Way(_target(kernel, last, t, number), None, register, i) for i, t in enumerate(cases)]
        return Block(tuple(code[:-1]), tuple(ways), last)
    return Block(tuple(code), tuple(rest), None)


def _target(kernel: Kernel, code: Instruction, label: str, number: dict[int, int]) -> int:
    place = kernel.labels.get(label)
    if place is None or place not in number:
        raise Unsupported(f"PTX line {code.line}: {code}: there is no label {label}", location=code.location)
    return number[place]


def _reached(blocks: Sequence[Block]) -> Iterator[int]:
    seen, waiting = {0}, [0]
    while waiting:
        block = waiting.pop()
        yield block
        for way in blocks[block].ways:
            if way.target not in seen:
                seen.add(way.target)
                waiting.append(way.target)


def _order(nodes: set[int], entry: int, blocks: Sequence[Block]) -> list[int]:
    """``nodes`` from ``entry``: components in topological order, of each loop its head and then the rest, ordered likewise."""
    found: list[int] = []
    for component in components(nodes, entry, blocks):
        head = _head(component, nodes, entry, blocks)
        if len(component) == 1:
            found += component
            continue
        rest = set(component) - {head}
        found.append(head)
        left = set(rest)
        while left:
            begin = _entry(left, head, found, blocks)
            part = set(_within(left, begin, blocks))
            found += _order(part, begin, blocks)
            left -= part
    return found


def _head(component: Sequence[int], nodes: set[int], entry: int, blocks: Sequence[Block]) -> int:
    """The block of a loop that others enter."""
    if entry in component:
        return entry
    inside = set(component)
    entered = [w.target for n in nodes - inside for w in blocks[n].ways if w.target in inside]
    return min(entered, default=min(component))


def _entry(left: set[int], head: int, found: Sequence[int], blocks: Sequence[Block]) -> int:
    """Entry from what stands into what is ``left`` of a loop: a block that no other one left leads to, if there is one."""
    reached = [w.target for n in found for w in blocks[n].ways if w.target in left] or [min(left)]
    led = {w.target for n in left for w in blocks[n].ways if w.target in left and n != w.target}
    return next((r for r in reached if r not in led), reached[0])


def _within(nodes: set[int], entry: int, blocks: Sequence[Block]) -> Iterator[int]:
    seen, waiting = {entry}, [entry]
    while waiting:
        block = waiting.pop()
        yield block
        for way in blocks[block].ways:
            if way.target in nodes and way.target not in seen:
                seen.add(way.target)
                waiting.append(way.target)


def components(nodes: set[int], entry: int, blocks: Sequence[Block]) -> list[list[int]]:
    """Strongly connected components of ``nodes``, in topological order (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    held: set[int] = set()
    found: list[list[int]] = []
    for root in [entry, *sorted(nodes)]:
        if root not in index:
            _visit(root, nodes, blocks, index, low, stack, held, found)
    return found[::-1]


def _visit(
    root: int,
    nodes: set[int],
    blocks: Sequence[Block],
    index: dict[int, int],
    low: dict[int, int],
    stack: list[int],
    held: set[int],
    found: list[list[int]],
) -> None:
    def enter(node: int) -> tuple[int, Iterator[int]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        held.add(node)
        return node, iter([w.target for w in blocks[node].ways if w.target in nodes])

    work = [enter(root)]
    while work:
        node, targets = work[-1]
        target = next(targets, None)
        if target is None:
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                place = stack.index(node)
                found.append(stack[place:])
                held.difference_update(stack[place:])
                del stack[place:]
        elif target not in index:
            work.append(enter(target))
        elif target in held:
            low[node] = min(low[node], index[target])


def loops_of(blocks: Sequence[Block]) -> list[list[int]]:
    """The innermost loops: components of which no part, without its first block, is a loop."""
    found: list[list[int]] = []
    waiting = [(set(range(len(blocks))), 0)]
    while waiting:
        nodes, entry = waiting.pop()
        for component in components(nodes, entry, blocks):
            head = min(component)
            if len(component) == 1 and all(w.target != head for w in blocks[head].ways):
                continue
            rest = set(component) - {head}
            inner = [c for c in components(rest, min(rest), blocks) if _is_loop(c, blocks)] if rest else []
            if inner:
                waiting.append((rest, min(rest)))
            else:
                found.append(sorted(component))
    return found


def _is_loop(component: Sequence[int], blocks: Sequence[Block]) -> bool:
    return len(component) > 1 or any(w.target == component[0] for w in blocks[component[0]].ways)
