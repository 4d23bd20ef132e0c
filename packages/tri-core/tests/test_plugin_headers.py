"""Names, versions and ranges of versions of installed distributions are those that the libraries for them say."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from packaging.specifiers import SpecifierSet

from tri_core.plugins.headers import name_of, version_of
from tri_core.plugins.preflight import _lies_within

RELEASES = st.sampled_from(
    ["0", "1", "0.0", "0.1", "1.0", "1.2", "2", "0.1.0", "0.1.3", "1.0.0", "2.1.1", "10.0"]
)


@pytest.mark.parametrize(
    "distribution", list(importlib.metadata.distributions()), ids=lambda d: str(d.metadata["Name"])
)
def test_whatever_is_installed_has_its_name_and_version(
    distribution: importlib.metadata.Distribution,
) -> None:
    assert name_of(distribution) == distribution.metadata["Name"]
    assert version_of(distribution) == distribution.version


@pytest.mark.parametrize(
    "text",
    [
        "Metadata-Version: 2.1\nName: Some.Thing\nVersion: 1.2.post3\n\nName: other\nVersion: 9\n",
        "Version: 1!2.0\r\nName: thing\r\n",
        "Metadata-Version: 2.1\nName:thing\nVersion:\t3\nKeywords: a,\n  Name: no\n",
    ],
)
def test_only_the_header_counts(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "thing-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_bytes(text.encode())
    distribution = importlib.metadata.PathDistribution(folder)
    assert (name_of(distribution), version_of(distribution)) == (
        distribution.metadata["Name"],
        distribution.version,
    )


def test_metadata_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "thing.egg-info").mkdir()
    (tmp_path / "thing.egg-info" / "PKG-INFO").write_text("Name: thing\nVersion: 4\n")
    distribution = importlib.metadata.PathDistribution(tmp_path / "thing.egg-info")
    assert (name_of(distribution), version_of(distribution)) == ("thing", "4")


@given(present=RELEASES, first=RELEASES, end=RELEASES)
def test_ranges_of_releases(present: str, first: str, end: str) -> None:
    text = f">={first},<{end}"
    assert _lies_within(present, text) == SpecifierSet(text).contains(present, prereleases=True)


@pytest.mark.parametrize(
    "text", ["", "==1.0", ">=0.1", "<2", ">=0.1,<=2", ">=0.1,!=1,<2", "~=1.0", ">=0a1,<2"]
)
def test_other_ranges_are_left_to_the_library(text: str) -> None:
    assert not _lies_within("1.0", text)


@pytest.mark.parametrize("present", ["1.0.dev0", "1.0rc1", "1.0.post1", "1!1.0", "1.0+local", "v1.0"])
def test_other_versions_are_left_to_the_library(present: str) -> None:
    assert not _lies_within(present, ">=0.1,<2")
