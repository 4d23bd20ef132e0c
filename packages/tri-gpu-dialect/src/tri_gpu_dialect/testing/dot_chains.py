"""Loops of chained dots at random, and an interpreter of symbols that sees whether each is waited for and its stage held."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from hypothesis import strategies as st

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops, functions

__all__ = ["BARRIER", "STAGE", "Dot", "Machine", "chains", "program", "the_function", "the_loop", "two"]

HEAD = """
#acc = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%start: tensor<32x32xf32, #acc>, %n: i32) -> (TENSORS) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
    %q = ttg.local_alloc : () -> !ttg.memdesc<3x32x32xf16, #shared, #smem, mutable>
    %r0 = ttg.local_alloc : () -> !ttg.memdesc<3x32x32xf16, #shared, #smem, mutable>
    %r1 = ttg.local_alloc : () -> !ttg.memdesc<3x32x32xf16, #shared, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<3x1xi64, #bar, #smem, mutable>
    %qs = ttg.memdesc_index %q[%c0] : !ttg.memdesc<3x32x32xf16, #shared, #smem, mutable> -> !ttg.memdesc<32x32xf16, #shared, #smem, mutable>
"""
TENSOR, HALF = "tensor<32x32xf32, #acc>", "tensor<32x32xf16, #acc>"
LEFT = "tensor<32x32xf16, #ttg.dot_op<{opIdx = 0, parent = #acc, kWidth = 2}>>"
STAGE = "!ttg.memdesc<32x32xf16, #shared, #smem, mutable>"
BARRIER = "!ttg.memdesc<1xi64, #bar, #smem, mutable>"


@dataclass(frozen=True)
class Dot:
    """A dot of a loop: the dot before whose result is its left operand, its ring, the accumulator that it adds to (None: to zeros).

    ``scaled``: the accumulator is multiplied by the running maximum first.
    """

    factor: int | None
    ring: int
    total: int | None
    scaled: bool


@st.composite
def chains(draw: st.DrawFn) -> list[Dot]:
    """Two to four dots, each with an operand and an accumulator from before or without."""
    dots = [Dot(None, 0, None, False)]
    for i in range(1, draw(st.integers(1, 3)) + 1):
        factor = draw(st.one_of(st.none(), st.integers(0, i - 1)))
        total = draw(st.one_of(st.none(), st.just(i)))
        dots.append(Dot(factor, draw(st.integers(0, 1)), total, draw(st.booleans())))
    return dots


def program(dots: list[Dot]) -> str:
    """A loop of ``dots``, which carries their accumulators, the maximum of the first, and the number of a stage."""
    totals = [i for i, dot in enumerate(dots) if dot.total is not None]
    carried = [*(f"%acc{i}" for i in totals), "%top", "%s"]
    types = [*[TENSOR] * (len(totals) + 1), "i32"]
    lines: list[str] = []
    for i, dot in enumerate(dots):
        first = all(d.ring != dot.ring for d in dots[:i])
        last = all(d.ring != dot.ring for d in dots[i + 1 :])
        lines += statements(i, dot, first, last)
    lines += ["%next = arith.addi %s, %c1 : i32"]
    ends = [*(f"%w{i}" for i in totals), "%top0", "%next"]
    inits = [*["%start"] * (len(totals) + 1), "%c0"]
    passed = ", ".join(f"{a} = {b}" for a, b in zip(carried, inits, strict=True))
    loop = f"    %out:{len(types)} = scf.for %i = %c0 to %n step %c1 iter_args({passed}) -> ({', '.join(types)}) : i32 {{\n"
    end = f"      scf.yield {', '.join(ends)} : {', '.join(types)}\n    }}\n"
    results = ", ".join(f"%out#{i}" for i in range(len(types)))
    head = HEAD.replace("TENSORS", ", ".join(types))
    back = f"    tt.return {results} : {', '.join(types)}\n  }}\n}}\n"
    return head + loop + "".join(f"      {x}\n" for x in lines) + end + back


def two(source: str, between: str = "") -> str:
    """A loop to ``%n`` as ``source``, a program, has it, and one from there to ``%m`` in which the first dot's result is negated."""
    start, end = source.index("    %out:"), source.index("    tt.return")
    loop, back = source[start:end], source[end:]
    given = loop[loop.index("iter_args(") + len("iter_args(") : loop.index(") ->")]
    names = [each.split(" = ")[0] for each in given.split(", ")]
    again = ", ".join(f"{name} = %out#{i}" for i, name in enumerate(names))
    other = loop.replace(given, again).replace("%out:", "%res:").replace("%c0 to %n", "%n to %m")
    before, defined, after = other.partition("%w0 = ")
    line, newline, after = after.partition("\n")
    negated = f"      %x0 = arith.negf %w0 : {TENSOR}\n"
    other = before + defined + line + newline + negated + after.replace("%w0", "%x0")
    head = source[:start].replace("%n: i32", "%n: i32, %m: i32")
    return head + loop + between + other + back.replace("%out#", "%res#")


def statements(i: int, dot: Dot, first: bool, last: bool) -> list[str]:
    r, found = dot.ring, []
    ring = f"!ttg.memdesc<3x32x32xf16, #shared, #smem, mutable> -> {STAGE}"
    if first:
        found.append(f"%v{r} = ttg.memdesc_index %r{r}[%s] : {ring}")
        found.append(
            f"%b{r} = ttg.memdesc_index %b[%s] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> {BARRIER}"
        )
        found.append(f"ttg.wait_barrier %b{r}, %c0 deps %v{r} : {BARRIER}, {STAGE}")
    left, kind = "%qs", STAGE
    if dot.factor is not None:
        found.append(f"%h{i} = arith.truncf %w{dot.factor} : {TENSOR} to {HALF}")
        found.append(f"%p{i} = ttg.convert_layout %h{i} : {HALF} -> {LEFT}")
        left, kind = f"%p{i}", LEFT
    total = "%zero" if dot.total is None else f"%acc{i}"
    if dot.scaled and i:
        found.append(f"%m{i} = arith.mulf {total}, %top0 : {TENSOR}")
        total = f"%m{i}"
    found.append(
        f"%d{i} = ttng.warp_group_dot {left}, %v{r}, {total} {{inputPrecision = 0 : i32}} : {kind} * {STAGE} -> {TENSOR}"
    )
    found.append(f"%w{i} = ttng.warp_group_dot_wait %d{i} {{pendings = 0 : i32}} : ({TENSOR}) -> {TENSOR}")
    if not i:
        found.append(f"%top0 = arith.maximumf %top, %w0 : {TENSOR}")
    if last:
        found.append(f"ttg.arrive_barrier %b{r} deps %v{r} : {BARRIER}, {STAGE}")
    return found


# --- the interpreter ----------------------------------------------------------------------------------------


@dataclass
class Machine:
    """Runs a function on symbols; ``under_way``: dots in the order of their starts; ``held``: stages waited for."""

    values: dict[ir.Value, Any] = field(default_factory=dict)
    under_way: list[Any] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)
    started: list[Any] = field(default_factory=list)
    buffers: int = 0
    most: int = 0
    #: how often a dot was started beside another
    beside: int = 0

    def run(self, function: ir.Operation, *numbers: int) -> list[Any]:
        """Results of ``function`` if its loops run to ``numbers``."""
        block = function.regions[0].blocks[0]
        self.values.update(zip(block.arguments, ["start", *numbers], strict=True))
        return self.block(block)

    def block(self, block: ir.Block) -> list[Any]:
        """Operands of the terminator of ``block``."""
        for op in block_ops(block):
            given = [self.values[v] for v in op.operands]
            if op.name in ("scf.yield", "tt.return"):
                return given
            self.values.update(zip(op.results, self.op(op, given), strict=True))
        raise AssertionError("a block ends")

    def op(self, op: ir.Operation, given: list[Any]) -> list[Any]:
        """The results of ``op`` on symbols."""
        match op.name:
            case "scf.for":
                lower, upper, step, *carried = given
                body = op.regions[0].blocks[0]
                for index in range(lower, upper, step):
                    self.values.update(zip(body.arguments, [index, *carried], strict=True))
                    carried = self.block(body)
                return carried
            case "scf.if":
                return self.block(op.regions[0 if given[0] else 1].blocks[0])
            case "arith.constant":
                value = op.attributes["value"].maybe_downcast()
                return [value.value if isinstance(value, ir.IntegerAttr) else "zero"]
            case "arith.addi":
                return [given[0] + given[1]]
            case "arith.cmpi":
                return [given[0] < given[1]]
            case "arith.ori":
                return [given[0] or given[1]]
            case "ttg.barrier":
                return []
            case "ttg.local_alloc":
                self.buffers += 1
                return [f"buffer {self.buffers}"]
            case "ttg.memdesc_index":
                return [(given[0], given[1])]
        return self.dots(op, given)

    def dots(self, op: ir.Operation, given: list[Any]) -> list[Any]:
        """The same for dots, barriers, and what only computes: that must not get undefined values."""
        match op.name:
            case "ttg.warp_group_dot":
                return [self.dot(given)]
            case "ttg.warp_group_dot_wait":
                return [self.wait(given[0], ir.IntegerAttr(op.attributes["pendings"]).value)]
            case "ttg.wait_barrier":
                self.held += given[2:]
            case "ttg.arrive_barrier":
                self.free(given[1:])
            case _:
                assert not any(isinstance(x, tuple) and x[0] == "undefined" for x in given)
                return [(op.name, *given)]
        return []

    def dot(self, given: list[Any]) -> Any:
        """Start a dot, whose stages must be held; Undefined until it is waited for."""
        assert all(x[0] != "undefined" for x in given)
        for slot in (x for x in given[:2] if x[0] in ("buffer 2", "buffer 3")):
            assert slot in self.held
        made = ("undefined", ("dot", *given), len(self.started))
        self.beside += bool(self.under_way)
        self.under_way.append(made)
        self.most = max(self.most, len(self.under_way))
        self.started.append(made[1])
        return made

    def wait(self, given: Any, pendings: int) -> Any:
        """The accumulator, whose dot must be done when ``pendings`` are left."""
        self.under_way = self.under_way[len(self.under_way) - pendings :] if pendings else []
        assert given not in self.under_way
        return given[1]

    def free(self, slots: list[Any]) -> None:
        """Let go of ``stages``, which no dot may be reading."""
        for slot in slots:
            self.held.remove(slot)
            assert all(slot not in dot for _, dot, _ in self.under_way)


def the_function(module: ir.Module) -> ir.Operation:
    """The one function of ``module``, which must outlive it."""
    (found,) = functions(module)
    return found


def the_loop(module: ir.Module) -> ir.Operation:
    """The one loop of ``module``, which must outlive it."""
    (found,) = [op for op in all_ops(module.operation) if op.name == "scf.for"]
    return found
