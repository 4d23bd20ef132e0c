"""Remote stores: what a key vouches for is read, nothing else; and nobody waits for one that is dead."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core import knobs
from tri_core.cache import Store, default_store, transports
from tri_core.cache.default import forget_remotes, open_remote
from tri_core.cache.remote import Remote
from tri_core.cache.signing import secret_of, sign, verify
from tri_core.errors import OptionError, RemoteCacheError
from tri_core.notices import CacheWarning

KEY, OTHER = "a" * 64, "b" * 64
SECRET = b"0123456789abcdef"


@pytest.fixture(params=["file", "memory", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "redis":
        fakeredis = pytest.importorskip("fakeredis")
        server = fakeredis.TcpFakeServer(("127.0.0.1", 0), server_type="redis")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"redis://127.0.0.1:{server.server_address[1]}/0"
        server.shutdown()
        server.server_close()
        return
    fsspec = pytest.importorskip("fsspec")
    if request.param == "file":
        yield (tmp_path / "remote").as_uri()
    else:
        yield f"memory://{tmp_path.name}"
        fsspec.filesystem("memory").store.clear()


def _remote(url: str, secret: bytes = SECRET, **how: Any) -> Remote:
    return Remote(url, secret, **{"patience": 30.0, "behind": False, **how})


def _transport(url: str) -> transports.Transport:
    return transports.prepare(url)(url, 30.0)


# --- signatures ----------------------------------------------------------------------------------------


@given(st.binary(max_size=100), st.data())
def test_damage_anywhere_is_seen(payload: bytes, data: st.DataObject) -> None:
    content = bytearray(sign(KEY, payload, SECRET))
    assert verify(KEY, bytes(content), SECRET) == payload
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    assert isinstance(verify(KEY, bytes(content), SECRET), str)


def test_other_keys_are_refused() -> None:
    content = sign(KEY, b"kernel", SECRET)
    assert verify(KEY, content, SECRET[::-1]) == "is damaged, or signed by another key"
    assert verify(OTHER, content, SECRET) == f"is that of {KEY}"
    assert verify(KEY, b"", SECRET) == "is not signed"


def test_a_key_is_a_text_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(SECRET + b"\n")
    assert secret_of(None, file) == secret_of(SECRET.decode(), None) == SECRET
    assert secret_of(None, None) is None
    with pytest.raises(OptionError, match="both give a key"):
        secret_of(SECRET.decode(), file)
    with pytest.raises(OptionError, match="fewer than 16 bytes"):
        secret_of("", None)
    with pytest.raises(OptionError, match="there is no file"):
        secret_of(None, tmp_path / "none")


# --- reading and writing -------------------------------------------------------------------------------


def test_what_one_machine_writes_another_reads(url: str, tmp_path: Path) -> None:
    one = Store(tmp_path / "one", 1 << 20, remote=_remote(url))
    two = Store(tmp_path / "two", 1 << 20, remote=_remote(url))
    assert two.get(KEY) is None
    assert one.put(KEY, b"kernel")
    assert two.get(KEY) == b"kernel"
    assert Store(tmp_path / "two", 1 << 20).get(KEY) == b"kernel", "it is not kept"
    assert dict(_remote(url).pull()) == {KEY: b"kernel"}


def test_what_is_of_one_machine_stays_there(url: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "one", 1 << 20, remote=_remote(url))
    assert store.put(KEY, b"history", is_local=True)
    assert not dict(_remote(url).pull())
    _remote(url).push(OTHER, b"theirs")
    assert store.get(OTHER, is_local=True) is None


def test_unsigned_entries_are_not_loaded(url: str, caplog: pytest.LogCaptureFixture) -> None:
    _remote(url, SECRET[::-1]).push(KEY, b"evil")
    content = _transport(url).get(KEY)
    assert content is not None
    _transport(url).put(OTHER, content[-4:])
    found = _remote(url)
    with caplog.at_level(logging.WARNING, "tri_core.cache.remote"):
        assert (found.get(KEY), found.get(OTHER)) == (None, None)
    assert "signed by another key" in caplog.messages[0]
    assert "is not signed" in caplog.messages[1]
    assert not found.is_aside
    found.put(KEY, b"kernel")
    assert found.get(KEY) == b"kernel", "it is not written anew"


def test_entries_are_written_behind(url: str) -> None:
    remote = _remote(url, behind=True)
    for i in range(20):
        remote.put(f"{i:064x}", b"kernel")
    assert remote.flush()
    assert len(dict(_remote(url).pull())) == 20


def test_a_forked_child_has_connections_of_its_own(url: str) -> None:
    remote = _remote(url, behind=True)
    remote.put(KEY, b"kernel")
    assert remote.flush()
    if url.startswith("memory"):
        return
    child = os.fork()
    if child == 0:
        code = 1
        try:
            remote.put(OTHER, b"child's")
            code = 0 if remote.get(KEY) == b"kernel" and remote.flush() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert remote.get(OTHER) == b"child's"


# --- what is dead --------------------------------------------------------------------------------------


class _Dead:
    """A transport that fails, or that does not answer before ``event``."""

    def __init__(self, event: threading.Event | None = None) -> None:
        self.event, self.calls = event, 0

    def __call__(self, url: str, timeout: float) -> _Dead:
        return self

    def get(self, key: str) -> bytes | None:
        self.calls += 1
        if self.event is None:
            raise ConnectionError("nobody is there")
        self.event.wait()
        return None

    def put(self, key: str, content: bytes) -> None:
        self.get(key)

    def keys(self) -> Iterator[str]:
        self.get("")
        return iter(())


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> _Dead:
    made = _Dead()
    monkeypatch.setattr("tri_core.cache.remote.prepare", lambda url: made)
    return made


def test_a_remote_store_that_hangs_is_asked_once(dead: _Dead, tmp_path: Path) -> None:
    dead.event = threading.Event()
    store = Store(tmp_path / "s", 1 << 20, remote=_remote("x://host", patience=0.05))
    with pytest.warns(CacheWarning, match=r"gave no answer within 0\.05 s") as warned:
        assert store.get(KEY) is None
    assert store.put(KEY, b"kernel")
    assert (store.get(OTHER), dead.calls, len(warned)) == (None, 1, 1)
    dead.event.set()


def test_the_end_does_not_wait_for_a_writer_that_hangs(dead: _Dead) -> None:
    dead.event = threading.Event()
    remote = _remote("x://host", patience=0.05, behind=True)
    remote.put(KEY, b"kernel")
    begin = time.monotonic()
    assert not remote.flush()
    assert time.monotonic() - begin < 30
    dead.event.set()


def _use(remote: Remote) -> None:
    for _ in range(5):
        remote.get(KEY)
        remote.put(KEY, b"")
    remote.flush()


@pytest.mark.parametrize("behind", [True, False])
def test_one_that_fails_is_set_aside(dead: _Dead, behind: bool) -> None:
    remote = _remote("x://user:password@host/?key=1", behind=behind)
    with pytest.warns(CacheWarning, match="x://host/ failed 3 times .ConnectionError: nobody is there"):
        _use(remote)
    assert remote.is_aside
    assert dead.calls <= 4
    with pytest.raises(RemoteCacheError, match="nobody is there"):
        remote.push(KEY, b"")
    with pytest.raises(RemoteCacheError, match="nobody is there"):
        list(remote.pull())


# --- knobs ---------------------------------------------------------------------------------------------


@pytest.fixture
def fresh() -> Iterator[None]:
    forget_remotes()
    yield
    forget_remotes()


@pytest.mark.usefixtures("fresh")
def test_the_knobs_name_it(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    where = (tmp_path / "remote").as_uri()
    given = {"CACHE_REMOTE": where, "CACHE_KEY": SECRET.decode(), "CACHE_REMOTE_WRITE": "through"}
    with knobs.scope(CACHE_DIR=tmp_path / "own", **given):
        assert default_store().put(KEY, b"kernel")
    with knobs.scope(CACHE_DIR=tmp_path / "others", **given):
        assert default_store().get(KEY) == b"kernel"
        assert open_remote().url == where


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("url", "missing", "message"),
    [
        ("file:///nowhere", None, "has no key"),
        ("no-such-scheme://host", "", "Protocol not known"),
        ("file:///nowhere", "fsspec", r"(?s)fsspec is not installed.*tri-core\[remote\]"),
        ("redis://localhost", "redis", r"(?s)redis is not installed.*tri-core\[redis\]"),
    ],
)
def test_what_lacks_is_said_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, missing: str | None, message: str
) -> None:
    pytest.importorskip("fsspec")

    def without(name: str) -> Any:
        if name == missing:
            raise ImportError(name)
        return import_module(name)

    monkeypatch.setattr("tri_core.cache.transports.import_module", without)
    key = None if missing is None else SECRET.decode()
    with knobs.scope(CACHE_DIR=tmp_path / "own", CACHE_REMOTE=url, CACHE_KEY=key):
        with pytest.warns(CacheWarning, match=message) as warned:
            default_store().put(KEY, b"kernel")
        assert default_store().get(KEY) == b"kernel"
        assert len(warned) == 1
        with pytest.raises(RemoteCacheError):
            open_remote()


class Kept:
    """Bytes by key, in this process."""

    kept: ClassVar[dict[str, bytes]] = {}

    def __init__(self, url: str, timeout: float) -> None:
        assert url.startswith("python:")
        assert timeout == 30.0

    def get(self, key: str) -> bytes | None:
        return self.kept.get(key)

    def put(self, key: str, content: bytes) -> None:
        self.kept[key] = content

    def keys(self) -> Iterator[str]:
        return iter(self.kept)


def test_a_class_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kept, "kept", {})
    remote = _remote(f"python:{__name__}:Kept")
    remote.put(KEY, b"kernel")
    assert remote.get(KEY) == b"kernel"
    assert remote.get(OTHER) is None
    assert list(remote.pull()) == [(KEY, b"kernel")]


@pytest.mark.parametrize("name", ["os.path:Nothing", "no_such_module:Class", "os", ":Class", ""])
def test_a_class_that_is_not_there(name: str) -> None:
    with pytest.raises(RemoteCacheError, match=r"cannot be used.*") as told:
        transports.prepare(f"python:{name}")
    assert "python:module:Class" in str(told.value)
