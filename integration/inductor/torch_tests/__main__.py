"""``python -m integration.inductor.torch_tests FOLDER``: PyTorch's tests of Inductor by Triton and by tri, side by side.

FOLDER is ``test`` of PyTorch's sources, of this version or one near it: names that this PyTorch lacks are stood in for, and what fails
by the first compiler does not count.  Tests run in processes, ``--jobs`` for each compiler, in one shuffled order, until ``--minutes``
are over; each outcome is a line of ``torch_tests.jsonl``, and a further run takes those that are not in it yet.  1 where a smaller share
than ``WANTED`` of those that pass by the first compiler pass by the last.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from integration.inductor.children import Child
from integration.inductor.torch_tests.child import is_regular, serve

__all__ = ["WANTED", "main", "table"]

#: the share that has to pass
WANTED = 0.97
#: seconds that a process may take to import what it tests
_START = 300
_MODULE = "integration.inductor.torch_tests"


def main() -> int:
    """Run what is asked for."""
    if sys.argv[1:2] == ["--child"]:
        compiler, device, folder, modules, descriptor = sys.argv[2:]
        serve(compiler, device, Path(folder), modules.split(","), int(descriptor))
        return 0
    given = _parser().parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    file = given.output / "torch_tests.jsonl"
    known = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    compilers = given.impls.split(",")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        file.open("a", buffering=1) as lines,
    ):
        run = Run(given, Path(folder), lines)
        run.all(compilers, {(o["compiler"], o["name"]) for o in known})
    text, share = table([*known, *run.outcomes], compilers)
    print(text)
    return share < WANTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
    parser.add_argument("folder", type=Path, help="test of PyTorch's sources")
    parser.add_argument("--modules", default="test_torchinductor", help="of its folder inductor, by commas")
    parser.add_argument("--classes", default="", help="of tests, by commas; all by default")
    parser.add_argument("--select", default="", help="words, one of which is in a test's name, by commas")
    parser.add_argument("--impls", default="triton,tri", help="of triton, tri and cpp (on the CPU)")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument(
        "--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="for each compiler"
    )
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--seconds", type=float, default=120.0, help="that one test may take")
    parser.add_argument("--every", type=int, default=1, help="of the tests one of so many")
    parser.add_argument("--output", type=Path, default=Path(os.environ.get("OUT", ".")))
    return parser


class Run:
    """Tests until the time is over; ``outcomes`` are those known so far."""

    def __init__(self, given: argparse.Namespace, folder: Path, lines: Any) -> None:
        self.given, self.folder, self.lines = given, folder, lines
        self.end = time.monotonic() + 60 * given.minutes
        self.outcomes: list[dict[str, Any]] = []
        self.made = 0
        self.lock = threading.Lock()

    def all(self, compilers: Sequence[str], known: set[tuple[str, str]]) -> None:
        """Run what is chosen by each compiler, less what is known."""
        first = {compiler: self._child(compiler) for compiler in compilers}
        hellos = {compiler: child.answer(_START) for compiler, child in first.items()}
        for compiler, hello in hellos.items():
            print(
                f"{compiler}: {hello.get('compiler', hello)}, {len(hello.get('names', ()))} tests", flush=True
            )
        if any("error" in hello for hello in hellos.values()):
            for child in first.values():
                child.stop()
            raise SystemExit(1)
        names = self._chosen([hello["names"] for hello in hellos.values()])
        threads = []
        for compiler in compilers:
            waiting = [name for name in names if (compiler, name) not in known][::-1]
            print(f"{compiler}: {len(waiting)} of {len(names)} tests to run", flush=True)
            for number in range(self.given.jobs):
                mine = first[compiler] if not number else None
                threads.append(threading.Thread(target=self._work, args=(compiler, waiting, mine)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _chosen(self, lists: Sequence[Sequence[str]]) -> list[str]:
        """Names that all compilers have and that were asked for, in an order by which each part is like the whole."""
        classes, words = (
            set(filter(None, text.split(","))) for text in (self.given.classes, self.given.select)
        )
        names = sorted(set(lists[0]).intersection(*lists[1:]))
        names = [
            name
            for name in names
            if (not classes or name.split(".")[1] in classes)
            and (not words or any(word in name for word in words))
        ]
        random.Random(0).shuffle(names)
        return names[:: self.given.every]

    def _child(self, compiler: str) -> Child:
        with self.lock:
            self.made += 1
            folder = self.folder / str(self.made)
        given = self.given
        options = ["--child", compiler, given.device, str(given.folder.resolve()), given.modules]
        return Child(_MODULE, options, folder)

    def _work(self, compiler: str, waiting: list[str], child: Child | None) -> None:
        """Run what waits, in a process that is made anew where it ended or hung."""
        try:
            while time.monotonic() < self.end:
                with self.lock:
                    if not waiting:
                        return
                    name = waiting.pop()
                if child is None:
                    child = self._child(compiler)
                    if "error" in child.answer(_START):
                        return
                left = self.end - time.monotonic()
                outcome = child.ask(name, min(self.given.seconds, max(left, 1)))
                if error := outcome.get("error"):
                    child.stop()
                    child = None
                    if time.monotonic() >= self.end:
                        return
                    outcome = {"said": "ended", "why": error["said"], "trace": "\n".join(error.get("at", ()))}
                self._note({"compiler": compiler, "name": name, **outcome})
        finally:
            if child is not None:
                child.stop()

    def _note(self, outcome: dict[str, Any]) -> None:
        with self.lock:
            self.outcomes.append(outcome)
            print(json.dumps(outcome), file=self.lines)


def table(outcomes: Sequence[dict[str, Any]], compilers: Sequence[str]) -> tuple[str, float]:
    """The numbers of each compiler, the names that pass by the first alone with what the last says, and the share that pass by both."""
    by = {compiler: {o["name"]: o for o in outcomes if o["compiler"] == compiler} for compiler in compilers}
    lines = []
    for compiler, mine in by.items():
        said = [o["said"] for o in mine.values()]
        seconds = sum(o.get("s", 0) for o in mine.values())
        counts = ", ".join(f"{said.count(word)} {word}" for word in dict.fromkeys(sorted(said)))
        lines.append(f"{compiler}: {len(said)} tests in {seconds:.0f} s of processes: {counts}")
    first, last = by[compilers[0]], by[compilers[-1]]
    both = [name for name in first if name in last and is_regular(first[name])]
    lost = [name for name in both if not is_regular(last[name])]
    lines += [f"  {name}: {last[name]['said']}: {last[name].get('why', '')}" for name in sorted(lost)]
    share = 1 - len(lost) / len(both) if both else 0.0
    lines.append(
        f"of {len(both)} that pass by {compilers[0]} {len(both) - len(lost)} pass by {compilers[-1]}: {share:.1%}"
    )
    return "\n".join(lines), share


if __name__ == "__main__":
    sys.exit(main())
