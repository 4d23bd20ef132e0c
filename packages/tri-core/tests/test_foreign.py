"""Code of plugins that does its worst: the program goes on, and the plugin is named."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tri_core import foreign
from tri_core.compiler import compile as compile_kernel
from tri_core.errors import BackendError, PluginError
from tri_core.foreign import Contained, Ended, describe
from tri_core.notices import PluginWarning
from tri_core.options import CommonOptions
from tri_core.plugins import Candidate, PluginManager
from tri_core.target import TargetKey

Make = Callable[..., Candidate]
HEAD = "from tri_core.api import *\nTRI_PLUGIN_API = (1, 0)\n"

UNPRINTABLE = """
class Unprintable(Exception):
    def __str__(self): raise ValueError('no text')
    __repr__ = __str__
class Odd(BaseException):
    def __str__(self): return 5
"""
#: what a plugin does, and what is said of it
DEEDS = {
    "sys.exit": ("import sys; sys.exit('enough')", "SystemExit: enough (it tried to end the program)"),
    "SystemExit": ("raise SystemExit", "SystemExit:  (it tried to end the program)"),
    "GeneratorExit": ("raise GeneratorExit", "GeneratorExit"),
    "CancelledError": ("import asyncio; raise asyncio.CancelledError('task')", "CancelledError: task"),
    "unprintable": ("raise Unprintable", "Unprintable: <its text cannot be made: __str__ raised ValueError>"),
    "odd": ("raise Odd", "Odd: <its text cannot be made: __str__ raised TypeError>"),
}
DECLARATIVE = ["tri_backends", "tri_knobs", "tri_language", "tri_adapters", "tri_observers"]


def doing(deed: str, hook: str = "") -> str:
    """The source of a plugin that does ``deed`` at import, or in ``hook``."""
    return UNPRINTABLE + (f"@hookimpl\ndef {hook}():\n    {deed}" if hook else deed)


@pytest.mark.parametrize("deed", DEEDS)
def test_at_import(site: Any, make_plugin: Make, deed: str) -> None:
    site.install("bad", HEAD + doing(DEEDS[deed][0]))
    from tri_core.plugins.discovery import candidates

    bad = next(c for c in candidates() if c.name == "bad")
    manager = PluginManager([bad, make_plugin("good", backend=True)])
    with pytest.warns(PluginWarning) as caught:
        assert list(manager.backends()) == ["good"]
    assert f"bad (tri-bad 1.0) [import]: {DEEDS[deed][1]}" in str(caught[0].message)
    (record,) = manager.quarantine()
    assert "Traceback" in record.traceback
    assert [r.state for r in manager.plugins()] == ["quarantined", "active"]


@pytest.mark.parametrize("hook", DECLARATIVE)
@pytest.mark.parametrize("deed", DEEDS)
def test_in_a_declarative_hook(make_plugin: Make, deed: str, hook: str) -> None:
    bad = make_plugin("bad", doing(DEEDS[deed][0], hook), dist="tri-bad")
    manager = PluginManager([bad, make_plugin("good", backend=True)])
    with pytest.warns(PluginWarning) as caught:
        manager.adapters(), manager.languages(), manager.observers()
    assert f"bad (tri-bad 1.2) [hook]: {DEEDS[deed][1]}" in str(caught[0].message)
    assert list(manager.backends()) == ["good"]


@pytest.mark.parametrize("deed", DEEDS)
def test_in_a_code_hook(make_plugin: Make, deed: str) -> None:
    bad = make_plugin("bad", doing(DEEDS[deed][0], "tri_modify_pipeline"), dist="tri-bad")
    manager = PluginManager([bad, make_plugin("good", backend=True)])
    with pytest.raises(PluginError) as caught:
        manager.compose(manager.target(TargetKey("good", "one")), CommonOptions())
    assert f"plugin bad (tri-bad 1.2) failed in tri_modify_pipeline: {DEEDS[deed][1]}" in str(caught.value)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("hook", ["tri_target", "tri_probe"])
def test_in_an_owner_hook(make_plugin: Make, deed: str, hook: str) -> None:
    bad = make_plugin("bad", doing(DEEDS[deed][0], hook), backend=True, dist="tri-bad")
    manager = PluginManager([bad])
    with pytest.raises(BackendError) as caught:
        manager.target(TargetKey("bad", "one")) if hook == "tri_target" else manager.probe("bad")
    assert f"plugin bad (tri-bad 1.2) failed in {hook}: {DEEDS[deed][1]}" in str(caught.value)


@pytest.mark.parametrize("deed", DEEDS)
def test_in_a_stage_and_in_a_pass_of_another_plugin(
    make_plugin: Make, activate: Any, source: Any, deed: str
) -> None:
    text = UNPRINTABLE + f"def image(artifact, context):\n    {DEEDS[deed][0]}"
    activate(make_plugin("toy", text, backend=True))
    with pytest.raises(BackendError) as caught:
        compile_kernel(source(), "toy:one")
    assert DEEDS[deed][1] in str(caught.value)
    assert "stage 'image'" in str(caught.value)
    passes = f"""
class Bad(Pass):
    name = "bad-pass"
    def apply(self, module, context):
        {DEEDS[deed][0]}
@hookimpl
def tri_modify_pipeline(pipeline): pipeline["ttir"].passes.insert("ttir.end", Bad())
"""
    activate(make_plugin("toy", backend=True), make_plugin("bad", UNPRINTABLE + passes, dist="tri-bad"))
    with pytest.raises(PluginError) as refused:
        compile_kernel(source(), "toy:one")
    assert f"pass 'bad-pass' of plugin bad (tri-bad 1.2) failed: {DEEDS[deed][1]}" in str(refused.value)


@pytest.mark.parametrize("deed", DEEDS)
def test_in_an_observer(make_plugin: Make, activate: Any, source: Any, deed: str) -> None:
    text = f"""
def listen(facts):
    {DEEDS[deed][0]}
@hookimpl
def tri_observers(): return [Observer(name="ears", compile_start=listen)]
"""
    activate(make_plugin("toy", backend=True), make_plugin("bad", UNPRINTABLE + text))
    with pytest.warns(PluginWarning, match="observer 'ears' is dropped") as caught:
        compile_kernel(source(), "toy:one")
    assert DEEDS[deed][1] in str(caught[0].message)
    compile_kernel(source(name="again"), "toy:one")


def test_ctrl_c_in_an_import_passes_says_where_and_leaves_no_half(make_plugin: Make) -> None:
    tries = []
    slow = make_plugin("slow", backend=True)

    def load() -> object:
        tries.append(1)
        if len(tries) == 1:
            raise KeyboardInterrupt
        return slow.load()

    # plugins load in the order of names, the last first: "zeta" is registered when "slow" is interrupted
    zeta = make_plugin("zeta", backend=True)
    manager = PluginManager([Candidate(name="slow", module="slow", load=load), zeta])
    with pytest.raises(KeyboardInterrupt) as caught:
        manager.backends()
    assert "plugin slow is being imported" in caught.value.__notes__[0]
    assert sorted(manager.backends()) == ["slow", "zeta"]
    assert manager.quarantine() == []


def test_contained_lets_errors_and_ctrl_c_through() -> None:
    for kind in (ValueError, KeyboardInterrupt):
        with pytest.raises(kind), Contained():
            raise kind
    with pytest.raises(Ended) as caught, Contained():
        raise SystemExit(3)
    assert describe(caught.value) == "SystemExit: 3 (it tried to end the program)"


# --- slow ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hook", ["", "tri_adapters"])
def test_a_plugin_that_sleeps_is_named_while_it_does(
    make_plugin: Make, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    import threading

    monkeypatch.setattr(foreign, "PATIENCE", 0.02)
    named = threading.Event()
    reported: list[str] = []

    def warn(message: str, category: type[Warning]) -> None:
        reported.append(message)
        named.set()

    monkeypatch.setattr(foreign, "warn", warn)
    slow = make_plugin("slow", "@hookimpl\ndef tri_adapters():\n    WAIT()\n    return []", dist="tri-slow")
    module: Any = slow.load()
    module.WAIT = (lambda: named.wait(20)) if hook else (lambda: None)

    def load() -> object:
        if not hook:
            assert named.wait(20)
        return module

    candidate = Candidate(name="slow", module="slow", load=load, dist="tri-slow", version="1.2")
    manager = PluginManager([candidate, make_plugin("good", backend=True)])
    manager.adapters()
    what = f"in {hook}" if hook else "being imported"
    assert reported[0].startswith(f"plugin slow (tri-slow 1.2) is {what} since ")
    assert "TRI_DISABLE_PLUGINS" in reported[0]
    assert manager.quarantine() == []  # slow, and there


def test_a_sleeping_import_is_named_in_a_program() -> None:
    code = """
        import threading, time
        from tri_core import foreign
        from tri_core.plugins import Candidate, PluginManager
        foreign.PATIENCE = 0.05
        PluginManager([Candidate(name="sleepy", module="m", load=lambda: time.sleep(0.5))]).backends()
        print(threading.active_count())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "plugin sleepy is being imported since 0 s" in done.stderr
    assert done.stdout == "1\n"  # nobody goes on looking


# --- metadata that cannot be read ----------------------------------------------------------------------

POINTS = "[tri]\nbad = fake_bad.plugin\n"
UNREADABLE = {
    "latin-1": ("entry_points.txt", b"# caf\xe9\n" + POINTS.encode(), "UnicodeDecodeError"),
    "utf-16": ("entry_points.txt", POINTS.encode("utf-16"), "UnicodeDecodeError"),
    "byte-order mark": ("entry_points.txt", POINTS.encode("utf-8-sig"), "byte-order mark"),
    "no equals": ("entry_points.txt", b"[tri]\nbad\n", "TypeError"),
    "metadata": ("METADATA", b"Name: tri-\xff\n", "UnicodeDecodeError"),
    "no metadata": ("METADATA", None, ""),
    "no version": ("METADATA", b"Metadata-Version: 2.1\nName: tri-bad\n", "says no version"),
    "no name": ("METADATA", b"Metadata-Version: 2.1\nVersion: 1.0\n", ""),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_metadata_that_cannot_be_read_sets_its_distribution_aside(site: Any, case: str) -> None:
    site.install("bad", HEAD)
    site.install("good", HEAD)
    name, content, reason = UNREADABLE[case]
    file = site.root / "tri_bad-1.0.dist-info" / name
    file.unlink() if content is None else file.write_bytes(content)
    manager = PluginManager()
    manager.plugins()
    (record,) = [r for r in manager.quarantine() if r.dist == "tri-bad"]
    assert "tri_bad-1.0.dist-info" in record.reason
    assert reason in record.reason
    assert "install tri-bad again" in record.reason
    states = {r.name: r.state for r in manager.plugins()}
    assert (states["good"], states["tri-bad"]) == ("active", "quarantined")


@pytest.mark.parametrize("wanted", ["<0.4,>=0.3", ">=99,<100", "~=99.0", "==99.1", "(>=99)"])
def test_a_plugin_for_another_version_of_core_is_set_aside(site: Any, wanted: str) -> None:
    site.install("other", HEAD, requires=(f"tri-core{wanted}", "numpy>=1"))
    site.install("right", HEAD, requires=("tri-core<99,>=0.1", 'tri-core>=99; extra == "all"', "tri-core"))
    manager = PluginManager()
    states = {r.name: r.state for r in manager.plugins()}
    assert (states["other"], states["right"]) == ("quarantined", "active")
    (record,) = [r for r in manager.quarantine() if r.dist == "tri-other"]
    assert record.phase == "requires"
    assert "it needs tri-core" in record.reason
    assert "is installed" in record.reason
    assert "fake_other.plugin" not in sys.modules  # it may not even import


def test_a_stranger_with_a_file_in_another_encoding_is_left_alone(site: Any) -> None:
    site.install("stranger", HEAD)
    (site.root / "tri_stranger-1.0.dist-info" / "entry_points.txt").write_bytes(b"[other]\n# \xe9\n")
    manager = PluginManager()
    assert "tri-stranger" not in {r.dist for r in manager.plugins()}
    assert not [r for r in manager.quarantine() if r.dist == "tri-stranger"]


def test_a_busy_machine_is_not_the_plugins_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time in want of a processor does not count; what is told says how much of it was."""
    monkeypatch.setattr(foreign, "PATIENCE", 0.2)
    started = foreign.time.monotonic()
    monkeypatch.setattr(foreign, "_queued", lambda thread: foreign.time.monotonic() - started)
    watch = foreign.Watch()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with watch.running(), watch.at("slow", "compiling"):
            foreign.time.sleep(0.8)
    assert not seen
    monkeypatch.setattr(foreign, "_queued", lambda thread: 0.0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with (watch := foreign.Watch()).running(), watch.at("slow", "compiling"):
            foreign.time.sleep(0.5)
    assert "s of processor time, 0.0 s in want of a processor" in str(seen[0].message)
