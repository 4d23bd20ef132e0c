"""Locks of entries that are made: taken without ``filelock`` where nobody holds them, and seen by it."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from tri_core.cache import claims
from tri_core.cache.store import Store

KEY = "ab" * 32


def _is_free(path: Path) -> bool:
    """Whether ``filelock`` gets the lock, as processes of other versions ask."""
    try:
        with filelock.FileLock(path, timeout=0):
            return True
    except filelock.Timeout:
        return False


@pytest.mark.parametrize("first", [claims._take_free, lambda path: claims._wait(path, 0)])
def test_a_lock_shuts_out_whoever_asks(
    first: Callable[[Path], Callable[[], None] | None], tmp_path: Path
) -> None:
    path = tmp_path / "entry.lock"
    release = first(path)
    assert release is not None
    assert not _is_free(path)
    assert claims._take_free(path) is None
    assert claims.take(path, 0) is None
    release()
    assert not path.exists()
    again = claims.take(path, 0)
    assert again is not None
    again()


def test_whoever_waits_gets_it(tmp_path: Path) -> None:
    path = tmp_path / "entry.lock"
    release = claims.take(path, 0)
    assert release is not None
    held: list[object] = []
    waiting = threading.Thread(target=lambda: held.append(claims.take(path, 60)))
    waiting.start()
    release()
    waiting.join()
    assert held[0] is not None


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_child_that_was_forked_meanwhile_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "entry.lock"
    release = claims.take(path, 0)
    assert release is not None
    context = multiprocessing.get_context("fork")
    ended = context.Event()
    child = context.Process(target=ended.wait)
    child.start()
    release()
    again = claims.take(path, 0)
    ended.set()
    child.join()
    assert again is not None
    again()


def test_a_store_that_cannot_be_written_gives_no_claim(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file is where the folder should be")
    with Store(tmp_path / "store", 1 << 20).claim(KEY, 0) as is_held:
        assert not is_held


def test_a_claim_that_nobody_has_imports_no_library(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tri_core.cache.store import Store\n"
        f"with Store(Path({str(tmp_path / 'store')!r}), 1 << 20).claim({KEY!r}, 60) as held: assert held\n"
        "print('filelock' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sys.platform == "win32")
