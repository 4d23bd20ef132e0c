"""The store: what is put is got, or nothing is; never something else."""

from __future__ import annotations

import builtins
import errno
import hashlib
import logging
import os
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core import knobs
from tri_core.cache import Store, default_store
from tri_core.cache.entry import pack, unpack
from tri_core.cache.sweep import sweep
from tri_core.errors import CacheError
from tri_core.notices import CacheWarning

KEY = "0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", 1 << 20)


def files(store: Store) -> list[Path]:
    return [p for p in store.directory.rglob("*") if p.is_file()]


def key(i: int) -> str:
    return f"{i:02x}{i:014x}"


# --- entries -------------------------------------------------------------------------------------------


@given(st.binary(max_size=300))
def test_an_entry_round_trips(payload: bytes) -> None:
    assert unpack(pack(KEY, payload) + payload) == (KEY, payload)


@given(st.binary(max_size=100), st.data())
def test_any_damage_is_seen(payload: bytes, data: st.DataObject) -> None:
    whole = pack(KEY, payload) + payload
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert unpack(whole[:cut]) is None
    flipped = bytearray(whole)
    flipped[cut] ^= data.draw(st.integers(1, 255))
    assert unpack(bytes(flipped)) is None
    assert unpack(whole + data.draw(st.binary(min_size=1, max_size=9))) is None


# --- the store -----------------------------------------------------------------------------------------


def test_what_is_put_is_got(store: Store) -> None:
    assert store.get(KEY) is None
    assert store.put(KEY, b"one")
    assert store.put(KEY, b"two")
    assert store.get(KEY) == b"two"
    assert Store(store.directory, 1).get(KEY) == b"two"
    assert [f.name for f in files(store)] == [f"{KEY}.entry"]
    store.discard(KEY)
    store.discard(KEY)
    assert store.get(KEY) is None


@pytest.mark.parametrize("name", ["", "short", "../../etc/passwd", "a/b/c/d/e/f", "x" * 300, "with space"])
def test_keys_are_plain_words(store: Store, name: str) -> None:
    with pytest.raises(CacheError, match="is not a cache key"):
        store.get(name)


def test_a_damaged_entry_is_a_miss_and_goes(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.put(KEY, b"payload")
    store.path(KEY).write_bytes(store.path(KEY).read_bytes()[:-1])
    assert store.get(KEY) is None
    assert files(store) == []
    assert "damaged cache entry" in caplog.text


def test_an_entry_under_another_key_is_a_miss_and_goes(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(KEY, b"payload")
    other = KEY[::-1]
    assert other != KEY
    store.path(other).parent.mkdir(exist_ok=True)
    store.path(other).write_bytes(store.path(KEY).read_bytes())
    assert store.get(other) is None
    assert f"{other}.entry is that of {KEY}" in caplog.text
    assert store.get(KEY) == b"payload"
    assert [f.name for f in files(store)] == [f"{KEY}.entry"]


def test_the_checksum_covers_the_key(store: Store) -> None:
    store.put(KEY, b"payload")
    other = KEY[::-1]
    store.path(other).parent.mkdir(exist_ok=True)
    renamed = store.path(KEY).read_bytes().replace(KEY.encode(), other.encode())
    store.path(other).write_bytes(renamed)
    assert store.get(other) is None


def test_an_entry_of_another_version_is_a_miss(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    payload = b"payload"
    store.put(KEY, b"new")
    header = struct.pack("<12sQ32s", b"TRI-CACHE-1\n", len(payload), hashlib.sha256(payload).digest())
    store.path(KEY).write_bytes(header + payload)
    with caplog.at_level(logging.INFO):
        assert store.get(KEY) is None
    assert "of another version" in caplog.text
    assert "damaged" not in caplog.text
    assert files(store) == []


def test_readers_see_all_of_an_entry_or_the_one_before(store: Store) -> None:
    import threading

    contents = [bytes([i]) * 300_000 for i in (1, 2)]
    store.put(KEY, contents[0])

    def rewrite() -> None:
        for i in range(60):
            store.put(KEY, contents[i % 2])

    writer = threading.Thread(target=rewrite)
    writer.start()
    while writer.is_alive():
        assert store.get(KEY) in contents
    writer.join()


def test_an_entry_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    assert not Store(tmp_path, 100).put(KEY, b"x" * 100)
    assert list(tmp_path.iterdir()) == []


# --- the bound -----------------------------------------------------------------------------------------


def test_the_store_stays_near_its_bound(tmp_path: Path) -> None:
    store = Store(tmp_path, 50_000)
    for i in range(200):
        assert store.put(key(i), bytes([i]) * 1000)
        assert sum(f.stat().st_size for f in files(store)) <= 50_000 * 1.1
    assert store.get(key(199)) == bytes([199]) * 1000
    assert store.get(key(0)) is None


def test_short_processes_bound_the_store_too(tmp_path: Path) -> None:
    for i in range(256):
        Store(tmp_path, 20_000).put(key(i), bytes(1000))
    assert sum(f.stat().st_size for f in tmp_path.rglob("*.entry")) <= 20_000 * 2


def test_the_least_recently_used_leave_first(tmp_path: Path) -> None:
    store = Store(tmp_path, 1 << 20)
    for i in range(10):
        store.put(key(i), bytes(1000))
        os.utime(store.path(key(i)), (1000.0 + i, 1000.0 + i))
    assert store.get(key(0)) is not None  # used now
    assert sweep(tmp_path, 4300) <= 4300 * 0.9
    assert [i for i in range(10) if store.get(key(i)) is not None] == [0, 8, 9]


def test_sweeping_removes_what_killed_writers_left(store: Store) -> None:
    store.put(KEY, b"x")
    folder = store.path(KEY).parent
    for name, age in (("old.tmp", 7200.0), ("new.tmp", 10.0), ("old.lock", 7200.0), ("strange", 7200.0)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age,) * 2)
    foreign = store.directory / "mine" / "old.tmp"
    foreign.parent.mkdir()
    foreign.touch()
    os.utime(foreign, (1.0, 1.0))
    sweep(store.directory, 1 << 20)
    assert sorted(f.name for f in files(store)) == [f"{KEY}.entry", "new.tmp", "old.tmp", "strange"]
    assert foreign.exists()
    store.clear()
    assert store.get(KEY) is None


# --- file systems that say no --------------------------------------------------------------------------

FAILING_CALLS = ["open", "mkdir", "write", "close", "replace", "utime", "unlink", "scandir"]


class Full:
    """Raises ENOSPC at the ``n``-th file operation of a kind, and ever after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, call: str, after: int) -> None:
        self.left = after
        if call in ("write", "close"):
            monkeypatch.setattr(builtins, "open", self.wrap_file(call))
        elif call == "open":
            monkeypatch.setattr(builtins, "open", self.wrap(builtins.open, lambda a: "x" in a[1]))
        elif call == "mkdir":
            monkeypatch.setattr(Path, "mkdir", self.wrap(Path.mkdir))
        else:
            monkeypatch.setattr(os, call, self.wrap(getattr(os, call)))

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def wrap(
        self, function: Callable[..., Any], when: Callable[[Any], bool] = lambda a: True
    ) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if when(arguments):
                self.check()
            return function(*arguments, **more)

        return call

    def wrap_file(self, call: str) -> Callable[..., Any]:
        real = builtins.open

        def opening(path: Any, mode: str = "r", *arguments: Any, **more: Any) -> Any:
            file = real(path, mode, *arguments, **more)
            return _Writing(file, self, call) if "x" in mode else file

        return opening


class _Writing:
    """A file of which ``write`` (or ``close``, when buffers are flushed) fails, with half of it written."""

    def __init__(self, file: Any, full: Full, call: str) -> None:
        self.file, self.full, self.call = file, full, call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()
        if self.call == "close":
            self.full.check()

    def write(self, data: bytes) -> int:
        if self.call == "write":
            try:
                self.full.check()
            except OSError:
                self.file.write(data[: len(data) // 2])
                raise
        return int(self.file.write(data))


@pytest.mark.parametrize("call", FAILING_CALLS)
@pytest.mark.parametrize("after", range(4))
@pytest.mark.filterwarnings("ignore::tri_core.notices.CacheWarning")
def test_a_disk_that_fills_up_at_any_point_costs_entries_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, after: int
) -> None:
    store = Store(tmp_path / "store", 3000)
    with monkeypatch.context() as patch:
        Full(patch, call, after)
        for i in range(8):
            store.put(key(i), bytes([i]) * 500)
            assert store.get(key(i)) in (None, bytes([i]) * 500)
    for i in range(8):
        assert store.get(key(i)) in (None, bytes([i]) * 500)
    assert store.put(key(9), b"works again")
    assert store.get(key(9)) == b"works again"


def test_one_warning_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store", 1 << 20)
    Full(monkeypatch, "open", 0)
    with pytest.warns(CacheWarning, match="TRI_CACHE_DIR") as caught:
        kept = [store.put(key(i), b"x") for i in range(5)]
    assert kept == [False] * 5
    assert len(caught) == 1
    assert "No space left on device" in str(caught[0].message)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "store", 1 << 20)
    with pytest.warns(CacheWarning, match="kept in memory only"):
        assert not store.put(KEY, b"x")
    assert store.get(KEY) is None
    with store.claim(KEY, 1.0) as held:
        assert not held


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_folder_is_still_read(store: Store) -> None:
    store.put(KEY, b"x")
    folder = store.path(KEY).parent
    folder.chmod(0o500)
    try:
        with pytest.warns(CacheWarning):
            assert not store.put(KEY, b"y")
        assert store.get(KEY) == b"x"
    finally:
        folder.chmod(0o700)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "tiny"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mount.returncode != 0:
        pytest.skip("no right to mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(tiny_disk: Path) -> None:
    store = Store(tiny_disk / "store", 1 << 30)
    with pytest.warns(CacheWarning, match="No space left"):  # one warning for many entries
        kept = [store.put(key(i), os.urandom(7000)) for i in range(30)]
    assert True in kept
    assert False in kept
    assert not list(tiny_disk.rglob("*.tmp"))
    for i, is_kept in enumerate(kept):
        assert (store.get(key(i)) is not None) == is_kept


# --- processes -----------------------------------------------------------------------------------------


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs ``code`` with ``sys.argv[1:] = arguments``."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


WRITER = """
    import hashlib, pathlib, sys
    from tri_core.cache import Store
    store = Store(pathlib.Path(sys.argv[1]), 1 << 20)
    i = 0
    while True:
        if i == 10:
            print("ready", flush=True)
        key = hashlib.sha256(str(i % 50).encode()).hexdigest()
        payload = key.encode() * (1 + 97 * (i % 50))
        with store.claim(key, 5.0):
            assert store.get(key) in (None, payload)
            store.put(key, payload)
        if i % 7 == 0:
            store.discard(key)
        i += 1
"""


def test_killing_writers_at_random_moments_leaves_a_usable_store(tmp_path: Path) -> None:
    import hashlib
    import random

    random.seed(7)
    for _ in range(6):
        writers = [start(WRITER, tmp_path) for _ in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0.0, 0.08))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            assert writer.stdout is not None
            writer.stdout.close()
    store = Store(tmp_path, 1 << 20)
    found = 0
    for i in range(50):
        name = hashlib.sha256(str(i).encode()).hexdigest()
        payload = store.get(name)
        assert payload in (None, name.encode() * (1 + 97 * i))
        found += payload is not None
        with store.claim(name, 0.0) as held:
            assert held  # the locks of the dead are free
    assert found


CLAIMER = """
    import pathlib, sys, time
    from tri_core.cache import Store
    store = Store(pathlib.Path(sys.argv[1]), 1 << 20)
    with store.claim("0123456789abcdef", 30.0):
        if store.get("0123456789abcdef") is None:
            time.sleep(0.3)
            print("made", flush=True)
            store.put("0123456789abcdef", b"x")
"""


def test_processes_make_an_entry_once(tmp_path: Path) -> None:
    made = [p.communicate()[0] for p in [start(CLAIMER, tmp_path) for _ in range(5)]]
    assert sorted(made) == ["", "", "", "", "made\n"]


def test_a_claim_that_takes_too_long_is_ignored(store: Store) -> None:
    with store.claim(KEY, 5.0), Store(store.directory, 1 << 20).claim(KEY, 0.1) as held:
        assert not held


# --- the default ---------------------------------------------------------------------------------------


def test_the_knobs_name_the_store(tmp_path: Path) -> None:
    with knobs.scope(CACHE_DIR=tmp_path, CACHE_SIZE=17):
        assert (default_store().directory, default_store().max_bytes) == (tmp_path, 17)
        assert default_store() is default_store()


def test_the_users_cache_folder_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tri_core.cache import default

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    default._user_folder.cache_clear()
    with knobs.scope(CACHE_DIR=None):
        assert default_store().directory.name == "tri"
    default._user_folder.cache_clear()
