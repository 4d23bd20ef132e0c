"""``python -m integration.programs.code (store | compare) FILE.zip --target nvidia:sm_90a --jobs 2``: code before and after.

For a change that must leave generated code as it is.  ``store`` writes what the programs' sample of cases is compiled
to: the last text of each kernel (PTX, AMDGPU assembly, LLVM IR where machine code is no text) and digests of images.
``compare`` compiles the cases of the file again and prints the first lines that differ; names of symbols, and of the
files that debug information names, do not count.
"""

from __future__ import annotations

import argparse
import difflib
import json
import multiprocessing
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from integration.programs.program import Case
from integration.programs.running import kernels
from integration.programs.table import choices_of, sample
from tri_core import knobs
from tri_core.errors import TriError

__all__ = ["code", "compared", "normal"]

#: what may differ between equal programs: symbols, and paths of source files
_FREE = (
    (re.compile(r"@[\w.$]+"), "@symbol"),
    (re.compile(r"\$L__\w+|\.LBB\d+_\d+|\b(?:func|global)_\w+"), "label"),
    (re.compile(r"(?m)^\s*\.(?:file|section|loc)\b.*$"), ""),
    (re.compile(r"(?m)^(?:source_filename|; ModuleID|!\d+ = ).*$"), ""),
)
#: lines of a difference that are shown
_SHOWN = 40


def normal(text: str) -> str:
    """``text`` without what may differ."""
    for pattern, replacement in _FREE:
        text = pattern.sub(replacement, text)
    return text


def code(target: str, case: Case) -> list[str]:
    """The last text of each kernel of ``case``, in the order of launches; the error's text where it is refused."""
    try:
        with knobs.scope(ALWAYS_COMPILE=True):
            return [_last_text(kernel.asm) for kernel in kernels(case, target)]
    except TriError as error:
        return [f"{type(error).__name__}: {error.message}\n"]


def _last_text(asm: Mapping[str, str | bytes]) -> str:
    """The text nearest to the machine; images have names and paths of tools in them."""
    return normal([text for text in asm.values() if isinstance(text, str)][-1])


def _all(target: str, cases: Iterable[Case], jobs: int) -> Iterator[list[str]]:
    found = list(cases)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from track(pool.map(partial(code, target), found), target, len(found))


def store(target: str, file: Path, jobs: int) -> int:
    """Write the code of the sample's cases; how many there are."""
    cases = sample(choices_of(target))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cases.json", json.dumps([asdict(case) for case in cases]))
        for number, texts in enumerate(_all(target, cases, jobs)):
            archive.writestr(f"{number}.json", json.dumps(texts))
    return len(cases)


def _case(record: dict[str, Any]) -> Case:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
    return Case(**fields)


def compared(before: list[str], after: list[str]) -> str:
    """The first lines that differ; empty when none do."""
    lines = difflib.unified_diff(
        "".join(before).splitlines(), "".join(after).splitlines(), "before", "after", n=2, lineterm=""
    )
    return "\n".join(islice(lines, _SHOWN))


def compare(target: str, file: Path, jobs: int, console: Console) -> int:
    """Compile the cases of ``file`` again; how many have other code, of which the first are shown."""
    different = 0
    with zipfile.ZipFile(file) as archive:
        cases = [_case(record) for record in json.loads(archive.read("cases.json"))]
        for number, texts in enumerate(_all(target, cases, jobs)):
            difference = compared(json.loads(archive.read(f"{number}.json")), texts)
            different += bool(difference)
            if difference and different <= 5:
                console.print(f"{cases[number]}\n{difference}", markup=False)
    console.print(f"{target}: {len(cases)} cases, {different} with other code")
    return different


def main() -> int:
    """Store or compare; 1 when code differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("store", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    console = Console(soft_wrap=True)
    if options.what == "compare":
        return 1 if compare(options.target, options.file, options.jobs, console) else 0
    console.print(f"{options.target}: {store(options.target, options.file, options.jobs)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
