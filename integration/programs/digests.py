"""``python -m integration.programs.digests TARGET``: what the programs are compiled to, stage by stage, as digests.

Twice a line for each kernel and stage.  Runs differ in where their objects lie and, by ``PYTHONHASHSEED``, in the hashes of strings; the lines may not.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace

from integration.programs.program import Case
from integration.programs.running import kernels
from integration.programs.table import PROGRAMS, choices_of
from tri_core import knobs

__all__ = ["cases", "digests"]

#: sizes of allocations that scatter what is allocated after them
_SCATTERED = (40, 96, 128, 200, 520, 640, 768, 1024, 1500)


def cases(target: str) -> Iterator[Case]:
    """Of each program one with all that ``target`` can choose, and two that read a block in several ways."""
    choices = choices_of(target)
    for program in PROGRAMS.values():
        case = Case(
            program=program.name,
            dtype=next(iter(program.bounds)),
            shape=program.few.shapes[1],
            block=program.few.blocks[0],
            warp_specialize=choices.warp_specialize[-1],
            persistent=choices.persistent[-1],
        )
        yield case
        if program.name == "attention" and "remove-layout-conversions" in choices.without:
            # two loops read one block from its stage
            two = replace(case, shape=program.few.shapes[0], block=program.few.blocks[1])
            yield replace(two, without="remove-layout-conversions")


def digests(target: str) -> Iterator[str]:
    """Lines of case, kernel, stage and digest; objects lie elsewhere each time."""
    kept: list[bytearray] = []
    for case in (case for case in cases(target) for _ in range(2)):
        made = [bytearray(random.choice(_SCATTERED)) for _ in range(3000)]
        kept += random.sample(made, 1000)
        del made
        with knobs.scope(ALWAYS_COMPILE=True):
            found = kernels(case, target)
        for number, kernel in enumerate(found):
            for stage, text in kernel.asm.items():
                raw = text.encode() if isinstance(text, str) else text
                yield f"{case} {number} {stage} {hashlib.sha256(raw).hexdigest()}"


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    for line in digests(parser.parse_args().target):
        print(line)


if __name__ == "__main__":
    main()
