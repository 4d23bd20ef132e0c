"""Options that other backends tune by are accepted to no effect; misspelt ones are not."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tri_core import knobs, target_options
from tri_core.api import CommonOptions, OptionError
from tri_core.compiler import compile as compile_kernel
from tri_core.plugin_records import BackendInfo
from tri_core.target_options import architecture_of, ignored_options, parse_options, target_by_options
from tri_core.target_selection import resolve

TUNED = """
@hookimpl
def tri_backends():
    return [BackendInfo(name="tuned", device_kinds=("tuned",), runtime="tuned", tuning_options=frozenset({"gears"}))]
"""


@pytest.fixture
def both(make_plugin: Any, activate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend without options of its own beside one that has ``gears``."""
    monkeypatch.setattr(target_options, "_noted", set())
    activate(make_plugin("toy", backend=True), make_plugin("tuned", TUNED, backend=True))


@pytest.mark.usefixtures("both")
def test_what_others_tune_by_is_left_out_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    target = resolve("toy:one")
    assert "gears" in ignored_options(target)
    with caplog.at_level(logging.WARNING):
        assert parse_options(target, {"gears": 3, "num_warps": 2}) == CommonOptions(num_warps=2)
        parse_options(target, {"gears": 4})
    assert [record.getMessage() for record in caplog.records] == [
        "option gears has no effect on toy:one: other targets have it"
    ]


@pytest.mark.usefixtures("both")
def test_it_is_the_same_kernel(source: Any) -> None:
    given = source()
    made = compile_kernel(given, "toy:one", {"gears": 3})
    assert compile_kernel(given, "toy:one") is made
    assert given.builds == 1


@pytest.mark.usefixtures("both")
def test_misspelt_ones_are_refused_with_the_near_one() -> None:
    with pytest.raises(OptionError, match="unknown option 'gear'") as caught:
        parse_options(resolve("toy:one"), {"gear": 3})
    assert caught.value.remedy == "did you mean gears?"


def test_without_that_backend_they_are_unknown(toy: Any) -> None:
    with pytest.raises(OptionError, match="unknown option 'gears'"):
        parse_options(resolve("toy:one"), {"gears": 3})


#: options of Triton's that no target of tri has
FOREIGN = {
    "enable_reflect_ftz": True,
    "allow_flush_denorm": True,
    "supported_fp8_dtypes": ("fp8e5",),
}


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("name", FOREIGN)
def test_options_of_triton_are_named_once_as_without_effect(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    target = resolve("toy:one")
    with caplog.at_level(logging.WARNING):
        assert parse_options(target, {name: None}) == CommonOptions()
        assert not caplog.records, "it asks for nothing"
        for _ in range(2):
            assert parse_options(target, {name: FOREIGN[name], "num_warps": 2}) == CommonOptions(num_warps=2)
    assert [record.getMessage() for record in caplog.records] == [
        f"option {name} has no effect on toy:one: no target has it"
    ]


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    ("given", "fused"),
    [
        ({"default_fp_fusion": False}, False),
        ({"default_fp_fusion": True}, True),
        ({"default_fp_fusion": False, "enable_fp_fusion": True}, True),
    ],
)
def test_the_default_of_fusion_holds_where_nothing_else_is_said(
    given: dict[str, bool], fused: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert parse_options(resolve("toy:one"), given).enable_fp_fusion is fused
    assert not caplog.records


SEVERAL = BackendInfo(
    name="x", device_kinds=(), runtime="", architectures=("sm_80", "sm_90", "sm_90a", "gfx942", "gfx90a")
)


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("sm_80", "sm_80"),
        ("sm80", "sm_80"),
        (80, "sm_80"),
        ("80", "sm_80"),
        ("sm90", "sm_90a"),
        (90, "sm_90a"),
        ("sm_90", "sm_90"),
        ("gfx942", "gfx942"),
        ("sm70", None),
        ("gfx80", None),
        ("gfx1100", None),
        ("any", None),
    ],
)
def test_architectures_by_number(named: object, meant: str | None) -> None:
    assert architecture_of(SEVERAL, named) == meant


NUMBERED = """
@hookimpl
def tri_backends():
    return [BackendInfo(name="numbered", device_kinds=("numbered",), runtime="numbered", architectures=("one", "two"))]
"""


@pytest.mark.parametrize("option", ["arch", "override_arch"])
def test_an_architecture_is_an_option(
    option: str, make_plugin: Any, activate: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(target_options, "_noted", set())
    activate(make_plugin("numbered", NUMBERED, backend=True))
    target = resolve("numbered:one")
    with caplog.at_level(logging.WARNING):
        assert target_by_options(target, {option: "two"}).key.arch == "two"
        for same in ("one", None):
            assert target_by_options(target, {option: same}) is target
        assert parse_options(target, {option: "one"}) == CommonOptions()
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        assert target_by_options(target, {option: "gfx942"}) is target
        parse_options(target, {option: "gfx942"})
    assert f"option {option} has no effect on numbered:one" in caplog.text


def test_a_knob_names_the_architecture(make_plugin: Any, activate: Any, source: Any) -> None:
    activate(make_plugin("numbered", NUMBERED, backend=True))
    given = source()
    with knobs.scope(ARCH="two"):
        for options in (None, {}, {"num_warps": 2}):
            assert compile_kernel(given, "numbered:one", options).metadata.target.arch == "two"
        assert compile_kernel(given, "numbered:one", {"arch": "one"}).metadata.target.arch == "one"
    with knobs.scope(ARCH="gfx942"):
        assert compile_kernel(given, "numbered:one").metadata.target.arch == "one"
    assert compile_kernel(given, "numbered:one").metadata.target.arch == "one"
