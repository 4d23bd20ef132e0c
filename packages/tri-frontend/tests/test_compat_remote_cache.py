"""``triton.runtime.cache``'s remote back ends: programs' classes, Redis, and kernels of tri that go by them."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri.compat.triton as compat
from tri.compat.triton.remote import RemoteCacheBackend
from tri_core import compiler, knobs
from tri_core.cache.default import forget_remotes
from tri_core.errors import CompileRefused, RemoteCacheError
from tri_core.notices import CacheWarning
from tuning_kernels import grid, scale_kernel

SECRET = "0123456789abcdef"
#: what the back end of these tests holds: (key, file) -> content
KEPT: dict[tuple[str, str], bytes] = {}


class Backend(RemoteCacheBackend):
    """A program's back end."""

    def get(self, filenames: Sequence[str]) -> dict[str, bytes]:
        return {name: KEPT[self.key, name] for name in filenames if (self.key, name) in KEPT}

    def put(self, filename: str, data: bytes) -> None:
        KEPT[self.key, filename] = data


@pytest.fixture
def cache(cpu: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    KEPT.clear()
    monkeypatch.setenv("TRI_CACHE_REMOTE_WRITE", "through")
    monkeypatch.setenv("TRI_CACHE_REMOTE_TIMEOUT", "60")
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "triton.runtime.cache:RemoteCacheManager")
    monkeypatch.setenv("TRITON_REMOTE_CACHE_BACKEND", f"{__name__}:Backend")
    forget_remotes()
    with compat.installed():
        yield importlib.import_module("triton.runtime.cache")
    forget_remotes()
    compiler.forget()


def _launch() -> None:
    compiler.forget()
    x = np.arange(256, dtype=np.float32)
    y = np.zeros_like(x)
    scale_kernel()[grid](x, y, 256, BLOCK=64)
    np.testing.assert_array_equal(y, 2 * x)


def test_files_and_groups(cache: Any) -> None:
    manager = cache.get_cache_manager("ab" * 32)
    assert type(manager) is cache.RemoteCacheManager
    assert manager.get_file("a") is None
    paths = {name: manager.put(name * 3, name, binary=False) for name in ("a", "b")}
    manager.put_group("both", paths)
    for path in paths.values():
        Path(path).unlink()  # as on another machine
    found = cache.get_cache_manager("ab" * 32).get_group("both")
    assert {name: Path(path).read_text() for name, path in found.items()} == {"a": "aaa", "b": "bbb"}
    assert manager.get_group("none") is None


def test_kernels_go_by_the_manager(cache: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRI_CACHE_KEY", SECRET)
    _launch()
    assert KEPT
    assert {name for _, name in KEPT} == {"kernel.tri"}
    with knobs.scope(CACHE_DIR=tmp_path / "another", NO_COMPILE=True):
        _launch()
    KEPT.clear()
    with knobs.scope(CACHE_DIR=tmp_path / "third", NO_COMPILE=True), pytest.raises(CompileRefused):
        _launch()


def test_kernels_without_a_key_stay_here(cache: Any) -> None:
    with pytest.warns(CacheWarning, match="has no key"):
        _launch()
    assert not KEPT


def test_a_manager_of_files_is_no_remote_cache(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "triton.runtime.cache:FileCacheManager")
    _launch()
    assert type(cache.get_cache_manager("ab" * 32)) is cache.FileCacheManager
    assert not KEPT


def test_a_manager_without_a_back_end(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_REMOTE_CACHE_BACKEND")
    with pytest.raises(RemoteCacheError, match="has no back end") as told:
        cache.get_cache_manager("ab" * 32)
    assert "TRITON_REMOTE_CACHE_BACKEND=module:Class" in str(told.value)


def test_redis(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fakeredis = pytest.importorskip("fakeredis")
    server = fakeredis.TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("TRITON_REDIS_HOST", "127.0.0.1")
    monkeypatch.setenv("TRITON_REDIS_PORT", str(server.server_address[1]))
    monkeypatch.setenv("TRITON_REDIS_KEY_FORMAT", "ours:{key}:{filename}")
    try:
        backend = cache.RedisRemoteCacheBackend("k")
        backend.put("f", b"1")
        assert backend.get(["f", "g"]) == {"f": b"1"}
        assert backend._redis.keys() == [b"ours:k:f"]
        backend._redis.close()
    finally:
        server.shutdown()
        server.server_close()
