"""The pytest plug-in: options, one test per case, and the reports at the end.

Nothing heavy is imported before a target is named: every pytest of an environment with the kit loads this module.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tri_conformance.case import Case
    from tri_conformance.judge import Result
    from tri_conformance.run import Run

__all__ = ["Collected"]

#: seconds between reports of a run that goes on
_PERIOD = 30.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the kit."""
    group = parser.getgroup("tri-conformance")
    group.addoption("--tri-target", metavar="X", help="the target to test: backend, or backend:arch")
    group.addoption(
        "--tri-option", metavar="NAME=VALUE", action="append", default=[], help="an option of all kernels"
    )
    group.addoption("--tri-level", metavar="A,B", default="", help="levels (all by default)")
    group.addoption("--tri-select", metavar="GLOB", action="append", default=[], help="cases, by glob of ids")
    group.addoption("--tri-sample", metavar="N", type=int, default=1, help="one in N cases of each feature")
    group.addoption("--tri-jobs", metavar="N", type=int, default=1, help="processes that run cases")
    group.addoption("--tri-timeout", metavar="S", type=float, help="seconds that a case may take")
    group.addoption("--tri-json", metavar="FILE", help="write the results as JSON")
    group.addoption("--tri-report", metavar="FILE", help="write the results as Markdown")


class Collected:
    """The run of this session; made when a test of the suite is collected."""

    key: pytest.StashKey[Run] = pytest.StashKey()
    #: when the reports were last written, and progress last reported, in seconds of a monotonic clock
    reported: pytest.StashKey[float] = pytest.StashKey()


def _run(config: pytest.Config) -> Run:
    from tri_conformance.run import Run
    from tri_conformance.selection import Selection
    from tri_conformance.subject import Subject

    if Collected.key not in config.stash:
        option = config.option
        if not option.tri_target:
            raise pytest.UsageError("name the target to test: --tri-target X")
        selection = Selection.of(option.tri_level, option.tri_select, option.tri_sample)
        config.stash[Collected.key] = Run(
            Subject(option.tri_target, tuple(option.tri_option)),
            selection,
            jobs=option.tri_jobs,
            timeout=option.tri_timeout,
        )
    return config.stash[Collected.key]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per case; an error of collection when a glob selects none."""
    if "tri_case" in metafunc.fixturenames:
        from tri_core.api import OptionError

        try:
            cases = _run(metafunc.config).cases
        except OptionError as error:
            raise pytest.Collector.CollectError(str(error)) from error
        metafunc.parametrize("tri_case", cases, ids=[case.id for case in cases])


@pytest.fixture
def tri_judge(request: pytest.FixtureRequest) -> Callable[[Case], Result]:
    """Judges a case, and keeps the result for the reports."""
    return _run(request.config).judge


@pytest.fixture
def tri_unused(request: pytest.FixtureRequest) -> list[str]:
    """Declarations of the target that match no case; none are known of a part of the cases."""
    return _run(request.config).unused


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """End as an interrupt does, with reports, where the process is asked to end (SIGTERM, as of a time limit)."""
    if Collected.key in session.config.stash and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupted)


def _interrupted(number: int, frame: object) -> None:
    raise KeyboardInterrupt("asked to end by SIGTERM")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Every half minute, report how far the run is, and write the reports: what ends a process may leave no time for it."""
    done = yield
    _report(item.config)
    return done


def _report(config: pytest.Config) -> None:
    run, now = config.stash.get(Collected.key, None), time.monotonic()
    if run is None or now - config.stash.setdefault(Collected.reported, now) < _PERIOD:
        return
    config.stash[Collected.reported] = now
    _write(run, config)
    failed = sum(result.verdict == "failed" for result in run.results)
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(
            f" {len(run.results)} of {len(run.cases)} cases, {failed} failed, {run.seconds:.0f} s", flush=True
        )


def _write(run: Run, config: pytest.Config) -> None:
    from tri_conformance.report import write

    run.seconds = time.time() - run.started
    write(run, config.option.tri_json, config.option.tri_report)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was asked for."""
    run = session.config.stash.get(Collected.key, None)
    if run is not None:
        run.close()
        _write(run, session.config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Counts per level."""
    run = config.stash.get(Collected.key, None)
    if run is not None:
        from tri_conformance.report import table

        terminalreporter.write_sep("=", f"conformance of {run.subject.title}")
        terminalreporter.write_line(table(run))
