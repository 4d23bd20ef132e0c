"""Rows that are worse than Triton's, and the record that holds them: ``held.json.xz``, ``{target: {"triton": {key: figures}, "worse": {key: names}}}``.

Figures of Triton are kept, so that what is held needs tri alone; a kernel that Triton refuses has none.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from integration.strangers.classes import CLASSES, class_of
from integration.strangers.compilers import result
from integration.strangers.figures import worse
from integration.strangers.machines import figures
from integration.strangers.record import Kernel
from tri_core.target_selection import resolve

__all__ = ["HELD", "held", "hold", "measured", "more_than_held", "table"]

HELD = Path(__file__).parent / "held.json.xz"
#: disassemblers at a time
_THREADS = 4
Table = dict[str, dict[str, float]]


def measured(kernels: Iterable[Kernel], target: str, folder: Path) -> tuple[Table, dict[str, str]]:
    """Figures by key of the results in ``folder``; errors by key."""
    resolve(target)  # its knobs are there before threads ask for them
    keys = [kernel.key for kernel in kernels]
    results = {key: result(folder, (key, target)) for key in keys}
    fine = [key for key in keys if "error" not in results[key]]
    with ThreadPoolExecutor(_THREADS) as pool:
        made = pool.map(partial(figures, target=target), (results[key] for key in fine))
        return dict(zip(fine, made, strict=True)), {k: r["error"] for k, r in results.items() if "error" in r}


def held() -> dict[str, Any]:
    """The record; empty where there is none."""
    return json.loads(lzma.decompress(HELD.read_bytes())) if HELD.exists() else {}


def hold(target: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Put ``target`` into the record."""
    rows = {key: worse(ours[key], theirs[key]) for key in ours if key in theirs}
    entry = {"triton": dict(theirs), "worse": {key: names for key, names in rows.items() if names}}
    HELD.write_bytes(lzma.compress(json.dumps(held() | {target: entry}, sort_keys=True).encode(), preset=9))


def more_than_held(target: str, ours: Mapping[str, Any]) -> list[str]:
    """Figures that are worse than Triton's, and were not in the record."""
    entry = held()[target]
    found = []
    for key, mine in ours.items():
        names = worse(mine, entry["triton"][key]) if key in entry["triton"] else []
        new = sorted(set(names) - set(entry["worse"].get(key, ())))
        found += [
            f"{key}: {name} {mine.get(name)}, Triton's {entry['triton'][key].get(name)}" for name in new
        ]
    return found


def table(kernels: Sequence[Kernel], target: str) -> str:
    """Markdown: rows, worse rows, and the figures that are worse most often, of each class in the record."""
    entry = held()[target]
    lines = [f"| {target} | rows | worse | most often |", "| --- | ---: | ---: | --- |"]
    for name in (*CLASSES, "all"):
        keys = [k.key for k in kernels if name in ("all", class_of(k)) and k.key in entry["triton"]]
        bad = [entry["worse"][key] for key in keys if key in entry["worse"]]
        causes = Counter(figure for names in bad for figure in names).most_common(3)
        causes_text = ", ".join(f"{figure} {count}" for figure, count in causes)
        lines.append(f"| {name} | {len(keys)} | {len(bad)} | {causes_text} |")
    return "\n".join(lines) + "\n"
