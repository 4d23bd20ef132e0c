"""Forking while other threads are at work: children find locks that they can take and state that is whole."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tri_core import foreign, forks, mlir
from tri_core.errors import Unsupported

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


def child(function: Callable[[], bool], timeout: float = 20.0) -> int:
    """The exit code of a forked child that calls ``function``: 0 where it says True, -9 where it hangs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if function() else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, 9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def held_by_another_thread(lock: forks.Lock, seconds: float = 60.0) -> Iterator[threading.Event]:
    """Another thread holds ``lock`` for so long, or until the block ends; the event is set when it lets go."""
    taken, end, released = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            end.wait(seconds)
            released.set()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield released
    finally:
        end.set()
        thread.join()


def can_take(lock: forks.Lock) -> bool:
    taken = lock.acquire(timeout=2.0)
    if taken:
        lock.release()
    return taken


@pytest.mark.parametrize("kind", [forks.Lock, forks.RLock])
def test_a_fork_waits_until_what_a_lock_protects_is_whole(kind: type[forks.Lock]) -> None:
    lock = kind()
    with held_by_another_thread(lock, 0.3) as released:
        assert child(lambda: released.is_set() and can_take(lock) and not lock.lost) == 0
    assert can_take(lock)


@pytest.mark.parametrize("kind", [forks.Lock, forks.RLock])
def test_a_fork_does_not_wait_for_work_that_is_made_anew(kind: type[forks.Lock]) -> None:
    lock = kind(waits=False)
    with held_by_another_thread(lock) as released:
        assert child(lambda: can_take(lock)) == 0
        assert not released.is_set()


def test_a_lock_that_stays_taken_is_a_new_one_in_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "patience", 0.2)
    lock = forks.RLock()
    with held_by_another_thread(lock):
        assert child(lambda: lock.lost and can_take(lock)) == 0
        assert not lock.lost
    assert can_take(lock)


def test_the_thread_that_forks_may_hold_it() -> None:
    lock = forks.RLock()
    with lock:
        assert child(lambda: can_take(lock) and not lock.lost) == 0
    assert can_take(lock)


def test_locks_taken_in_any_order() -> None:
    """Threads that take two locks in opposite orders to a fork's: nobody waits for the other forever."""
    first, second = forks.Lock(), forks.Lock()
    stop = threading.Event()

    def take(outer: forks.Lock, inner: forks.Lock) -> None:
        while not stop.is_set():
            with outer, inner:
                time.sleep(0.0005)

    threads = [threading.Thread(target=take, args=(second, first)) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert [child(lambda: can_take(first) and can_take(second)) for _ in range(20)] == [0] * 20
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_locks_that_are_made_while_a_fork_waits() -> None:
    """A thread makes a lock and takes it while another lock keeps the fork waiting."""
    first, made = forks.Lock(), list[forks.Lock]()
    taken = threading.Event()

    def work() -> None:
        with first:
            taken.set()
            time.sleep(0.1)
            made.append(forks.RLock())
            made[0].acquire()
        time.sleep(0.2)
        made[0].release()

    thread = threading.Thread(target=work)
    thread.start()
    taken.wait()
    assert child(lambda: can_take(made[0])) == 0
    thread.join()


def test_functions_of_the_child() -> None:
    seen: list[int] = []
    forks.in_child(lambda: seen.append(os.getpid()))
    assert child(lambda: seen == [os.getpid()]) == 0
    assert not seen


def test_methods_of_objects_that_are_gone() -> None:
    class Owner:
        def __init__(self, seen: list[str], name: str) -> None:
            self.seen, self.name = seen, name
            forks.in_child(self.renew)

        def renew(self) -> None:
            self.seen.append(self.name)

    seen: list[str] = []
    kept, gone = Owner(seen, "kept"), Owner(seen, "gone")
    del gone
    assert child(lambda: seen == [kept.name]) == 0


def test_threads_that_fork_at_the_same_time() -> None:
    lock, codes = forks.RLock(), list[int]()
    threads = [
        threading.Thread(target=lambda: codes.extend(child(lambda: can_take(lock)) for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 20


def test_ir_that_was_half_changed_at_the_fork_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "patience", 0.1)
    with mlir.session():
        pass
    taken, end = threading.Event(), threading.Event()

    def work() -> None:
        with mlir.session():
            taken.set()
            end.wait(60)

    def refused() -> bool:
        with pytest.raises(Unsupported, match="while another thread compiled"), mlir.session():
            pass
        return True

    thread = threading.Thread(target=work)
    thread.start()
    taken.wait()
    try:
        assert child(refused) == 0
    finally:
        end.set()
        thread.join()


def test_children_import_what_the_parent_was_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "tri_test_slow_module"
    (tmp_path / f"{name}.py").write_text("import time\nbegun = True\ntime.sleep(0.5)\ndone = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    thread = threading.Thread(target=importlib.import_module, args=(name,))
    thread.start()
    while not hasattr(sys.modules.get(name), "begun"):
        time.sleep(0.001)
    assert child(lambda: bool(importlib.import_module(name).done)) == 0
    thread.join()
    del sys.modules[name]


def test_an_import_that_does_not_end_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may run while its module is imported."""
    name = "tri_test_endless_module"
    (tmp_path / f"{name}.py").write_text("import threading\nend = threading.Event()\nend.wait(60)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(forks, "patience", 0.3)
    thread = threading.Thread(target=importlib.import_module, args=(name,))
    thread.start()
    while not hasattr(sys.modules.get(name), "end"):
        time.sleep(0.001)
    assert child(lambda: True) == 0
    monkeypatch.setattr(forks, "patience", 30.0)
    begin = time.monotonic()
    assert child(lambda: True) == 0
    assert time.monotonic() - begin < 10
    sys.modules[name].end.set()
    thread.join()
    del sys.modules[name]


#: children that parse IR, forked while a thread of the parent does nothing else
PARSING = """
    import os, sys, threading, time, warnings
    from tri_core import mlir
    warnings.simplefilter("ignore")
    TEXT = "module { " + " ".join(f"func.func private @f{i}(i32) -> i32" for i in range(300)) + " }"

    def work():
        with mlir.session():
            module = mlir.parse(TEXT)
            mlir.run_passes(module, "canonicalize")
            return str(module).count("func.func")

    def forever():
        while True:
            work()

    assert work() == 300
    threading.Thread(target=forever, daemon=True).start()
    for number in range(20):
        time.sleep(0.003)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if work() == 300 else 1)
        deadline = time.monotonic() + 10
        while True:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found or time.monotonic() > deadline:
                break
            time.sleep(0.005)
        if not found:
            os.kill(pid, 9)
            os._exit(f"child {number} hangs" and 3)
        if status:
            os._exit(4)
    print("done", flush=True)
    os._exit(0)
"""


def test_children_use_ir_while_the_parent_does() -> None:
    command = [sys.executable, "-c", textwrap.dedent(PARSING)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of threads")
def test_a_child_on_a_busy_machine_blames_no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a thread of a child waited for a processor is read from the child's own thread, not from the parent's, which it lacks."""
    known: list[bool] = []
    read = Path.read_text

    def read_text(path: Path) -> str:
        known.append(path.exists())
        return f"0 {10**12 if len(known) > 1 else 0} 0" if known[-1] else read(path)

    def says_nothing() -> bool:
        monkeypatch.setattr(Path, "read_text", read_text)
        monkeypatch.setattr(foreign, "PATIENCE", 0.0)
        monkeypatch.setattr(foreign, "warn", lambda *told: known.append(False))
        watch = foreign.Watch()
        with watch.at("slow", "being imported"):
            watch._tell()
        return known == [True, True]

    assert child(says_nothing) == 0
