"""Bundles: what is written is read, whatever happens to the file."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core import knobs
from tri_core.cache import Store, default_store
from tri_core.cache.bundle import Bundle, write_bundle
from tri_core.cache.default import forget_bundles, open_bundle
from tri_core.cache.noting import noting
from tri_core.errors import BundleError, OptionError
from tri_core.notices import CacheWarning

KEY, OTHER = "a" * 64, "b" * 64
ENTRIES = {KEY: b"kernel", OTHER: b""}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kernels.tribundle"


def _write(path: Path, secret: bytes | None = None, versions: dict[str, str] | None = None) -> None:
    write_bundle(path, ENTRIES, {KEY: "add for cpu"}, versions or {}, secret)


def test_what_is_written_is_read(path: Path) -> None:
    _write(path)
    found = Bundle(path)
    assert (found.get(KEY), found.get(OTHER), found.get("c" * 64)) == (b"kernel", b"", None)
    assert (found.kernels, found.used, len(found)) == ({KEY: "add for cpu"}, {KEY, OTHER}, 2)
    assert found.objection() is None


def test_equal_entries_give_equal_files(path: Path, tmp_path: Path) -> None:
    _write(path)
    write_bundle(tmp_path / "again", dict(reversed(ENTRIES.items())), {KEY: "add for cpu"}, {})
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


@given(st.data())
def test_a_damaged_file_is_refused_or_a_miss(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Never another payload, whichever byte is another one."""
    path = tmp_path_factory.mktemp("bundle") / "b"
    _write(path, b"secret")
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content))
    try:
        found = Bundle(path, b"secret")
    except BundleError:
        return
    assert found.get(KEY) in (b"kernel", None)
    assert found.get(OTHER) in (b"", None)


@pytest.mark.parametrize("content", [b"", b"PK", b"no bundle at all" * 100])
def test_what_is_no_bundle_is_named(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(BundleError, match="is damaged, or no bundle"):
        Bundle(path)
    with pytest.raises(BundleError, match="cannot be read"):
        Bundle(path.with_name("none"))


def test_a_file_that_goes_is_a_miss(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _write(path)
    found = Bundle(path)
    path.write_bytes(path.read_bytes()[:40])
    assert found.get(KEY) is None
    path.unlink()
    assert found.get(KEY) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "make it again" in caplog.text


def test_another_format_or_index_is_named(path: Path) -> None:
    for index, text in (
        ({"format": 9}, "has format 9"),
        ({"format": 1}, "cannot be read"),
        ([], "cannot be read"),
    ):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("index.json", json.dumps(index))
        with pytest.raises(BundleError, match=text):
            Bundle(path)


def test_signatures(path: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"secret")
    _write(path)
    with pytest.raises(BundleError, match="is not signed"):
        open_bundle(path, key)
    _write(path, b"another")
    with pytest.raises(BundleError, match="signed by another key"):
        open_bundle(path, key)
    _write(path, b"secret")
    assert open_bundle(path, key).get(KEY) == b"kernel"
    with pytest.raises(OptionError, match="there is no file"):
        open_bundle(path, tmp_path / "none")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no user ids here")
def test_a_file_that_others_can_write_is_refused_unless_it_is_signed(path: Path) -> None:
    _write(path, b"secret")
    path.chmod(0o666)
    with pytest.raises(BundleError, match="can be written by everybody"):
        Bundle(path)
    assert Bundle(path, b"secret").get(KEY) == b"kernel"
    assert Bundle(path, shared=True).get(KEY) == b"kernel"


def test_other_versions_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(path, versions={"tri-core": "0.0.1", "tri-backend-of-another-machine": "9"})
    with pytest.raises(BundleError, match=r"was made by tri-core 0\.0\.1, and .* is installed"):
        open_bundle(path)
    _write(path)
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    assert "and this is 3.99" in str(Bundle(path).objection())


# --- below a store ----------------------------------------------------------------------------------------


def test_layers_are_asked_in_order_and_left_as_they_are(path: Path, tmp_path: Path) -> None:
    _write(path)
    folder = Store(tmp_path / "layer", 1 << 20)
    assert folder.put(KEY, b"of the folder")
    assert folder.put("d" * 64, b"x")
    layer = Store(tmp_path / "layer", 0, is_read_only=True)
    own = Store(tmp_path / "own", 1 << 20, layers=[Bundle(path), layer])
    assert (own.get(KEY), own.get("d" * 64), own.get("e" * 64)) == (b"kernel", b"x", None)
    assert own.put(KEY, b"own")
    assert own.get(KEY) == b"own"
    file = folder.path("d" * 64)
    file.write_bytes(b"damaged")
    assert own.get("d" * 64) is None
    assert file.exists()
    assert not layer.put(OTHER, b"y")


def test_noting_hears_reads_and_writes(tmp_path: Path) -> None:
    store = Store(tmp_path / "s", 1 << 20)
    store.put(KEY, b"1")
    with noting() as outer:
        store.get(KEY)
        with noting() as inner:
            store.put(OTHER, b"2")
        store.get("c" * 64)
    store.put("c" * 64, b"3")
    assert (outer, inner) == ({KEY: b"1", OTHER: b"2"}, {OTHER: b"2"})


def test_the_knobs_put_layers_below_the_store(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(path)
    Store(tmp_path / "layer", 1 << 20).put("d" * 64, b"x")
    monkeypatch.setenv("TRI_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("TRI_CACHE_LAYERS", os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "layer")]))
    monkeypatch.setenv("TRI_BUNDLE", str(path))
    forget_bundles()
    assert default_store().get(KEY) == b"kernel"
    assert default_store().get("d" * 64) == b"x"
    with knobs.scope(BUNDLE=None):
        assert default_store().get(KEY) is None


def test_a_bundle_of_no_use_is_one_warning(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"")
    monkeypatch.setenv("TRI_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("TRI_BUNDLE", str(path))
    forget_bundles()
    with pytest.warns(CacheWarning, match="kernels are compiled as they are without it") as caught:
        assert [default_store().get(KEY), default_store().put(KEY, b"1")] == [None, True]
    assert len(caught) == 1
    forget_bundles()
