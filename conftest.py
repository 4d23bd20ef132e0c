"""What the whole test-suite shares: tests that were skipped can be run again where what they lacked is there.

A machine without PyTorch, browsers and other compilers skips the tests that need them.  Every run remembers which
it skipped, in pytest's cache; ``pytest --last-skipped`` runs these and no others.

Property tests are the same on every machine and every day: examples follow from the test alone, none is kept from earlier runs, and none
has a deadline.  ``--hypothesis-profile search`` looks for new ones, as ``nox -s nightly`` does.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import signal
import sys
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

_ANYWHERE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", _ANYWHERE, max_examples=200)
settings.register_profile("deterministic", _ANYWHERE, max_examples=30, derandomize=True, database=None)

#: where pytest's cache has the ids: of tests, and of files that are skipped whole
_KEY = "tri/skipped"


def _shard(text: str) -> tuple[int, int]:
    """The index, from 0, and the count of shards of ``3/24``."""
    index, count = (int(word) for word in text.split("/"))
    if not 1 <= index <= count:
        raise argparse.ArgumentTypeError(f"{text} names no shard: 1/{count} to {count}/{count} do")
    return index - 1, count


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--last-skipped``, named after pytest's ``--last-failed``, ``--shard`` and ``--cases``."""
    parser.addoption("--last-skipped", action="store_true", help="run only what the last run skipped")
    parser.addoption("--shard", type=_shard, metavar="K/N", help="collect shard K of N, from 1")
    parser.addoption(
        "--cases", choices=("all", "some", "rest"), default="all", help="of tests whose cases take long"
    )


def pytest_configure(config: pytest.Config) -> None:
    """One object records or selects: workers of a distributed run select, and leave recording to the controller."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # what a shell starts in the background ignores interrupts, and so would all that tests start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # the bindings make many objects that stay: by CPython's thresholds the collector takes a tenth of the time
    gc.set_threshold(150_000, 20, 100)
    settings.load_profile(config.getoption("--hypothesis-profile", None) or "deterministic")
    if config.getoption("last_skipped"):
        config.pluginmanager.register(_Selection(config))
    elif not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Record(config))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of tests of other shards."""
    shard = config.getoption("shard")
    if shard is None or not fnmatch(collection_path.name, "test_*.py"):
        return None
    index, count = shard
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if crc32(name.encode()) % count != index else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the cases that ``--cases`` asks for of parametrized tests that take long, see ``integration/long_cases.py``."""
    wanted = config.getoption("cases")
    if wanted == "all":
        return
    chosen = _long_cases()
    known, functions = chosen.read(), defaultdict[str, list[pytest.Item]](list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    kept: set[pytest.Item] = set()
    for name, cases in functions.items():
        ids = {item: item.nodeid.partition("[")[2].removesuffix("]") for item in cases}
        some = chosen.some(list(ids.values()), known[name]) if name in known else frozenset(ids.values())
        kept.update(item for item in cases if (ids[item] in some) is (wanted == "some"))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _long_cases() -> ModuleType:
    """The module, which is found by its path: what is installed does not hold it."""
    path = Path(__file__).with_name("integration") / "long_cases.py"
    spec = importlib.util.spec_from_file_location("long_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["long_cases"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Record:
    """Remembers what is skipped."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.skipped: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that is skipped whole."""
        self._add(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test."""
        self._add(report)

    def _add(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write it down."""
        cache = getattr(self.config, "cache", None)  # `-p no:cacheprovider` leaves none
        if cache is not None and not self.config.option.collectonly:
            cache.set(_KEY, sorted(set(self.skipped)))


class _Selection:
    """Collects only files with something that was skipped, and of these only that."""

    def __init__(self, config: pytest.Config) -> None:
        cache = getattr(config, "cache", None)
        if cache is None:
            raise pytest.UsageError("--last-skipped reads pytest's cache, which is switched off")
        self.ids = frozenset(cache.get(_KEY, []))
        self.files = frozenset(config.rootpath / node.partition("::")[0] for node in self.ids)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Files without anything that was skipped."""
        return True if collection_path.suffix == ".py" and collection_path not in self.files else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Tests that were not skipped, alone or with their file."""
        kept = [
            item for item in items if not self.ids.isdisjoint((item.nodeid, item.nodeid.partition("::")[0]))
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept
