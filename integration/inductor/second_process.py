"""``python -m integration.inductor.second_process``: with PyTorch's cache of graphs warm, a second process compiles nothing.

Two processes run the same model with one set of caches.  Counted are calls of ``triton.compile`` in the process itself, graphs found in
the cache, and files that the second one adds to tri's cache, by whichever process of its.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["main"]

#: a case with several kernels, assertions among them
CASE = "embedding_loss"
_COUNTS = "counts "


def main() -> int:
    """Print what both processes did; 1 where the second one compiled, or is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.inductor.second_process", description=__doc__
    )
    parser.add_argument("--here", action="store_true", help="one of the two processes")
    if parser.parse_args().here:
        print(_COUNTS + json.dumps(_run()))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        first, made = _child(folder), _files(folder)
        second, more = _child(folder), _files(folder) - made
    print(f"{'process':8} {'compiled':>8} {'hits':>5} {'error':>8}")
    for name, counts in (("first", first), ("second", second)):
        print(f"{name:8} {counts['compiled']:8} {counts['hits']:5} {counts['error']:8.0e}")
    print(f"files that the second added to tri's cache: {len(more)}")
    right = all(c["is_right"] for c in (first, second))
    return not (
        right and made and not first["hits"] and second["hits"] and not second["compiled"] and not more
    )


def _files(folder: str) -> set[Path]:
    return {file for file in Path(folder, "TRI_CACHE_DIR").rglob("*") if file.is_file()}


def _child(folder: str) -> dict[str, Any]:
    """Counts of a process with the caches in ``folder``."""
    caches = {v: f"{folder}/{v}" for v in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRI_CACHE_DIR")}
    command = [sys.executable, "-m", "integration.inductor.second_process", "--here"]
    done = subprocess.run(
        command, env={**os.environ, **caches}, check=True, stdout=subprocess.PIPE, text=True
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith(_COUNTS))
    found: dict[str, Any] = json.loads(line.removeprefix(_COUNTS))
    return found


def _run() -> dict[str, Any]:
    import tri.compat.triton

    tri.compat.triton.install()
    from torch._dynamo.utils import counters

    from integration.inductor.running import run, start_workers

    compiled = 0
    triton: Any = importlib.import_module("triton")
    made = triton.compile

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal compiled
        compiled += 1
        return made(*args, **options)

    triton.compile = counted
    start_workers(caches=True, alone=False)
    outcome = run(CASE)
    hits = counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"]
    return {"compiled": compiled, "hits": hits, "error": outcome.error, "is_right": outcome.is_right}


if __name__ == "__main__":
    sys.exit(main())
