"""First uses: one thread at a time, nobody waits once they have ended well, and no wait is for ever."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tri_core import first_use as uses
from tri_core.first_use import alone, first_use

#: seconds that a thread is given to get somewhere
_PATIENCE = 20.0


def _in_thread(function: Callable[[], object]) -> threading.Event:
    """An event that is set when ``function`` has ended in a thread of its own."""
    done = threading.Event()

    def run() -> None:
        function()
        done.set()

    threading.Thread(target=run, daemon=True).start()
    return done


def _enter(what: object) -> None:
    with first_use(what):
        pass


def test_another_first_use_waits() -> None:
    """Until the block has ended, whatever the other one is."""
    with first_use(object()):
        waiting = _in_thread(lambda: _enter(object()))
        assert not waiting.wait(0.05)
    assert waiting.wait(_PATIENCE)


def test_what_was_used_waits_for_nobody() -> None:
    """Neither is anything held while it is used again."""
    what = object()
    _enter(what)
    with first_use(object()):
        assert _in_thread(lambda: _enter(what)).wait(_PATIENCE)
    with first_use(what):
        assert _in_thread(lambda: _enter(object())).wait(_PATIENCE)


def test_what_failed_was_not_used() -> None:
    """The next use is the first again."""
    what = object()
    with pytest.raises(ZeroDivisionError), first_use(what):
        raise ZeroDivisionError
    with first_use(what):
        waiting = _in_thread(lambda: _enter(object()))
        assert not waiting.wait(0.05)
    assert waiting.wait(_PATIENCE)


def test_a_block_may_make_first_uses() -> None:
    """Also inside :func:`alone`."""
    with alone(), first_use(object()), first_use(object()), alone():
        pass


def test_a_wait_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that wait for each other go on side by side after a while."""
    monkeypatch.setattr(uses, "_PATIENCE", 0.05)
    with first_use(object()):
        assert _in_thread(lambda: _enter(object())).wait(_PATIENCE)
    assert _in_thread(lambda: _enter(object())).wait(_PATIENCE)


def test_a_package_and_its_module_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that import a package, which imports its module, and that module alone: each gets both whole."""
    monkeypatch.syspath_prepend(str(tmp_path))
    interval = sys.getswitchinterval()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    failures: list[BaseException] = []

    def use(name: str) -> None:
        try:
            with first_use(name):
                __import__(name)
        except BaseException as error:
            failures.append(error)

    sys.setswitchinterval(1e-6)
    try:
        for number in range(20):
            name = f"used_{number}"
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(f"from {name}.middle import x\n")
            (tmp_path / name / "middle.py").write_text(f"from {name}.leaf import x\n")
            (tmp_path / name / "leaf.py").write_text(
                f"from {name}.lowest import y\n" + "z = 1\n" * 200 + "x = y\n"
            )
            (tmp_path / name / "lowest.py").write_text("y = 1\n")
            threads = [
                threading.Thread(target=use, args=(each,))
                for each in (name, f"{name}.leaf", f"{name}.lowest", f"{name}.middle")
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
        for module in [m for m in sys.modules.copy() if m.startswith("used_")]:
            del sys.modules[module]
    assert not failures
