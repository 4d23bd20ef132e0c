"""``python -m integration.inductor [CASES]``: the cases with empty caches; a table, and 1 if one is wrong.

They share a process, and so an import of PyTorch and a pool of workers; where one ends it, the rest go on in another.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

#: what a line of the child about a case begins with
_RIGHT, _WRONG = "right", "wrong"


def main() -> int:
    """Run the cases that are named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m integration.inductor", description=__doc__)
    parser.add_argument("cases", nargs="*", help="names of cases; all by default")
    parser.add_argument("--here", action="store_true", help="in this process")
    arguments = parser.parse_args()
    import tri.compat.triton

    tri.compat.triton.install()
    from integration.inductor.models import CASES

    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    names = arguments.cases or list(CASES)
    return _here(names) if arguments.here else _apart(names)


def _apart(names: Sequence[str]) -> int:
    """The table of ``names``, each run in a process after this one."""
    print(f"{'case':24} {'error':>8} {'kernels':>8} {'first s':>8} {'then ms':>8}", flush=True)
    wrong, left, failed = [], list(names), False
    while left:
        verdicts, status = _child(left)
        failed |= bool(status)
        wrong += [name for name, verdict in verdicts.items() if verdict == _WRONG]
        left = [name for name in left if name not in verdicts]
        if left:
            print(f"{left[0]:24} ended its process", flush=True)
            wrong.append(left.pop(0))
    print(f"{len(names) - len(wrong)} of {len(names)} right" + "".join(f"\nwrong: {name}" for name in wrong))
    return bool(wrong) or failed


def _child(names: Sequence[str]) -> tuple[dict[str, str], int]:
    """Run ``names`` in one process with empty caches: the verdicts on those that it came to, and its status."""
    verdicts: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        caches = {
            v: f"{folder}/{v}" for v in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRI_CACHE_DIR")
        }
        command = [sys.executable, "-m", "integration.inductor", "--here", *names]
        with subprocess.Popen(
            command, env={**os.environ, **caches}, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for line in child.stdout:
                verdict, _, rest = line.partition(" ")
                if verdict in (_RIGHT, _WRONG):
                    verdicts[rest.split()[0]] = verdict
                    line = rest.rstrip("\n") + ("  WRONG\n" if verdict == _WRONG else "\n")
                print(line, end="", flush=True)
    return verdicts, child.returncode


def _here(names: Sequence[str]) -> int:
    """Say of each case whether it is right, and what it showed; then which share of their kernels PyTorch launches by itself."""
    from integration.inductor.running import start_workers
    from integration.inductor.static_launcher import recorded, share

    start_workers()
    with recorded() as sources:
        wrong = _wrong(names)
    if not sources:
        return bool(wrong)
    found = share(sources)
    print(found, flush=True)
    return bool(wrong) or not found.is_enough


def _wrong(names: Sequence[str]) -> int:
    """The number of cases that are not right."""
    from integration.inductor.running import run

    wrong = 0
    for name in names:
        try:
            o = run(name)
        except Exception as error:
            print(f"{_WRONG} {name:24} {type(error).__name__}: {error}", flush=True)
            wrong += 1
            continue
        verdict = _RIGHT if o.is_right else _WRONG
        print(
            f"{verdict} {name:24} {o.error:8.0e} {o.kernels:8} {o.first:8.1f} {o.steady:8.3f}",
            flush=True,
        )
        wrong += not o.is_right
    return wrong


if __name__ == "__main__":
    sys.exit(main())
