"""Host costs of a program: ``python -m integration.bench_host [--kernels 200] [--triton-python PYTHON] [--packages FOLDER]``.

Processes in which ``import triton`` is tri, launches of a recorded run that compile, first launches from a bundle, first
compiles of a process and twelve configurations of a matmul beside Triton's (for an H200, which need not be there), Helion's
kernels on the CPU target, and, on a machine with a GPU, fla's operators as they tune themselves.  Times are of this machine:
what counts is the relation, and the medians of a quiet one.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from integration.bench_compile import CASES, TRI, TRITON, Peer
from integration.bench_host.programs import FLA, KERNEL, SERVED, SHARES, TUNED, TUNED_BY_TRITON, WAYS

__all__ = ["main"]

_TOP = Path(__file__).resolve().parents[2]
#: the largest share of Triton's CPU time that is aimed at for a process's first compile
_FIRST = {"vector add": 0.5, "matmul": 0.4, "causal attention": 0.6}
_OPERATORS = ("gla", "kda", "gsa", "retention")
_NO_TRITON = "not measured: give --triton-python"
_NO_PACKAGES = "not measured: give --packages, a folder that integration.published fills with --all"


@dataclass(frozen=True)
class Row:
    """A line of the table; ``limit``: what a figure that falls short is made of."""

    what: str
    measured: str
    goal: str
    limit: str = ""


def _run(
    program: str,
    folder: Path,
    *arguments: str,
    python: str = sys.executable,
    limit: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """The output of ``program``, run in ``folder``, or of the interpreter with ``arguments``; SystemExit where it fails.

    Raises:
        subprocess.TimeoutExpired: after ``limit`` seconds.
    """
    (folder / "program.py").write_text(program)
    command = [python, *(arguments or ("program.py",))]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _ways(folder: Path) -> Row:
    found = {way: _run(program, folder).strip() for way, program in WAYS.items()}
    good = [way for way, kind in found.items() if kind == "StandIn"]
    missing = [way for way in found if way not in good]
    measured = f"{len(good)} of {len(found)}" + (f", not {', '.join(missing)}" if missing else "")
    return Row(f"ways to start a process in which triton is tri ({', '.join(found)})", measured, "5 of 5")


def _helion(packages: Path | None) -> Row:
    what, goal = "Helion's kernels that are right on the CPU target", "95 %"
    if packages is None or importlib.util.find_spec("torch") is None:
        return Row(what, _NO_PACKAGES if packages is None else "not measured: PyTorch is not installed", goal)
    command = (sys.executable, "-m", "integration.published", "--packages", str(packages), "--all", "helion/")
    done = subprocess.run(command, cwd=_TOP, capture_output=True, text=True, check=False)
    found = re.search(r"(\d+) of (\d+) pass", done.stdout)
    if found is None:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    failed = re.findall(r"^FAIL (\S+)", done.stdout, re.MULTILINE)
    good, count = map(int, found.groups())
    if not good and (why := re.search(r"^ImportError: (.+?)( \(|$)", done.stdout, re.MULTILINE)):
        # Helion asks for a newer PyTorch, say
        return Row(what, f"not measured: {why[1]}", goal)
    return Row(what, f"{100 * good / count:.0f} % ({good} of {count})", goal, ", ".join(failed))


def _served(folder: Path, count: int) -> Iterator[Row]:
    """Launches that compile, and the median of first launches from a bundle."""
    texts = [KERNEL.format(number=number) for number in range(count)]
    head = "import tri\nimport tri.language as tl\n\nCOUNT = " + f"{count}\n"
    (folder / "kernels.py").write_text(head + "".join(texts))
    host = {"TRI_TARGET": "cpu", "TRI_CACHE_DIR": str(folder / "recorded")}
    (folder / "program.py").write_text(SERVED)
    record = ("-m", "tri", "record", "-o", "m.jsonl", "--", sys.executable, "program.py")
    _run(SERVED, folder, *record, environment=host)
    warm = ("-m", "tri", "warm", "m.jsonl", "-o", "bundle", "-j", str(os.cpu_count() or 1))
    _run(SERVED, folder, *warm, environment=host)
    host["TRI_CACHE_DIR"] = str(folder / "served")
    times, missing = json.loads(_run(SERVED, folder, environment={"SERVED": "1", **host}))
    yield Row("launches of a recorded run that compile", str(missing), "0")
    shares: Mapping[str, float] = json.loads(_run(SHARES, folder, environment=host))
    size = (folder / "bundle").stat().st_size / 2**20
    yield Row(
        f"bundle of {count} kernels ({size:.1f} MiB): first launch each, median",
        f"{1e3 * statistics.median(times[1:]):.2f} ms; the process's first {1e3 * times[0]:.0f} ms",
        "0.4 ms",
        "of it " + ", ".join(f"{part} {100 * share:.0f} %" for part, share in shares.items()),
    )


def _first_compiles(triton_python: str, rounds: int) -> Iterator[Row]:
    """CPU time of a process's first compile, the least of ``rounds`` processes of each, one after the other."""
    peers = Peer(sys.executable, "tri", TRI), Peer(triton_python, "triton", TRITON)
    for case in CASES:
        what = f"first compile of a process, {case.name} for sm_90a: CPU time of Triton's"
        goal = f"{_FIRST[case.name]:.1f}"
        if not triton_python:
            yield Row(what, _NO_TRITON, goal)
            continue
        runs = [[peer.spent(case, later=2) for peer in peers] for _ in range(rounds)]
        ours, theirs = (
            {part: min(r[number][part][1] for r in runs) for part in ("import", "first", "later")}
            for number in range(2)
        )
        yield Row(
            what,
            f"{ours['first'] / theirs['first']:.2f} ({1e3 * ours['first']:.0f} of {1e3 * theirs['first']:.0f} ms)",
            goal,
            f"{1e3 * (ours['first'] - ours['later']):.0f} ms are not in a later compile, {ours['later'] / theirs['later']:.2f} of Triton's",
        )


def _tuned(folder: Path, triton_python: str) -> Row:
    """Seconds of compiling with workers, of Triton's, one after the other; and of ours alone."""
    alone, shared = (
        float(_run(TUNED, folder, environment={"TRI_CACHE_DIR": str(folder / f"tuned{number}"), **more}))
        for number, more in enumerate(({"TRI_COMPILE_WORKERS": "0"}, {}))
    )
    what = f"twelve matmul configurations for sm_90a, {os.cpu_count()} cores: of Triton's time"
    here = f"without workers {alone:.1f} s"
    if not triton_python:
        return Row(what, f"{shared:.1f} s; {_NO_TRITON}", "0.4", here)
    cache = {"TRITON_CACHE_DIR": str(folder / "triton")}
    theirs = float(_run(TUNED_BY_TRITON, folder, python=triton_python, environment=cache))
    return Row(what, f"{shared / theirs:.2f} ({shared:.1f} of {theirs:.1f} s)", "0.4", here)


def _has_gpu(python: str) -> bool:
    ask = "import torch; raise SystemExit(not torch.cuda.is_available())"
    return subprocess.run([python, "-c", ask], capture_output=True, check=False).returncode == 0


def _operators(
    folder: Path, triton_python: str, packages: Path | None, names: Sequence[str], limit: float
) -> Iterator[Row]:
    """The first call of operators that tune themselves, forward and backward, in fresh processes without a cache.

    Triton's process is ended after ``limit`` seconds: its time is longer, and the ratio below the one that is printed.
    """
    can = packages is not None and triton_python and _has_gpu(sys.executable) and _has_gpu(triton_python)
    if not can:
        what = f"first call of fla's {', '.join(names)}, which tune themselves: of Triton's time"
        yield Row(what, "not measured: needs a GPU, --triton-python and --packages", "0.3")
        return
    for name in names:
        caches = {f"{peer}_CACHE_DIR": str(folder / f"{name}{peer}") for peer in ("TRI", "TRITON")}
        ours = float(_run(FLA, folder, "program.py", name, "tri", str(packages), environment=caches))
        below = ""
        try:
            words = ("program.py", name, "triton", str(packages))
            theirs = float(_run(FLA, folder, *words, python=triton_python, limit=limit, environment=caches))
        except subprocess.TimeoutExpired:
            theirs, below = limit, "below "
        what = f"first call of fla's {name}, which tunes itself, {os.cpu_count()} cores: of Triton's time"
        more = "more than " if below else ""
        yield Row(what, f"{below}{ours / theirs:.2f} ({ours:.1f} of {more}{theirs:.1f} s)", "0.3")


def _rows(
    folder: Path, kernels: int, triton_python: str, packages: Path | None, rounds: int
) -> Iterator[Row]:
    yield _ways(folder)
    yield _helion(packages)
    yield from _served(folder, kernels)
    yield _tuned(folder, triton_python)
    yield from _first_compiles(triton_python, rounds)


def main(
    kernels: Annotated[int, typer.Option(help="kernels of the bundle")] = 200,
    triton_python: Annotated[str, typer.Option(help="a Python that has Triton")] = "",
    packages: Annotated[Path | None, typer.Option(help="a folder with helion and fla-core")] = None,
    rounds: Annotated[int, typer.Option(help="processes of each first compile")] = 5,
    operators: Annotated[
        str, typer.Option(help="fla's operators that tune themselves, by commas")
    ] = ",".join(_OPERATORS),
    limit: Annotated[float, typer.Option(help="seconds after which Triton's tuning is ended")] = 1800,
) -> None:
    """Print the table, a line as soon as it is known."""
    console = Console(width=140)
    table = Table("what", "measured", "goal", "what limits it")
    where = packages.resolve() if packages is not None else None
    with tempfile.TemporaryDirectory() as name:
        names = [n for n in operators.split(",") if n]
        for row in itertools.chain(
            _rows(Path(name), kernels, triton_python, where, rounds),
            # the longest last, so that the others are known before
            _operators(Path(name), triton_python, where, names, limit),
        ):
            console.print(f"{row.what}: {row.measured}", style="dim", highlight=False)
            table.add_row(row.what, row.measured, row.goal, row.limit)
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
