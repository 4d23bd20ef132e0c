"""Knobs: the environment, read in one place."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tri_core import knobs
from tri_core.errors import OptionError
from tri_core.knobs import Knob, KnobGroup

GROUP = KnobGroup(
    prefix="TESTED",
    knobs=(
        Knob(name="TESTED_LEVEL", default=2, parse=int, affects_codegen=True, help="write a number"),
        Knob(name="TESTED_NAME", default="x"),
    ),
)


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    knobs.register(GROUP)
    yield
    knobs.register(KnobGroup(prefix="TESTED"))


def test_a_knob_is_override_then_environment_then_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert knobs.get("TESTED_LEVEL") == 2
    monkeypatch.setenv("TRI_TESTED_LEVEL", "5")
    assert knobs.get("TESTED_LEVEL") == 5
    with knobs.scope(TESTED_LEVEL=7):
        with knobs.scope(TESTED_NAME="y"):
            assert (knobs.get("TESTED_LEVEL"), knobs.get("TESTED_NAME")) == (7, "y")
        assert knobs.get("TESTED_NAME") == "x"
    assert knobs.get("TESTED_LEVEL") == 5


def test_unreadable_values_say_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRI_TESTED_LEVEL", "many")
    with pytest.raises(OptionError, match="TRI_TESTED_LEVEL='many' cannot be read") as caught:
        knobs.get("TESTED_LEVEL")
    assert caught.value.remedy == "write a number"


def test_unknown_knobs_give_near_names() -> None:
    with pytest.raises(OptionError, match="unknown knob 'CACHE_DIRR'") as caught:
        knobs.get("CACHE_DIRR")
    assert "CACHE_DIR" in str(caught.value.remedy)
    with pytest.raises(OptionError, match="unknown knob"), knobs.scope(NONE_SUCH=1):
        pass


def test_only_what_affects_code_and_is_set_is_in_the_snapshot() -> None:
    assert "TESTED_LEVEL" not in knobs.codegen_snapshot()
    with knobs.scope(TESTED_LEVEL=3, TESTED_NAME="y"):
        assert knobs.codegen_snapshot() == {"TESTED_LEVEL": 3}
        assert knobs.plugin_snapshot() == {"TESTED_LEVEL": 3, "TESTED_NAME": "y"}


@pytest.mark.parametrize(
    "group",
    [
        KnobGroup(prefix="OTHER", knobs=(Knob(name="THING"),)),
        KnobGroup(prefix="", knobs=(Knob(name="THING"),)),
        KnobGroup(prefix="CACHE", knobs=(Knob(name="CACHE_DIR"),)),
        KnobGroup(prefix="TESTED_LEVEL", knobs=(Knob(name="TESTED_LEVEL"),)),
    ],
)
def test_names_belong_to_one_group(group: KnobGroup) -> None:
    before = knobs.known()
    with pytest.raises(OptionError):
        knobs.register(group)
    assert knobs.known() == before


def test_a_group_registered_again_replaces_itself() -> None:
    knobs.register(KnobGroup(prefix="TESTED", knobs=(Knob(name="TESTED_NEW", default=1),)))
    assert knobs.get("TESTED_NEW") == 1
    assert "TESTED_LEVEL" not in knobs.known()


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("", False)]
)
def test_switches(text: str, value: bool) -> None:
    assert knobs.parse_bool(text) is value


def test_switches_are_not_guessed() -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        knobs.parse_bool("perhaps")


@pytest.mark.parametrize(("text", "size"), [("10", 10), ("2K", 2048), ("1.5mb", 3 << 19), (" 1 G ", 1 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert knobs.parse_size(text) == size


@pytest.mark.parametrize("text", ["", " "])
def test_a_variable_set_to_nothing_is_not_set(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, knob in knobs.known().items():
        monkeypatch.setenv(knob.variable, text)
        assert contextvars.Context().run(knobs.get, name) == knob.default  # outside of the tests' scope


@pytest.mark.parametrize("text", ["K", "much", "-1", "nan", "inf"])
def test_sizes_that_are_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRI_CACHE_SIZE", text)
    with pytest.raises(OptionError, match="TRI_CACHE_SIZE"):
        knobs.get("CACHE_SIZE")


def test_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with knobs.scope():
        monkeypatch.setenv("TRI_DUMP_DIR", str(tmp_path))
        assert knobs.get("DUMP_DIR") == tmp_path


def test_threads_register_at_once() -> None:
    """None is lost, and none is stopped by what another adds."""
    failures: list[BaseException] = []
    names = [[f"STRESS{i}N{n}" for n in range(150)] for i in range(4)]

    def work(own: list[str]) -> None:
        try:
            for name in own:
                knobs.register(KnobGroup(prefix=name, knobs=(Knob(name=f"{name}_A"),)))
        except BaseException as error:
            failures.append(error)

    before = sys.getswitchinterval(), dict(knobs._groups)
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(own,)) for own in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert {f"{name}_A" for own in names for name in own} <= set(knobs.known())
    finally:
        sys.setswitchinterval(before[0])
        knobs._groups.clear()
        knobs._groups.update(before[1])
        knobs.register(KnobGroup(prefix="STRESS"))
        knobs._groups.pop("STRESS")


@pytest.mark.parametrize("folder", ["/dev", "/", "/proc/", "/sys/../dev", "~no_such_user_at_all/x"])
def test_the_systems_folders_hold_no_cache(folder: str) -> None:
    with pytest.raises(ValueError, match=r"system|home") as refused:
        knobs.parse_folder(folder)
    assert len(str(refused.value)) < 200


def test_a_folder_may_be_below_the_users_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert knobs.parse_folder("~/x") == tmp_path / "x"


def test_what_is_made_of_knobs_is_made_while_they_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE_SIZE", "CACHE_SHARED"):
        monkeypatch.delenv(f"TRI_{name}", raising=False)
    made: list[tuple[int, bool]] = []

    def make() -> tuple[int, bool]:
        made.append((knobs.get("CACHE_SIZE"), knobs.get("CACHE_SHARED")))
        return made[-1]

    ask = knobs.Made(make, "CACHE_SIZE", "CACHE_SHARED")
    assert [ask(), ask()] == [(2 << 30, False)] * 2
    assert len(made) == 1
    monkeypatch.setenv("TRI_CACHE_SIZE", "17")
    assert [ask(), ask()] == [(17, False)] * 2
    with knobs.scope(CACHE_SHARED=True):
        assert ask() == (17, True)
    assert ask() == (17, False)
    knobs.alias("CACHE_SHARED", lambda text: True)
    try:
        assert ask() == (17, True)
    finally:
        knobs.alias("CACHE_SHARED", None)
    monkeypatch.delenv("TRI_CACHE_SIZE")
    assert ask() == (2 << 30, False)


@pytest.mark.parametrize("snapshot", [knobs.codegen_snapshot, knobs.plugin_snapshot])
def test_a_snapshot_sees_each_way_to_set_a_knob(
    snapshot: Callable[[], dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRI_LINE_INFO", raising=False)
    before = snapshot()
    assert "LINE_INFO" not in before
    with knobs.scope(LINE_INFO=True):
        assert snapshot()["LINE_INFO"] is True
    knobs.alias("LINE_INFO", lambda text: True)
    try:
        assert snapshot()["LINE_INFO"] is True
    finally:
        knobs.alias("LINE_INFO", None)
    monkeypatch.setenv("TRI_LINE_INFO", "1")
    assert snapshot()["LINE_INFO"] is True
    monkeypatch.delenv("TRI_LINE_INFO")
    assert snapshot() == before
