"""``python -m integration.published.code --packages FOLDER [--record] [--triton-python PYTHON] [names...]``.

Compiles the kernels of ``cases.json`` for sm_90a (no GPU is needed) and prints what their machine code takes beside what Triton's
does.  What is worse than in ``figures.json`` is told, and is the exit status.  ``--record`` writes that file; with a Python that has
Triton and PyTorch what Triton's kernels take is written, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import tri.compat.triton
from integration.published.code.cases import Case, read

TOP = Path(__file__).resolve().parents[3]
RECORD = Path(__file__).parent / "figures.json"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="integration.published.code", description=__doc__)
    parser.add_argument(
        "--packages", type=Path, required=True, help="the folder where the packages are installed"
    )
    parser.add_argument("--record", action="store_true", help="keep what is measured")
    parser.add_argument("--triton-python", default="", help="a Python that has Triton and PyTorch")
    parser.add_argument("names", nargs="*", help="parts of label/kernel; all when left out")
    return parser.parse_args()


def _original(python: str, packages: Path, cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    """Resources of Triton's machine code, by case."""
    from integration.published.code.measure import Figures, registers_of

    found = subprocess.run(
        [python, "-c", "import triton, pathlib; print(pathlib.Path(triton.__file__).parent)"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    cuobjdump = Path(found.stdout.strip()) / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-W", "ignore", "-m", "integration.published.code.original", str(packages), folder]
        given = os.pathsep.join(filter(None, (str(TOP), os.environ.get("TRITON_PYTHONPATH", ""))))
        environment = {**os.environ, "PYTHONPATH": given, "TRITON_CACHE_DIR": f"{folder}/cache"}
        subprocess.run(command, env=environment, check=True, timeout=1800)
        made: dict[str, dict[str, int]] = {}
        for number, case in enumerate(cases):
            cubin, facts = (Path(folder) / f"{number}.{kind}" for kind in ("cubin", "json"))
            if cubin.exists():
                shared = json.loads(facts.read_text())["shared"]
                registers = registers_of(cubin, cuobjdump)
                warps = case.options["num_warps"]
                made[case.name] = asdict(Figures.of(cubin.read_bytes(), shared, registers, warps))
        return made


def _line(name: str, mine: dict[str, int], theirs: dict[str, int]) -> str:
    cells = [f"{value} / {theirs.get(key, '-')}" for key, value in mine.items()]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> int:
    """Print the table; 1 where something is worse than it was."""
    arguments = _arguments()
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"tri": {}, "triton": {}}
    cases = read()
    if arguments.triton_python:
        record["triton"] = _original(arguments.triton_python, arguments.packages.resolve(), cases)
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    # after what is for Triton itself: children import the stand-in from here on
    tri.compat.triton.install()
    from integration.published.code.measure import Figures, ours

    chosen = [case for case in cases if not arguments.names or any(n in case.name for n in arguments.names)]
    sys.stdout.write(f"| tri / Triton | {' | '.join(Figures.__dataclass_fields__)} |\n")
    worse = []
    for case in chosen:
        figures = ours(case, arguments.packages.resolve())
        sys.stdout.write(_line(case.name, asdict(figures), record["triton"].get(case.name, {})) + "\n")
        sys.stdout.flush()
        if arguments.record:
            record["tri"][case.name] = asdict(figures)
        elif case.name in record["tri"]:
            worse += [f"{case.name}: {what}" for what in figures.worse_than(record["tri"][case.name])]
    if arguments.record:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    sys.stdout.write("".join(f"WORSE {what}\n" for what in worse))
    sys.stdout.write(f"{len(chosen)} kernels, {len(worse)} figures worse than recorded\n")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
