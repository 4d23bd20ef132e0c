"""``python -m integration.inductor [CASES]``: each case in a process of its own, with empty caches; a table, and 1 if one is wrong."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile


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
    if arguments.here:
        return _here(names)
    print(f"{'case':24} {'error':>8} {'kernels':>8} {'first s':>8} {'then ms':>8}", flush=True)
    wrong = [name for name in names if _apart(name)]
    print(f"{len(names) - len(wrong)} of {len(names)} right" + "".join(f"\nwrong: {name}" for name in wrong))
    return bool(wrong)


def _here(names: list[str]) -> int:
    from integration.inductor.running import run, start_workers

    start_workers()
    outcomes = [run(name) for name in names]
    for o in outcomes:
        mark = "" if o.is_right else "  WRONG"
        print(f"{o.case:24} {o.error:8.0e} {o.kernels:8} {o.first:8.1f} {o.steady:8.3f}{mark}")
    return not all(o.is_right for o in outcomes)


def _apart(name: str) -> int:
    """The status of a process of its own for case ``name``."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {
            v: f"{folder}/{v}" for v in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRI_CACHE_DIR")
        }
        command = [sys.executable, "-m", "integration.inductor", "--here", name]
        return subprocess.run(command, env={**os.environ, **caches}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
