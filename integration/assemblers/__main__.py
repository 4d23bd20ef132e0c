"""``python -m integration.assemblers [--versions 12.9.86 13.0.88 ...] [--arch sm_90a ...]``: judge each ptxas, as it is and behind tri's rewritings.

Exit status 1 where something is wrong in spite of these, or where the table knows no fault that there is.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path

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
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
