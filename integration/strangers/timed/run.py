"""The whole of a run: compile in many processes, then time in one pair of them for each GPU."""

from __future__ import annotations

import json
import logging
import queue
import random
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.strangers.timed.fleet import Process, Setting
from integration.strangers.timed.table import LOSES, Row, apart, lines, table, verdict, worst
from integration.strangers.timed.worker import IMPLEMENTATIONS

__all__ = ["Plan", "run", "settled"]

logger = logging.getLogger(__name__)
#: the share of the time in which kernels are compiled, at most
_COMPILING = 0.6
_KEPT = 15
#: smaller sizes, and states of both implementations after which they are tried
_LEVELS, _SMALLER = (1, 2), frozenset({"fails", "ends the process"})


@dataclass(frozen=True)
class Plan:
    """Plan of a run: ``part`` of ``parts`` of the units whose names hold one of ``names``, until ``minutes``
    are over.
    """

    setting: Setting
    out: Path
    gpus: int = 1
    jobs: int = 16
    minutes: float = 8.0
    turns: int = 3
    part: int = 1
    parts: int = 1
    names: tuple[str, ...] = ()
    started: float = field(default_factory=time.monotonic)

    def left(self, share: float = 1.0) -> float:
        """Seconds until ``share`` of the time is over."""
        return self.started + 60 * self.minutes * share - time.monotonic()


def run(plan: Plan) -> list[Row]:
    """Rows of all units; they are in ``plan.out``, too, with a table."""
    plan.out.mkdir(parents=True, exist_ok=True)
    heavy = _units(plan)
    rows = {name: Row(name) for name in heavy}
    _say(plan, f"{len(rows)} operators")
    _compile(plan, rows, heavy)
    done = sum(len(r.checks) == 2 for r in rows.values())
    _say(plan, f"{done} compiled by both")
    _time(plan, rows, heavy)
    found = list(rows.values())
    _write(plan, found)
    return found


def _say(plan: Plan, text: str) -> None:
    logger.info("%4.0f s: %s", time.monotonic() - plan.started, text)


def _units(plan: Plan) -> dict[str, bool]:
    """Names of the units of this part, and whether they are heavy; in an order that is the same everywhere."""
    process = Process(plan.setting, "tri", 0)
    answer = process.ask("listed")
    process.end()
    if answer["state"] != "ok":
        raise RuntimeError(f"the operators cannot be listed: {answer['reason']}")
    names = [n for n in answer["units"] if not plan.names or any(word in n for word in plan.names)]
    random.Random(0).shuffle(names)
    return {n: answer["units"][n] for n in names[plan.part - 1 :: plan.parts]}


def _in_threads(workers: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=worker) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _compile(plan: Plan, rows: dict[str, Row], heavy: dict[str, bool]) -> None:
    """Run each unit once with each implementation: what is compiled stays in caches, what is wrong or fails is known."""
    waiting: dict[str, queue.SimpleQueue[str]] = {i: queue.SimpleQueue() for i in IMPLEMENTATIONS}
    for name in sorted(heavy, key=lambda n: not heavy[n]):  # those that take long first
        for tasks in waiting.values():
            tasks.put(name)

    def work(number: int) -> None:
        implementation = IMPLEMENTATIONS[number % 2]
        process = Process(plan.setting, implementation, number // 2 % plan.gpus)
        while plan.left(_COMPILING) > 0:
            try:
                name = waiting[implementation].get_nowait()
            except queue.Empty:
                break
            answer = process.ask("check", unit=name, judge=not heavy[name])
            rows[name].checks[implementation] = answer
        process.end()

    jobs = min(plan.jobs, 2 * len(rows))
    _in_threads([lambda n=n: work(n) for n in range(max(2, jobs))])  # type: ignore[misc]


def _time(plan: Plan, rows: dict[str, Row], heavy: dict[str, bool]) -> None:
    """Time the units, one pair of processes on each GPU."""
    waiting: queue.SimpleQueue[Row] = queue.SimpleQueue()
    # what failed beside others is tried again alone, and smaller where neither takes it, when all others have been timed
    for row in sorted(rows.values(), key=_failing):
        if len(row.checks) == 2:
            waiting.put(row)

    def work(gpu: int) -> None:
        pair = {i: Process(plan.setting, i, gpu) for i in IMPLEMENTATIONS}
        for process in pair.values():
            process.start()
        shuffler = random.Random(gpu)
        while plan.left() > 0:
            try:
                row = waiting.get_nowait()
            except queue.Empty:
                break
            try:
                _timed(plan, row, pair, shuffler, judge=heavy[row.unit])
            except Exception as error:  # a row says what went wrong, the others are timed
                row.reason = f"{type(error).__name__}: {error}"
        for process in pair.values():
            process.end()

    _in_threads([lambda g=g: work(g) for g in range(plan.gpus)])  # type: ignore[misc]


def _failing(row: Row) -> bool:
    return any(check["state"] != "ok" for check in row.checks.values())


def settled(plan: Plan, row: Row, pair: dict[str, Process], *, judge: bool) -> bool:
    """Have both check the same configuration and sizes; whether both could."""
    failed = _failing(row)
    row.config = max(c.get("config", 0) for c in row.checks.values())
    for name, process in pair.items():
        if judge or failed or row.checks[name].get("config", 0) != row.config:
            row.checks[name] = process.ask("check", unit=row.unit, config=row.config)
    for level in _LEVELS:
        both = all(c["state"] in _SMALLER for c in row.checks.values())
        if not both or plan.left() <= 0 or not row.unit.startswith("flag-gems/"):
            break
        row.level = level
        for name, process in pair.items():
            row.checks[name] = process.ask("check", unit=row.unit, config=row.config, level=level)
    return not _failing(row)


def _timed(plan: Plan, row: Row, pair: dict[str, Process], shuffler: random.Random, *, judge: bool) -> None:
    if not settled(plan, row, pair, judge=judge):
        return
    ours, theirs = (json.loads(Path(row.checks[i]["samples"]).read_text()) for i in IMPLEMENTATIONS)
    row.difference = apart(ours, theirs)
    order = list(pair)
    for _ in range(plan.turns):
        shuffler.shuffle(order)
        for name in order:
            answer = pair[name].ask("turn", unit=row.unit, config=row.config, level=row.level)
            if answer["state"] != "ok":
                row.reason = f"{name}: {answer['reason']}"
                return
            for kernel, times in answer["times"].items():
                row.times.setdefault(name, {}).setdefault(kernel, []).extend(times)
    slow = [line.kernel for line in lines(row) if line.ratio < LOSES]
    if slow:
        names = sorted({k for t in row.times.values() for k in t})
        for name, process in pair.items():
            row.versions[name] = process.ask("keep", unit=row.unit, names=names).get("versions", {})


def _write(plan: Plan, rows: list[Row]) -> None:
    """The rows, a line for each kernel, the table, and the texts of the worst losers."""
    name = f"{plan.part}of{plan.parts}"
    with (plan.out / f"rows-{name}.jsonl").open("w") as file:
        file.writelines(json.dumps(_without_files(row.as_record())) + "\n" for row in rows)
    with (plan.out / f"kernels-{name}.jsonl").open("w") as file:
        for row in rows:
            for line in lines(row):
                record = {
                    "unit": row.unit,
                    "kernel": line.kernel,
                    "tri_us": line.tri,
                    "triton_us": line.triton,
                }
                record |= {"ratio": line.ratio, "verdict": verdict(row), "config": row.config}
                file.write(json.dumps(record) + "\n")
    (plan.out / f"table-{name}.md").write_text(table(rows))
    with tarfile.open(plan.out / f"losers-{name}.tar.xz", "w:xz") as tar:
        for unit in dict.fromkeys(line.unit for line in worst(rows, _KEPT)):
            for implementation in IMPLEMENTATIONS:
                place = plan.setting.place / "kept" / implementation / unit.replace("/", "_")
                if place.exists():
                    tar.add(place, f"{unit.replace('/', '_')}/{implementation}")
        for log in sorted(plan.setting.place.glob("*.log")):
            if log.stat().st_size and log.stat().st_size < 1 << 20:
                tar.add(log, f"logs/{log.name}")


def _without_files(record: dict[str, Any]) -> dict[str, Any]:
    for check in record["checks"].values():
        check.pop("samples", None)
    return record
