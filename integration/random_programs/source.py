"""The text of a kernel."""

from __future__ import annotations

from integration.random_programs.patterns import PATTERNS
from integration.random_programs.program import Memory, Programs

__all__ = ["memories", "source"]


def memories(kernel: Programs) -> list[Memory]:
    """The arrays after the inputs, in the order of the parameters."""
    return [
        memory
        for i, part in enumerate(kernel.parts)
        for memory in PATTERNS[part.pattern].memories(part, kernel.shape, i)
    ]


def source(kernel: Programs) -> str:
    """A module with the function ``kernel``."""
    names = ["x", *(memory.name for memory in memories(kernel))]
    block = kernel.shape.block
    body = [
        "pid = tl.program_id(0)",
        f"offs = tl.arange(0, {block})",
        f"v = tl.load(x + pid * {block} + offs)",
    ]
    for i, part in enumerate(kernel.parts):
        body += PATTERNS[part.pattern].lines(part, kernel.shape, i)
    text = "".join(f"    {line}\n" for line in body)
    return f"import tri\nimport tri.language as tl\n\n\n@tri.jit\ndef kernel({', '.join(names)}):\n{text}"
