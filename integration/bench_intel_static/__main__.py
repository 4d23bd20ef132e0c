"""Print the figures: ``python -m integration.bench_intel_static [--device D ...] [--kernel WORD] [--record] [--fetch] [--jobs N]``."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer
from rich.console import Console

from integration.bench_intel_static import goals, igc
from integration.bench_intel_static.cases import CASES, DEVICES, Case
from integration.bench_intel_static.fetch_ocloc import NotToBeHad, fetch
from integration.bench_intel_static.figures import Figures, measure, read, write
from integration.bench_intel_static.pages import PAGE, page, table

log = logging.getLogger(__name__)


def main(
    device: Annotated[list[str], typer.Option(help="of the devices")] = list(DEVICES),  # noqa: B006
    kernel: Annotated[str, typer.Option(help="a part of the name")] = "",
    record: Annotated[bool, typer.Option(help="write what the tests hold, and the page")] = False,
    fetching: Annotated[bool, typer.Option("--fetch", help="get the driver's compiler first")] = False,
    jobs: Annotated[int, typer.Option(help="threads")] = 2,
) -> None:
    """All cases on all devices, unless some are named."""
    console = Console(width=200)
    if fetching:
        try:
            fetch()
        except NotToBeHad as error:
            log.warning("no ocloc here, so SPIR-V alone is counted: %s", error)
        igc.ocloc.cache_clear()
    cases = [case for case in CASES if kernel in case.name]
    work = [(case, d) for d in device for case in cases if d in case.devices]
    with ThreadPoolExecutor(jobs) as pool:
        made = list(pool.map(lambda each: _measured(*each), work))
    found: dict[str, dict[str, Figures]] = {}
    for (case, d), figures in zip(work, made, strict=True):
        found.setdefault(case.name, {})[d] = figures
    if record:
        write(found)
        PAGE.write_text(page(read()))
    for d in device:
        console.print(f"\n{d}", markup=False)
        rows = [(name, own[d]) for name, own in found.items() if d in own]
        console.print(table(rows), markup=False, highlight=False, soft_wrap=True)
    console.print("\ngoals, of the record", markup=False)
    console.print(goals.table(read()), markup=False, highlight=False, soft_wrap=True)


def _measured(case: Case, device: str) -> Figures:
    try:
        return measure(case, device)
    except igc.Refused as error:
        log.error("%s on %s: %s", case.name, device, error)
        raise


if __name__ == "__main__":
    typer.run(main)
