"""Choosing a target."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from tri_core import knobs
from tri_core.errors import PluginError, TargetError
from tri_core.notices import PluginWarning
from tri_core.plugins import Candidate
from tri_core.target import DeviceInfo, TargetKey
from tri_core.target_selection import default, for_host, resolve

Make = Callable[..., Candidate]


@pytest.fixture
def two(make_plugin: Make, activate: Callable[..., Any]) -> Any:
    """A backend ``fast`` with a device, and ``slow`` with one and a priority below zero."""
    return activate(
        make_plugin("fast", backend=True, priority=5), make_plugin("slow", backend=True, priority=-1)
    )


@pytest.mark.usefixtures("two")
class TestTwoBackends:
    @pytest.mark.parametrize(
        ("spec", "key"),
        [
            ("fast:two", TargetKey("fast", "two")),
            (" fast:two+b+a ", TargetKey("fast", "two", ("a", "b"))),
            ("fast", TargetKey("fast", "one")),
            ("slow", TargetKey("slow", "one")),
            (TargetKey("slow", "two"), TargetKey("slow", "two")),
            (DeviceInfo("slow", 0, "two"), TargetKey("slow", "two")),
        ],
    )
    def test_spec(self, spec: Any, key: TargetKey) -> None:
        target = resolve(spec)
        assert target.key == key
        assert target.device_kind == key.backend
        assert resolve(spec) is target
        assert resolve(target) is target

    def test_the_order_of_choices(self) -> None:
        device = DeviceInfo("slow", 0, "two")
        with knobs.scope(TARGET="slow:one"):
            assert str(resolve("fast:two", device=device)) == "fast:two"
            assert str(resolve(device=device)) == "slow:two"
            assert str(resolve()) == "slow:one"
        assert str(resolve()) == "fast:one"
        assert default() is resolve()

    def test_the_environment_names_the_target(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRI_TARGET", "slow:two")
        assert str(resolve()) == "slow:two"

    @pytest.mark.parametrize(
        ("spec", "message", "remedy"),
        [
            ("fats:one", "unknown backend 'fats'", "did you mean fast?"),
            ("zeta:one", "unknown backend 'zeta'", "pip install tri-backend-zeta"),
            ("zeta", "installed: fast, slow", "pip install tri-backend-zeta"),
            ("fast:nine", "unknown architecture 'nine'", "known: one, two"),
            (":one", "':one' is not a target", "backend:arch"),
            ("fast:", "'fast:' is not a target", "backend:arch"),
            ("", "'' is not a target", "backend:arch"),
            (
                DeviceInfo("zeta", 0, "z1"),
                "no backend compiles for devices of kind 'zeta'",
                "tri-backend-zeta",
            ),
        ],
    )
    def test_errors(self, spec: Any, message: str, remedy: str) -> None:
        for _ in range(2):
            with pytest.raises(TargetError) as caught:
                resolve(spec)
            assert message in caught.value.message
            assert remedy in (caught.value.remedy or "")


def test_no_device_of_a_bare_backend(make_plugin: Make, activate: Callable[..., Any]) -> None:
    activate(make_plugin("away", backend=True, live=False))
    with pytest.raises(TargetError, match="no device of backend 'away' is present") as caught:
        resolve("away")
    assert "away:one" in str(caught.value.remedy)
    assert str(resolve("away:two")) == "away:two"
    with pytest.raises(TargetError, match="no backend has a device here"):
        resolve()


def test_no_backend_at_all(activate: Callable[..., Any]) -> None:
    activate()
    with pytest.raises(TargetError, match="no backend is installed") as caught:
        resolve()
    assert "pip install tri-backend-cpu" in str(caught.value.remedy)
    with pytest.raises(TargetError, match="no backend is installed") as caught:
        resolve("zeta")
    assert "pip install tri-backend-zeta" in str(caught.value.remedy)


def test_equal_priorities_are_ambiguous(make_plugin: Make, activate: Callable[..., Any]) -> None:
    activate(make_plugin("b", backend=True), make_plugin("a", backend=True))
    with pytest.raises(TargetError, match="of equal priority serve this machine: a, b"):
        resolve()
    with knobs.scope(TARGET="b"):
        assert str(resolve()) == "b:one"


KIND = "\n@hookimpl\ndef tri_backends(): return [BackendInfo(name='{}', device_kinds=('k',), runtime='k', priority={})]\n"


def test_a_device_goes_to_the_preferred_compiler_for_its_kind(
    make_plugin: Make, activate: Callable[..., Any]
) -> None:
    activate(*(make_plugin(n, KIND.format(n, p), backend=True) for n, p in (("a", 1), ("b", 2))))
    assert str(resolve(DeviceInfo("k", 3, "two"))) == "b:two"
    with pytest.raises(TargetError, match="'k' is a kind of device") as caught:
        resolve("k:one")
    assert "a or b" in str(caught.value.remedy)


def test_a_backend_that_cannot_probe_does_not_stop_the_others(
    make_plugin: Make, activate: Callable[..., Any]
) -> None:
    bad = make_plugin("bad", "@hookimpl\ndef tri_probe(): raise OSError('driver')", backend=True, priority=9)
    activate(bad, make_plugin("good", backend=True))
    with pytest.warns(PluginWarning, match="'bad' cannot say which devices are present"):
        assert str(resolve()) == "good:one"


def test_a_backend_set_aside(make_plugin: Make, activate: Callable[..., Any]) -> None:
    activate(make_plugin("mine", "TRI_PLUGIN_API = (9, 9)"), make_plugin("mint", backend=True))
    with pytest.warns(PluginWarning), pytest.raises(PluginError, match=r"contract 9\.9"):
        resolve("mine:one")


def test_answers_are_forgotten_with_the_plugin(make_plugin: Make, activate: Callable[..., Any]) -> None:
    text = "@hookimpl\ndef tri_adapters(): raise OSError"
    manager = activate(make_plugin("a", text, backend=True), make_plugin("b", backend=True))
    assert str(resolve("a:one")) == "a:one"
    with pytest.warns(PluginWarning):
        manager.adapters()
    with pytest.raises(PluginError, match="set aside"):
        resolve("a:one")


def test_host_arrays_stay_on_the_host(make_plugin: Make, activate: Callable[..., Any]) -> None:
    activate(make_plugin("fast", backend=True, priority=5), make_plugin("cpu", backend=True, priority=-1))
    assert default().key.backend == "fast"
    assert for_host().key.backend == "cpu"
    with knobs.scope(TARGET="fast"):
        assert for_host().key.backend == "fast"


@pytest.mark.usefixtures("two")
def test_host_arrays_without_a_cpu_backend() -> None:
    assert for_host() is default()


def test_keys_of_simulated_targets() -> None:
    key = TargetKey.parse("sim:vendor:arch+b+a")
    assert key == TargetKey("vendor", "arch", ("a", "b"), simulated=True)
    assert TargetKey.parse(str(key)) == key
    assert not TargetKey.parse("simulator:arch").simulated
    moded = TargetKey.parse("sim:vendor:arch+b:up+:down-")
    assert moded == TargetKey("vendor", "arch", ("b", "down-", "up+"), simulated=True)
    assert str(moded) == "sim:vendor:arch+b:down-:up+"
    assert TargetKey.parse(str(moded)) == moded
    for text in (
        "sim",
        "sim:",
        "sim:vendor",
        "sim:vendor:",
        "vendor:arch:mode",
        "vendor:arch:+",
        "vendor:arch::",
    ):
        with pytest.raises(TargetError):
            TargetKey.parse(text)


@pytest.mark.parametrize(("old", "new"), [("targets", "target_selection"), ("extensions", "plugin_records")])
def test_former_names_of_modules_mean_the_same(old: str, new: str) -> None:
    former, module = (importlib.import_module(f"tri_core.{name}") for name in (old, new))
    assert former.__all__ == module.__all__
    assert all(getattr(former, name) is getattr(module, name) for name in module.__all__)
