"""``python -m integration.assemblers [--versions 12.9.86 13.0.88 ...] [--arch sm_90a ...]``: judge each ptxas, as it is and behind tri's rewritings.

Exit status 1 where something is wrong in spite of these, or where the table knows no fault that there is.  For sm_90a dots are counted, too:
matrix instructions that PTX has and machine code has not.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path

from integration.assemblers import dots
from integration.assemblers.net import Judgement, judge, known_programs
from integration.assemblers.wheels import fetched
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas, sound, version_of_ptxas
from tri_backend_nvidia.tools import find


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m integration.assemblers", description=__doc__)
    parser.add_argument(
        "--versions", nargs="*", default=[], help="of the wheels on PyPI; the installed one without"
    )
    parser.add_argument("--arch", nargs="*", default=["sm_90a"])
    parser.add_argument("--every", type=int, default=1, help="judge only each n-th program")
    parser.add_argument("--names", action="store_true", help="name each wrong program")
    return parser.parse_args()


def _reported(label: str, found: Judgement, seconds: float, names: bool) -> None:
    print(
        f"{label}: {len(found.right)} right, {len(found.wrong)} wrong, {len(found.unknown)} unknown, {seconds:.0f} s"
    )
    kinds = Counter(re.sub(r" \| [xyz]+$", "", name) for name in found.wrong)
    for kind, count in list(kinds.items())[: None if names else 12]:
        given, expected, got = next(value for name, value in found.wrong.items() if name.startswith(kind))
        shown = ", ".join(map(hex, given))
        print(f"    {kind} ({count}): of {shown} {got:#x}, right is {expected:#x}")
    for text, count in Counter(found.unknown.values()).most_common(5):
        print(f"    unknown: {text} ({count})")
    sys.stdout.flush()


def _judged(place: Path, nvdisasm: Path, arguments: argparse.Namespace, architecture: str) -> bool:
    """True where ``place`` is right behind the rewritings, and right without them where there are none."""
    step = sound(place, architecture)
    chosen = known_programs(architecture, version_of_ptxas(place))[:: arguments.every]
    fine = True
    for label, rewrite in (("as it is", lambda text: text), (step.text(), lambda text: step.apply(text)[0])):
        begin = time.monotonic()
        found = judge(place, nvdisasm, chosen, architecture, rewrite=rewrite)
        _reported(
            f"ptxas {place.parent.name} {architecture}, {label}",
            found,
            time.monotonic() - begin,
            arguments.names,
        )
        fine = not found.wrong
    return fine


def _whole(place: Path, nvdisasm: Path, every: int) -> bool:
    """True where ``place`` keeps all matrix instructions of every ``every``-th dot."""
    begin = time.monotonic()
    table = tuple(dots.dots())[::every]
    lost = {each.name: dots.missing(dots.text(each), place, nvdisasm) for each in table}
    bad = [f"{name}: {count}" for name, count in lost.items() if count > 0]
    print(
        f"ptxas {place.parent.name} sm_90a, {len(table)} dots: {len(bad)} lose instructions, {time.monotonic() - begin:.0f} s"
    )
    print(*(f"    {each}" for each in bad[:12]), sep="\n", end="\n" if bad else "", flush=True)
    return not bad


def main() -> int:
    """Judge what is asked for; 1 where something is wrong."""
    arguments = _parsed()
    nvdisasm = find(NVDISASM)
    if nvdisasm is None:
        print("nvdisasm is missing: pip install nvidia-cuda-nvdisasm")
        return 2
    places = [fetched(version) for version in arguments.versions] or [ptxas()]
    results = []
    for place in places:
        print(f"{place}: {version_of_ptxas(place)}")
        results += [_judged(place, nvdisasm, arguments, each) for each in arguments.arch]
        if "sm_90a" in arguments.arch:
            results.append(_whole(place, nvdisasm, 4 * arguments.every))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
