"""Of several ptxas the one that knows the architecture, with the fewest faults, newest, that suits the driver; an error where none does."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import tri
import tri.language as tl
from tri_backend_nvidia import tools
from tri_backend_nvidia.architectures import ARCHITECTURES
from tri_backend_nvidia.ptxas import FAULTS, PTXAS, architectures_of_ptxas, identity, location, ptxas
from tri_backend_nvidia.ptxas.location import Installed, preferred
from tri_backend_nvidia.ptxas.version import newest_ptx
from tri_core.api import ToolchainError

#: what versions know, by their own ``--help``
HOPPER = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a")
OLD = ("sm_50", "sm_60", "sm_70", *HOPPER)
BLACKWELL = tuple(f"sm_{number}{suffix}" for number in (100, 103, 120, 121) for suffix in ("", "a", "f"))
THOR = ("sm_110", "sm_110a", "sm_110f")
KNOWN: dict[tuple[int, ...], tuple[str, ...]] = {
    (12, 0, 140): OLD,
    (12, 4, 131): OLD,
    (12, 8, 93): (*OLD, "sm_100", "sm_100a", "sm_120", "sm_120a"),
    (12, 9, 86): (*OLD, *BLACKWELL),
    (13, 0, 88): (*HOPPER, *BLACKWELL, *THOR),
    (13, 4, 92): (*HOPPER, *BLACKWELL, *THOR),
    (13, 5, 37): (*HOPPER, *BLACKWELL, *THOR),
}


def installed(*versions: tuple[int, ...]) -> list[Installed]:
    return [
        Installed(Path(f"/{number}/ptxas"), version, frozenset(KNOWN[version]))
        for number, version in enumerate(versions)
    ]


@pytest.mark.parametrize(
    ("architecture", "driver", "versions", "best"),
    [
        # the fewest faults, then the newest
        ("sm_90a", None, [(12, 9, 86), (13, 0, 88), (13, 4, 92)], (13, 4, 92)),
        ("sm_90a", 13, [(13, 5, 37), (13, 4, 92)], (13, 5, 37)),
        # the driver takes older cubins
        ("sm_90a", 12, [(13, 0, 88), (12, 9, 86)], (12, 9, 86)),
        ("sm_90a", 12, [(13, 4, 92), (12, 9, 86)], (12, 9, 86)),
        ("sm_90a", 14, [(12, 9, 86), (13, 5, 37)], (13, 5, 37)),
        # dropped, and not known yet
        ("sm_70", None, [(12, 9, 86), (13, 5, 37)], (12, 9, 86)),
        ("sm_110a", None, [(12, 9, 86), (13, 0, 88)], (13, 0, 88)),
        ("sm_103a", 12, [(12, 8, 93), (12, 9, 86)], (12, 9, 86)),
        ("sm_120f", None, [(12, 8, 93), (12, 9, 86)], (12, 9, 86)),
        # the driver's wish does not make a chip known
        ("sm_110", 12, [(12, 9, 86), (13, 4, 92)], (13, 4, 92)),
        # 12.0 lacks faults of 12.9, but does not read PTX 8.7
        ("sm_90a", 12, [(12, 0, 140), (12, 4, 131), (12, 9, 86)], (12, 9, 86)),
        # faults that another architecture has do not count
        ("sm_80", None, [(13, 0, 88), (13, 4, 92), (12, 9, 86)], (13, 4, 92)),
    ],
)
def test_the_best_of_several(
    architecture: str, driver: int | None, versions: list[tuple[int, ...]], best: tuple[int, ...]
) -> None:
    for given in (versions, versions[::-1]):
        assert preferred(installed(*given), driver, architecture).version == best


def test_faults_count_for_the_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(fault for fault in FAULTS if fault.capability == 90 and fault.until == (13, 4))
    assert few
    monkeypatch.setattr(importlib.import_module("tri_backend_nvidia.ptxas.faults"), "FAULTS", few)
    beside = [
        Installed(Path(f"/{number}"), version)
        for number, version in enumerate([(13, 3, 73), (12, 9, 86), (12, 8)])
    ]
    assert preferred([*beside, Installed(Path("/n"), (13, 4))], None, "sm_90a").version == (13, 4)
    assert preferred([*beside, Installed(Path("/n"), (12, 10))], None, "sm_80").version == (13, 3, 73)


def test_one_that_says_nothing_is_the_last_choice() -> None:
    silent = Installed(Path("/silent/ptxas"), None)
    assert preferred([silent, *installed((12, 9, 86))], 13, "sm_90a").version == (12, 9, 86)
    assert preferred([silent, *installed((12, 9, 86))], 13, "sm_110").version is None
    assert preferred(installed((12, 9, 86), (13, 5, 37))).version == (13, 5, 37)


@pytest.mark.parametrize(
    ("architecture", "versions", "remedy"),
    [
        ("sm_110", [(12, 8, 93), (12, 9, 86)], "pip install -U nvidia-cuda-nvcc:"),
        ("sm_70", [(13, 0, 88), (13, 5, 37)], "pip install nvidia-cuda-nvcc-cu12:"),
        ("sm_100a", [(12, 4, 131)], "pip install -U nvidia-cuda-nvcc:"),
    ],
)
def test_none_knows_it(architecture: str, versions: list[tuple[int, ...]], remedy: str) -> None:
    with pytest.raises(ToolchainError, match=f"know.* {architecture}.*sm_75, sm_80") as caught:
        preferred(installed(*versions), None, architecture)
    assert caught.value.remedy is not None
    assert caught.value.remedy.startswith(remedy)
    assert all(".".join(map(str, version)) in caught.value.message for version in versions)


def test_releases_and_their_ptx() -> None:
    assert newest_ptx((12, 8, 93)) == 87
    assert newest_ptx((13, 0, 88)) == 90
    assert newest_ptx((14, 2, 1)) == newest_ptx((13, 5, 37)) == 95
    assert newest_ptx((11, 8, 89)) is None
    assert newest_ptx(None) is None
    assert all(row.ptx <= 90 for row in ARCHITECTURES.values())


def test_what_is_installed_says_what_it_knows() -> None:
    assert {"sm_90a", "sm_120f"} <= architectures_of_ptxas(ptxas())
    assert architectures_of_ptxas(Path("/nowhere/ptxas")) == frozenset()


# --- files that answer ------------------------------------------------------------------------------------


Fakes = dict[tuple[int, ...], Path]


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fakes]:
    """A ptxas for 12.9 and one for 13.5, which say what they know, on a machine without a driver; the real one assembles for both."""
    real = ptxas()
    made: Fakes = {}
    for version in ((12, 9, 86), (13, 5, 37)):
        names = ",".join(f"'{name}'" for name in KNOWN[version])
        made[version] = place = tmp_path / f"ptxas-{version[0]}"
        place.write_text(
            f'#!/bin/sh\ncase "$1" in\n--version) echo "release, V{".".join(map(str, version))}";;\n'
            f'--help) cat <<END\n{names}.\nEND\n;;\n*) exec {real} "$@";;\nesac\n'
        )
        place.chmod(0o755)
    monkeypatch.setattr(location, "find_all", lambda tool: tuple(made.values()))
    monkeypatch.setattr(location, "_driver", lambda: None)
    ptxas.cache_clear()
    yield made
    ptxas.cache_clear()


def test_the_files_are_asked(fakes: Fakes) -> None:
    old, new = fakes.values()
    assert [ptxas(None, name) for name in ("sm_70", "sm_110", "sm_90a", None)] == [old, new, new, new]
    assert ptxas(str(old), "sm_110") == old  # who names one gets it
    with pytest.raises(ToolchainError, match=r"no ptxas knows sm_72: 12\.9\.86"):
        ptxas(None, "sm_72")


def test_only_their_versions_are_asked_where_releases_tell(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[Path]()

    def architectures(place: Path) -> frozenset[str]:
        asked.append(place)
        return architectures_of_ptxas(place)

    monkeypatch.setattr(location, "architectures_of_ptxas", architectures)
    for name in ("sm_75", "sm_90a", "sm_120f"):
        ptxas(None, name)
    assert asked == []
    ptxas(None, "sm_70")
    assert asked == list(fakes.values())
    # a release that is newer than what is written here
    fakes[13, 5, 37].write_text("#!/bin/sh\necho V14.0.1\n")
    ptxas.cache_clear()
    assert ptxas(None, "sm_90a") == fakes[13, 5, 37]
    assert asked == 2 * list(fakes.values())


@pytest.mark.parametrize("version", [(12, 8, 93), (12, 9, 86), (13, 0, 88), (13, 5, 37)])
def test_releases_tell_what_their_ptxas_knows(version: tuple[int, ...]) -> None:
    silent = Installed(Path("/silent/ptxas"), version)
    assert {name for name in ARCHITECTURES if silent.knows(name)} == ARCHITECTURES.keys() & KNOWN[version]
    assert not Installed(Path("/silent/ptxas"), (12, 12)).is_of_known_release()


def test_cache_keys_follow(fakes: Fakes) -> None:
    old, new = fakes.values()
    assert identity("sm_70")["ptxas"] == tools.version_of(PTXAS, old)
    assert identity("sm_70")["ptx rewritings"].startswith("12.9.86: ")
    assert identity("sm_90a")["ptxas"] == tools.version_of(PTXAS, new)
    assert identity("sm_90a")["ptx rewritings"].startswith("13.5.37: ")
    assert identity("sm_72") == {"ptxas": "none"}


def test_a_driver_that_takes_none(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(location, "_driver", lambda: 12)
    with caplog.at_level(logging.WARNING):
        assert ptxas(None, "sm_90a") == fakes[12, 9, 86]
        assert not caplog.records
        assert ptxas(None, "sm_110") == fakes[13, 5, 37]
    assert "the driver here knows CUDA 12" in caplog.text
    assert "pip install nvidia-cuda-nvcc-cu12" in caplog.text


@tri.jit
def one(out):
    tl.store(out, 1)


def test_a_compile_for_what_none_knows(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "find_all", lambda tool: (fakes[12, 9, 86], fakes[12, 9, 86]))
    source = tri.ASTSource(one, {"out": "*i32"}, {}, {})
    with pytest.raises(ToolchainError, match="no ptxas knows sm_110a") as caught:
        tri.compile(source, target="nvidia:sm_110a")
    assert "-U nvidia-cuda-nvcc" in str(caught.value.remedy)
    assert "stage 'cubin' of kernel 'one' for nvidia:sm_110a" in str(caught.value)
    made = tri.compile(source, target="nvidia:sm_90a")
    assert made.asm["cubin"][:4] == b"\x7fELF"
