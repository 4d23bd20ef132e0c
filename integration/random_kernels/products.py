"""Statements that make a loop of dots fed by loads: what passes over TTGIR pipeline and give to matrix instructions."""

from __future__ import annotations

from integration.random_kernels.program import INPUT, Program

__all__ = ["product_loop"]

#: sums are exact in all: quarters up to 4, a depth of at most 3 x 32
_TYPES = ("float16", "float32", "int8")


def _side(p: Program, kind: str, rows: int, columns: int) -> str:
    """A tile that moves with ``step``, in row-major or column-major order, of an input of this type if there is one."""
    own = [i for i, dtype in enumerate(p.inputs) if dtype == kind]
    source = own[0] if own else p.integer(0, len(p.inputs) - 1)
    first = 16 * p.integer(0, (INPUT - 4 * rows * columns) // 16)
    place = f"{p.offsets((rows, columns))} + {first} + step * {rows * columns}"
    masked = ""
    if p.integer(0, 2) == 0:
        masked = f", mask=({place}) < {first + p.integer(0, 3 * rows * columns)}, other=0"
    loaded = f"tl.load(x{source} + {place}{masked})"
    if own:
        return loaded
    if kind == "int8":
        return f"tl.where({loaded} > 0, 3, -2).to(tl.int8)"
    # integers may be larger than what is exact
    return f"tl.minimum(tl.maximum({loaded}.to(tl.float32), -4.0), 4.0).to(tl.{kind})"


def product_loop(p: Program) -> None:
    """``acc = dot(tile, tile, acc)`` in a loop, stored; exact in all types."""
    kind = p.text(*_TYPES)
    m, n, k = (int(p.text("16", "32")) for _ in range(3))
    total = p.fresh()
    sums = "int32" if kind == "int8" else "float32"
    p.emit(f"{total} = tl.zeros(({m}, {n}), tl.{sums})")
    p.emit("for step in range(n):")
    p.depth += 1
    p.emit(f"left = {_side(p, kind, m, k)}")
    p.emit(f"right = {_side(p, kind, k, n)}")
    if p.integer(0, 3) == 0:
        p.emit(f"{total} = {total} + {total} // 4" if sums == "int32" else f"{total} = {total} * 0.5")
    p.emit(f"{total} = tl.dot(left, right, {total})")
    p.depth -= 1
    made = p.let(f"{total} + 0", sums, (m, n))
    p.store(made)
