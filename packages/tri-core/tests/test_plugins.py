"""The plugin manager: discovery, checks, quarantine, isolation, ownership."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tri_core import knobs
from tri_core.errors import PluginError
from tri_core.notices import PluginWarning
from tri_core.plugins import Candidate, PluginManager
from tri_core.target import TargetKey

Make = Callable[..., Candidate]
HEAD = "from tri_core.api import *\nTRI_PLUGIN_API = (1, 0)\n"


def loaded(candidate: Candidate) -> Any:
    """The module of a candidate."""
    return candidate.load()


def quarantined(manager: PluginManager) -> dict[str, tuple[str, str]]:
    return {r.plugin: (r.phase, r.reason) for r in manager.quarantine()}


# --- discovery ----------------------------------------------------------------------------------------


def test_entry_points_are_found_and_named(site: Any) -> None:
    site.install("zeta", HEAD, version="3.1")
    record = next(r for r in PluginManager().plugins() if r.name == "zeta")
    assert (record.dist, record.version, record.module) == ("tri-zeta", "3.1", "fake_zeta.plugin")
    assert (record.state, record.api, record.hooks) == ("active", (1, 0), ())


def test_of_a_distribution_found_twice_the_first_on_the_path_counts(site: Any, tmp_path: Any) -> None:
    site.install("zeta", HEAD, version="3.1")
    hidden = type(site)(tmp_path / "hidden")
    hidden.root.mkdir()
    hidden.install("zeta", "1 / 0", version="2.0")
    sys.path.append(str(hidden.root))
    try:
        found = [(r.version, r.state) for r in PluginManager().plugins() if r.name == "zeta"]
    finally:
        sys.path.remove(str(hidden.root))
    assert found == [("3.1", "active")]


@pytest.mark.parametrize("name", ["zeta", "tri-zeta", "Tri_Zeta"])
def test_disabled_plugins_are_not_imported(site: Any, name: str) -> None:
    site.install("zeta", "1 / 0")
    with knobs.scope(DISABLE_PLUGINS=f"other, {name}"):
        manager = PluginManager()
        assert [r.state for r in manager.plugins() if r.name == "zeta"] == ["disabled"]
    assert "fake_zeta.plugin" not in sys.modules


def test_only_selected_plugins_load(make_plugin: Make) -> None:
    with knobs.scope(PLUGINS="b"):
        manager = PluginManager([make_plugin("a", backend=True), make_plugin("b", backend=True)])
        assert list(manager.backends()) == ["b"]
        assert [r.state for r in manager.plugins()] == ["disabled", "active"]


def test_nothing_is_loaded_before_it_is_asked_for(site: Any) -> None:
    site.install("zeta", HEAD)
    manager = PluginManager()
    assert "fake_zeta.plugin" not in sys.modules
    manager.quarantine()
    assert "fake_zeta.plugin" in sys.modules


# --- refusals before any hook runs ---------------------------------------------------------------------

REFUSED = {
    "import": ("import", "raise OSError('no such thing')", "OSError: no such thing"),
    "no api": ("api", "TRI_PLUGIN_API = None", "a pair (major, minor) is expected"),
    "new minor": ("api", "TRI_PLUGIN_API = (1, 999)", "contract 1.999, this core has 1.1"),
    "new major": ("api", "TRI_PLUGIN_API = (2, 0)", "upgrade tri-core"),
    "old major": ("api", "TRI_PLUGIN_API = (0, 1)", "upgrade the plugin"),
    "strange api": ("api", "TRI_PLUGIN_API = '1.0'", "a pair (major, minor) is expected"),
    "requires": ("requires", "TRI_REQUIRES = {'pluggy': '<1'}", "it needs pluggy<1, version"),
    "requires absent": ("requires", "TRI_REQUIRES = {'tri-none-such': '>=1'}", "which is not installed"),
    "requires badly": ("requires", "TRI_REQUIRES = {'pluggy': 'one'}", "write a version range"),
    "unknown hook": ("preflight", "@hookimpl\ndef tri_backend(): ...", "did you mean tri_backends"),
    "unmarked": ("preflight", "def tri_backends(): ...", "decorate it"),
    "unknown argument": ("preflight", "@hookimpl\ndef tri_probe(device): ...", "has no argument 'device'"),
    "default": ("preflight", "@hookimpl\ndef tri_probe(backend=1): ...", "without defaults"),
    "keyword-only": ("preflight", "@hookimpl\ndef tri_probe(*, backend): ...", "never be filled"),
    "stars": ("preflight", "@hookimpl\ndef tri_probe(**all): ...", "never be filled"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_plugin_is_set_aside_and_the_good_one_works(make_plugin: Make, case: str) -> None:
    phase, text, reason = REFUSED[case]
    load = make_plugin("bad", text).load if case != "import" else _raise
    bad = Candidate(name="bad", module="bad", dist="tri-bad", version="0.3", load=load)
    if "TRI_PLUGIN_API" in text:
        bad = make_plugin("bad", text)
    manager = PluginManager([bad, make_plugin("good", backend=True)])
    with pytest.warns(PluginWarning) as caught:
        assert list(manager.backends()) == ["good"]
    assert len(caught) == 1
    assert reason in str(caught[0].message)
    (record,) = manager.quarantine()
    assert (record.plugin, record.phase) == ("bad", phase)
    assert reason in record.reason
    assert "Traceback" in record.traceback
    assert [r.state for r in manager.plugins()] == ["quarantined", "active"]


def _raise() -> object:
    raise OSError("no such thing")


def test_wrong_hooks_leave_nothing_registered(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_cache_key(target): return {'a': 'b'}\n@hookimpl\ndef tri_nothing(): ..."
    good = make_plugin("good", backend=True)
    manager = PluginManager([make_plugin("bad", text), good])
    with pytest.warns(PluginWarning):
        manager.backends()
    assert manager.order("tri_cache_key") == []
    assert dict(manager.cache_key(manager.target(TargetKey("good", "one")))) == {}


def test_an_implementation_may_take_fewer_arguments(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_cache_key(): return {'tool': '7'}"
    manager = PluginManager([make_plugin("good", backend=True), make_plugin("tools", text)])
    assert dict(manager.cache_key(manager.target(TargetKey("good", "one")))) == {"tools.tool": "7"}


def test_an_entry_point_must_name_a_module() -> None:
    manager = PluginManager([Candidate(name="odd", module="m:attr", load=lambda: SimpleNamespace())])
    assert "not a module" in quarantined(manager)["odd"][1]


# --- the warning ---------------------------------------------------------------------------------------


def test_the_warning_comes_once_and_lists_everybody(make_plugin: Make) -> None:
    bad = [make_plugin(f"bad{i}", "TRI_PLUGIN_API = (9, 9)") for i in range(3)]
    manager = PluginManager([*bad, make_plugin("good", backend=True)])
    with pytest.warns(PluginWarning) as caught:
        [(manager.backends(), manager.adapters()) for _ in range(3)]
    assert len(caught) == 1
    assert all(f"bad{i}" in str(caught[0].message) for i in range(3))


def test_the_warning_cannot_stop_a_program(make_plugin: Make, caplog: pytest.LogCaptureFixture) -> None:
    manager = PluginManager(
        [make_plugin("bad", "TRI_PLUGIN_API = (9, 9)"), make_plugin("good", backend=True)]
    )
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        assert list(manager.backends()) == ["good"]
    assert "contract 9.9" in caplog.text


def test_listing_plugins_gives_no_warning(make_plugin: Make) -> None:
    assert PluginManager([make_plugin("bad", "TRI_PLUGIN_API = (9, 9)")]).plugins()[0].state == "quarantined"


def test_strict_mode_refuses_every_time(make_plugin: Make) -> None:
    manager = PluginManager(
        [make_plugin("bad", "TRI_PLUGIN_API = (9, 9)"), make_plugin("good", backend=True)]
    )
    with knobs.scope(PLUGINS_STRICT=True):
        for _ in range(2):
            with pytest.raises(PluginError, match=r"'bad' is refused: .* 9\.9") as caught:
                manager.backends()
            assert caught.value.plugin == "bad"


def test_asking_for_a_backend_set_aside_gives_the_reason(make_plugin: Make) -> None:
    manager = PluginManager([Candidate(name="mine", module="mine", load=_raise, dist="tri-backend-mine")])
    with pytest.warns(PluginWarning), pytest.raises(PluginError, match="OSError: no such thing") as caught:
        manager.target(TargetKey("mine", "one"))
    assert isinstance(caught.value.__cause__, OSError)
    assert "_raise" in "".join(caught.value.__notes__)


# --- declarative hooks ---------------------------------------------------------------------------------

DECLARATIVE = {
    "raises": ("@hookimpl\ndef tri_adapters(): raise ValueError('burnt')", "ValueError: burnt"),
    "none": ("@hookimpl\ndef tri_adapters(): return None", "a sequence of records is expected"),
    "text": ("@hookimpl\ndef tri_adapters(): return 'abc'", "a sequence of records is expected"),
    "type": ("@hookimpl\ndef tri_adapters(): return [3]", "FrameworkAdapter is expected"),
}


@pytest.mark.parametrize("case", DECLARATIVE)
def test_a_failing_declaration_takes_the_whole_plugin_out(make_plugin: Make, case: str) -> None:
    text, reason = DECLARATIVE[case]
    good = "@hookimpl\ndef tri_adapters(): return [FrameworkAdapter(name='g', module='g', describe=id)]"
    manager = PluginManager([make_plugin("bad", text, backend=True), make_plugin("good", good, backend=True)])
    assert list(manager.backends()) == ["bad", "good"]
    before = manager.generation
    with pytest.warns(PluginWarning, match="adapter|burnt|sequence|Adapter"):
        assert [a.name for a in manager.adapters()] == ["g"]
    assert reason in quarantined(manager)["bad"][1]
    assert manager.generation > before
    assert list(manager.backends()) == ["good"]
    with pytest.raises(PluginError, match="set aside"):
        manager.target(TargetKey("bad", "one"))


def test_declarations_are_asked_once(make_plugin: Make) -> None:
    text = "N = []\n@hookimpl\ndef tri_observers():\n    N.append(1)\n    return [Observer(name='o')]"
    candidate = make_plugin("a", text)
    manager = PluginManager([candidate])
    assert [o.name for o in (*manager.observers(), *manager.observers())] == ["o", "o"]
    assert loaded(candidate).N == [1]


def test_a_backend_needs_target_and_pipeline(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_backends(): return [BackendInfo(name='x', device_kinds=('x',), runtime='x')]"
    manager = PluginManager([make_plugin("x", text)])
    with pytest.warns(PluginWarning, match="no tri_target and no tri_pipeline"):
        assert manager.backends() == {}


def test_knobs_are_registered_before_the_first_backend(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_knobs(): return [KnobGroup(prefix='ZETA', knobs=(Knob(name='ZETA_X', default=3),))]"
    manager = PluginManager([make_plugin("zeta", text)])
    manager.backends()
    assert knobs.get("ZETA_X") == 3


def test_a_knob_without_its_prefix_is_refused(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_knobs(): return [KnobGroup(prefix='ETA', knobs=(Knob(name='X', default=3),))]"
    manager = PluginManager([make_plugin("eta", text)])
    with pytest.warns(PluginWarning, match="lacks the prefix"):
        manager.knobs()


# --- duplicates ----------------------------------------------------------------------------------------

RUNTIME = "@hookimpl\ndef tri_runtime(device_kind): ...\n"
NAMED = "\n@hookimpl\ndef tri_backends(): return [BackendInfo(name='{}', device_kinds=('k',), runtime='k')]\n"
DUPLICATES = {
    "backend": (NAMED.format("same"), NAMED.format("same"), "backend 'same'"),
    "device kind": (RUNTIME + NAMED.format("a"), RUNTIME + NAMED.format("b"), "device kind 'k'"),
    "language": (
        "@hookimpl\ndef tri_language(): return [LanguageExtension(namespace='n', module='a')]",
        "@hookimpl\ndef tri_language(): return [LanguageExtension(namespace='n', module='b')]",
        "language namespace 'n'",
    ),
    "knobs": (
        "@hookimpl\ndef tri_knobs(): return [KnobGroup(prefix='P')]",
        "@hookimpl\ndef tri_knobs(): return [KnobGroup(prefix='P')]",
        "knob prefix 'P'",
    ),
}


@pytest.mark.parametrize("case", DUPLICATES)
def test_of_duplicates_neither_is_used(make_plugin: Make, case: str) -> None:
    first, second, claim = DUPLICATES[case]
    a = make_plugin("a", first, backend=True, dist="tri-a")
    b = make_plugin("b", second, backend=True, dist="tri-b")
    manager = PluginManager([a, b, make_plugin("good", backend=True)])
    with pytest.warns(PluginWarning, match="claimed by a .tri-a 1.2. and b .tri-b 1.2."):
        manager.languages()
    assert list(manager.backends()) == ["good"]
    assert {
        p for p, (phase, reason) in quarantined(manager).items() if phase == "duplicate" and claim in reason
    } == {
        "a",
        "b",
    }


def test_selecting_one_of_two_duplicates_uses_it(make_plugin: Make) -> None:
    a, b = (make_plugin(n, NAMED.format("same"), backend=True) for n in "ab")
    with knobs.scope(PLUGINS="b"):
        assert list(PluginManager([a, b]).backends()) == ["same"]


def test_two_plugins_of_one_name_are_both_refused(make_plugin: Make) -> None:
    manager = PluginManager([make_plugin("a", dist="one"), make_plugin("a", dist="two")])
    assert [(r.phase, r.dist) for r in manager.quarantine()] == [("duplicate", "one"), ("duplicate", "two")]


def test_a_second_compiler_for_a_device_kind_is_welcome(make_plugin: Make) -> None:
    first = make_plugin(
        "a",
        "R = object()\n@hookimpl\ndef tri_runtime(device_kind): return R\n" + NAMED.format("a"),
        backend=True,
    )
    second = make_plugin("b", NAMED.format("b"), backend=True)
    manager = PluginManager([first, second])
    assert list(manager.backends()) == ["a", "b"]
    assert manager.runtime("k") is loaded(first).R


# --- the rest ------------------------------------------------------------------------------------------


def test_hook_calls_can_be_traced(make_plugin: Make, caplog: pytest.LogCaptureFixture) -> None:
    with knobs.scope(TRACE_HOOKS=True), caplog.at_level(logging.INFO, "tri.hooks"):
        manager = PluginManager([make_plugin("a", backend=True)])
        manager.target(TargetKey("a", "one"))
    assert "tri_target(backend=a, key=a:one, device=None) -> a" in caplog.text


def test_threads_load_plugins_once(make_plugin: Make) -> None:
    text = "N = []\n@hookimpl\ndef tri_adapters():\n    N.append(1)\n    return []"
    candidate = make_plugin("a", text, backend=True)
    manager = PluginManager([candidate])
    threads = [threading.Thread(target=manager.adapters) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loaded(candidate).N == [1]


def test_records_survive_pickling(make_plugin: Make) -> None:
    import pickle

    manager = PluginManager([make_plugin("a", backend=True), make_plugin("bad", "TRI_PLUGIN_API = (9, 9)")])
    assert pickle.loads(pickle.dumps(manager.plugins())) == manager.plugins()


def test_loading_imports_neither_the_ir_nor_a_toolchain(site: Any) -> None:
    site.install("zeta", HEAD)
    code = """
        import sys
        from tri_core.plugins import PluginManager
        PluginManager().quarantine()
        heavy = {"torch_mlir", "mlir", "llvmlite", "numpy", "torch", "filelock", "platformdirs"}
        print(sorted(heavy & set(sys.modules)))
    """
    environment = {"PYTHONPATH": ":".join(sys.path), "TRI_PLUGINS": "zeta"}
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"


def test_a_name_declared_twice_by_one_plugin(make_plugin: Make) -> None:
    info = "BackendInfo(name='twice', device_kinds=('k{0}',), runtime='k{0}')"
    both = f"\n@hookimpl\ndef tri_backends(): return [{info.format(1)}, {info.format(2)}]"
    manager = PluginManager([make_plugin("x", both, backend=True)])
    with pytest.warns(PluginWarning, match="declares backend 'twice' twice"):
        assert manager.backends() == {}
