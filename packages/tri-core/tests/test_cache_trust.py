"""Whose a cache is, and what lies in it: kernels of others do not run as the user, and nothing waits for a pipe."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tri_core import knobs
from tri_core.cache import Store, default, default_store, trust
from tri_core.cache.entry import pack
from tri_core.compiler import compile as compile_kernel
from tri_core.notices import CacheWarning

KEY = "0123456789abcdef"
pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="users and modes are POSIX's")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", 1 << 20)


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """What waits for a pipe is a failure, not a test that never ends."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def of_another(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make a file or folder another user's: by giving it away, or by being somebody else."""

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, 54321, -1)
        else:
            monkeypatch.setattr(trust, "_user", lambda: os.geteuid() + 1)

    return give


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- what is made --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022])
def test_folders_and_entries_are_the_users_alone(tmp_path: Path, mask: int) -> None:
    store = Store(tmp_path / "above" / "store", 1 << 20)
    before = os.umask(mask)
    try:
        with store.claim(KEY, 1.0) as held:
            assert held
            assert store.put(KEY, b"x")
            assert mode(store.path(KEY).with_suffix(".lock")) == 0o600
    finally:
        os.umask(before)
    assert mode(store.directory) == mode(store.path(KEY).parent) == 0o700
    assert mode(store.path(KEY)) == 0o600
    assert store.get(KEY) == b"x"


# --- folders -------------------------------------------------------------------------------------------


def _all_operations(store: Store) -> list[object]:
    with store.claim(KEY, 1.0) as held:
        return [store.get(KEY), store.put(KEY, b"y"), store.get("f" * 16), store.put(KEY, b"y"), held]


@pytest.mark.parametrize("more", [0o002, 0o020, 0o022])
def test_a_folder_that_others_can_write_is_not_used(
    store: Store, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_is_private", lambda *_: False)
    store.put(KEY, b"x")
    store.directory.chmod(0o700 | more)
    again = Store(store.directory, 1 << 20)
    with pytest.warns(CacheWarning, match="can be written by .*TRI_CACHE_DIR") as caught:
        done = _all_operations(again)
    assert done == [None, False, None, False, False]
    assert len(caught) == 1
    assert Store(store.directory, 1 << 20, shared=True).get(KEY) == b"x"  # nothing was written


def test_a_folder_of_another_user_is_not_used(store: Store, of_another: Any) -> None:
    store.put(KEY, b"x")
    of_another(store.directory)
    again = Store(store.directory, 1 << 20)
    with pytest.warns(CacheWarning, match="belongs to user"):
        assert again.get(KEY) is None
    assert not again.put(KEY, b"y")


def test_a_folder_that_becomes_anothers_as_it_is_made(
    store: Store, of_another: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file server may give to "nobody" what root makes."""
    make = Path.mkdir

    def squashed(path: Path, *arguments: Any, **more: Any) -> None:
        make(path, *arguments, **more)
        if path == store.directory:
            of_another(path)

    monkeypatch.setattr(Path, "mkdir", squashed)
    with pytest.warns(CacheWarning, match="belongs to user") as caught:
        done = _all_operations(store)
    assert done == [None, False, None, False, False]
    assert len(caught) == 1
    assert list(store.directory.iterdir()) == []


def test_a_group_of_the_user_alone_is_nobody_else(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    import grp
    import pwd
    from types import SimpleNamespace

    store.put(KEY, b"x")
    store.directory.chmod(0o770)
    status = store.directory.stat()
    user = SimpleNamespace(pw_name="ann", pw_gid=status.st_gid)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    for name, members, trusted in [
        ("ann", [], True),
        ("ann", ["ann"], True),
        ("ann", ["bob"], False),
        ("lab", [], False),
    ]:
        group = SimpleNamespace(gr_name=name, gr_mem=members)
        monkeypatch.setattr(grp, "getgrgid", lambda _, group=group: group)
        assert (trust.objection(store.directory) is None) == trusted


def test_compiles_go_on_with_one_warning(toy: Any, source: Any, own_cache: Path) -> None:
    own_cache.mkdir()
    own_cache.chmod(0o777)
    with pytest.warns(CacheWarning, match="can be written by everybody") as caught:
        kernels = [compile_kernel(source(name=name), "toy:one") for name in ("one", "two")]
    assert [k.name for k in kernels] == ["one", "two"]
    assert len(caught) == 1
    assert list(own_cache.iterdir()) == []
    with knobs.scope(CACHE_SHARED=True):
        compile_kernel(source(name="third"), "toy:one")
    assert list(own_cache.rglob("*.entry"))


# --- entries -------------------------------------------------------------------------------------------


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    where = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{where}/{path.name}" if sys.platform == "linux" else str(path))
    os.close(where)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _open_to_all(path: Path) -> None:
    path.write_bytes(pack(KEY, b"x") + b"x")
    path.chmod(0o666)


@pytest.mark.parametrize("make", [_pipe, _folder, _socket, _dangling, _endless, _open_to_all])
@pytest.mark.filterwarnings("ignore::tri_core.notices.CacheWarning")
def test_what_is_not_an_entry_is_a_miss_at_once(store: Store, make: Callable[[Path], None]) -> None:
    path = store.path(KEY)
    path.parent.mkdir(parents=True, mode=0o700)
    store.directory.chmod(0o700)
    make(path)
    assert store.get(KEY) is None
    kept = store.put(KEY, b"mine")
    assert kept == (make is not _folder)
    assert store.get(KEY) == (b"mine" if kept else None)


def test_an_entry_of_another_user_is_a_miss(store: Store, of_another: Any) -> None:
    store.put(KEY, b"theirs")
    assert store.is_trusted()
    of_another(store.path(KEY))
    assert store.get(KEY) is None


@pytest.mark.parametrize("make", [_pipe, _folder, _dangling])
def test_a_lock_that_is_no_file_does_not_hold_anybody_up(store: Store, make: Callable[[Path], None]) -> None:
    store.put(KEY, b"x")
    make(store.path(KEY).with_suffix(".lock"))
    with store.claim(KEY, 0.2):
        pass


@pytest.mark.parametrize("make", [_pipe, _socket])
def test_a_cache_that_is_no_folder(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "cache")
    store = Store(tmp_path / "cache", 1 << 20)
    with pytest.warns(CacheWarning, match="is not a folder"):
        assert store.get(KEY) is None
    assert not store.put(KEY, b"x")


# --- where it is ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\t"])
def test_a_folder_named_by_nothing_is_not_the_current_one(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRI_CACHE_DIR", text)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    default._user_folder.cache_clear()
    code = "from tri_core.cache import default_store; default_store().put('0123456789abcdef', b'x')"
    here = tmp_path / "here"
    here.mkdir()
    subprocess.run([sys.executable, "-c", code], cwd=here, check=True, timeout=60)
    assert list(here.iterdir()) == []
    assert list((tmp_path / "home").rglob("*.entry"))


def test_a_user_without_a_home_has_a_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for an id without a name
    default._user_folder.cache_clear()
    with knobs.scope(CACHE_DIR=None):
        folder = default_store().directory
    default._user_folder.cache_clear()
    assert folder.is_absolute()
    assert folder.name == f"tri-{os.geteuid()}"


def test_a_relative_folder_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store(Path("cache"), 1 << 20)
    monkeypatch.chdir("/")
    assert store.put(KEY, b"x")
    assert list((tmp_path / "cache").rglob("*.entry"))
