"""Hooks of the owner of a target, and hooks that take part in code generation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tri_core.abi import KernelSignature
from tri_core.errors import BackendError, DeviceError, PluginError, TargetError, Unsupported
from tri_core.image import KernelMetadata
from tri_core.loop_estimates import LoopEstimates
from tri_core.options import CommonOptions
from tri_core.pipeline import Anchor
from tri_core.plugins import Candidate, PluginManager
from tri_core.plugins.discovery import candidates
from tri_core.target import TargetKey

Make = Callable[..., Candidate]


def loaded(candidate: Candidate) -> Any:
    """The module of a candidate."""
    return candidate.load()


# --- owner hooks ---------------------------------------------------------------------------------------


def test_owner_hooks_go_to_the_owner_alone(make_plugin: Make) -> None:
    manager = PluginManager([make_plugin("a", backend=True), make_plugin("b", backend=True)])
    for name in ("a", "b"):
        assert manager.target(TargetKey(name, "two")).key == TargetKey(name, "two")
        assert [d.kind for d in manager.probe(name)] == [name]


def test_a_wrapper_of_another_plugin_still_surrounds_the_owner(make_plugin: Make) -> None:
    text = "SEEN = []\n@hookimpl(wrapper=True)\ndef tri_target(backend):\n    SEEN.append(backend)\n    return (yield)"
    tracer = make_plugin("tracer", text)
    manager = PluginManager([make_plugin("a", backend=True), make_plugin("b", backend=True), tracer])
    assert manager.target(TargetKey("a", "two")).key.backend == "a"
    assert loaded(tracer).SEEN == ["a"]


def test_an_owners_exception_is_a_backend_error(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_target(backend, key): raise KeyError('chip')"
    manager = PluginManager(
        [make_plugin("a", text, backend=True, dist="tri-a"), make_plugin("b", backend=True)]
    )
    with pytest.raises(
        BackendError, match=r"'a' of plugin a \(tri-a 1.2\) failed in tri_target: KeyError"
    ) as caught:
        manager.target(TargetKey("a", "two"))
    assert (caught.value.backend, caught.value.hook) == ("a", "tri_target")
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_owners_typed_error_passes_through(make_plugin: Make) -> None:
    manager = PluginManager([make_plugin("a", backend=True)])
    with pytest.raises(TargetError, match="unknown architecture 'nine'"):
        manager.target(TargetKey("a", "nine"))


MALFORMED_TARGETS = {
    "none": ("None", "gave None"),
    "type": ("7", "a Target is expected"),
    "key": ("Target(key=TargetKey('b', 'one'), spec=TargetSpec())", "was asked for a:one and gave b:one"),
    "spec": ("Target(key=key, spec=TargetSpec(limits={'shared': object()}))", "not JSON-able"),
    "options": ("Target(key=key, spec=TargetSpec(), options_type=dict)", "frozen dataclass"),
}


@pytest.mark.parametrize("case", MALFORMED_TARGETS)
def test_malformed_targets_are_refused(make_plugin: Make, case: str) -> None:
    value, reason = MALFORMED_TARGETS[case]
    manager = PluginManager(
        [make_plugin("a", f"@hookimpl\ndef tri_target(key): return {value}", backend=True)]
    )
    with pytest.raises(BackendError, match=reason):
        manager.target(TargetKey("a", "one"))


TTIR = (
    "Stage(name='ttir', kind='module', run=ttir, passes=PassList([Anchor('ttir.begin'), Anchor('ttir.end')]))"
)
MODULE = "Stage(name='y', kind='module', run=text)"
FINAL = "Stage(name='z', kind='bytes', run=image, final=True)"
MALFORMED_PIPELINES = {
    "type": ("[]", "a Pipeline is expected"),
    "empty": ("Pipeline(stages=())", "no stages"),
    "first": (
        "Pipeline(stages=(Stage(name='x', kind='bytes', run=image, final=True),))",
        "first stage is not 'ttir'",
    ),
    "final": (
        f"Pipeline(stages=({TTIR}, Stage(name='x', kind='bytes', run=image)))",
        "must be final; final are: none",
    ),
    "module": (
        f"Pipeline(stages=({TTIR}, Stage(name='x', kind='module', run=image, final=True)))",
        "not a module",
    ),
    "names": (f"Pipeline(stages=({TTIR}, {TTIR}))", "one name"),
    "kind": (
        f"Pipeline(stages=({TTIR}, Stage(name='x', kind='blob', run=image, final=True)))",
        "kind one of",
    ),
    "anchors": (
        "Pipeline(stages=(Stage(name='ttir', kind='module', run=ttir, passes=PassList()),))",
        "lacks anchor",
    ),
    "back": (
        f"Pipeline(stages=({TTIR}, Stage(name='x', kind='text', run=text), {MODULE}, {FINAL}))",
        "after the IR was left",
    ),
}


@pytest.mark.parametrize("case", MALFORMED_PIPELINES)
def test_malformed_pipelines_are_refused(make_plugin: Make, case: str) -> None:
    value, reason = MALFORMED_PIPELINES[case]
    manager = PluginManager(
        [make_plugin("a", f"@hookimpl\ndef tri_pipeline(): return {value}", backend=True)]
    )
    with pytest.raises(BackendError, match=reason):
        manager.pipeline(manager.target(TargetKey("a", "one")), CommonOptions())


def test_abi_has_a_default_and_policy_is_optional(make_plugin: Make) -> None:
    manager = PluginManager([make_plugin("a", backend=True)])
    target = manager.target(TargetKey("a", "one"))
    assert manager.abi(target).divisibility == 16
    assert manager.policy(target, CommonOptions()) is None
    with pytest.raises(BackendError, match="has no tri_conformance"):
        manager.conformance(target)


def test_a_runtime_is_made_once_and_found_by_kind(make_plugin: Make) -> None:
    text = "class R: fork_safe = False\n@hookimpl\ndef tri_runtime(device_kind): return R()"
    manager = PluginManager([make_plugin("a", text, backend=True)])
    assert manager.runtime("a") is manager.runtime("a")
    with pytest.raises(TargetError, match="no plugin has a runtime for devices of kind 'b'"):
        manager.runtime("b")


def test_a_runtime_that_does_not_survive_forks_says_so(
    make_plugin: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "class R: fork_safe = False\n@hookimpl\ndef tri_runtime(device_kind): return R()"
    manager = PluginManager([make_plugin("a", text, backend=True)])
    manager.runtime("a")
    monkeypatch.setattr("os.getpid", lambda: 1)
    with pytest.raises(DeviceError, match="before this process was forked"):
        manager.runtime("a")


# --- code generation -----------------------------------------------------------------------------------

INSERT = """
class Extra(Pass):
    name = "extra"
    def apply(self, module, context): ...
@hookimpl
def tri_modify_pipeline(pipeline): pipeline["ttir"].passes.insert("ttir.end", Extra())
"""


def test_plugins_insert_passes_at_anchors(make_plugin: Make) -> None:
    manager = PluginManager([make_plugin("a", backend=True), make_plugin("z", INSERT, dist="tri-z")])
    composition = manager.compose(manager.target(TargetKey("a", "one")), CommonOptions())
    steps = composition.pipeline["ttir"].passes
    assert steps is not None
    assert [s.name for s in steps.steps] == ["ttir.begin", "ttir.end", "extra"]
    assert isinstance(steps.steps[0], Anchor)
    assert {name: p.label for name, p in composition.inserted.items()} == {"extra": "z (tri-z 1.2)"}


CODE_HOOKS = {
    "tri_modify_pipeline": lambda m, t: m.pipeline(t, CommonOptions()),
    "tri_lowering": lambda m, t: m.lowering({}, t, CommonOptions()),
    "tri_cache_key": lambda m, t: m.cache_key(t),
    "tri_register_ir": lambda m, t: m.register_ir(None, t),
}


@pytest.mark.parametrize("hook", CODE_HOOKS)
def test_a_failing_code_hook_fails_that_compile_by_name(make_plugin: Make, hook: str) -> None:
    text = f"@hookimpl\ndef {hook}(): raise TargetError('oh')"
    manager = PluginManager([make_plugin("a", backend=True), make_plugin("z", text, dist="tri-z")])
    target = manager.target(TargetKey("a", "one"))
    for _ in range(2):
        with pytest.raises(
            PluginError, match=rf"plugin z \(tri-z 1.2\) failed in {hook}: TargetError: oh"
        ) as caught:
            CODE_HOOKS[hook](manager, target)
        assert caught.value.plugin == "z"
    assert manager.quarantine() == []


def test_cache_facts_are_checked(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_cache_key(): return {'a': 1}"
    manager = PluginManager([make_plugin("a", backend=True), make_plugin("z", text)])
    with pytest.raises(PluginError, match="a mapping of text to text is expected"):
        manager.cache_key(manager.target(TargetKey("a", "one")))


def test_one_pipeline_object_given_twice_is_refused(make_plugin: Make) -> None:
    text = "P = Pipeline(stages=(%s, Stage(name='x', kind='bytes', run=image, final=True)))\n@hookimpl\ndef tri_pipeline(): return P"
    manager = PluginManager([make_plugin("a", text % TTIR, backend=True), make_plugin("z", INSERT)])
    target = manager.target(TargetKey("a", "one"))
    manager.pipeline(target, CommonOptions())
    with pytest.raises(BackendError, match="one Pipeline object twice"):
        manager.pipeline(target, CommonOptions())


def test_code_hooks_run_in_the_order_of_names_whatever_was_found_first(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_lowering(table): table.append(__name__)"
    plugins = [make_plugin(name, text) for name in ("c", "a", "b")]
    manager = PluginManager([*plugins, make_plugin("x", backend=True)])
    target = manager.target(TargetKey("x", "one"))
    empty: list[str] = []
    assert manager.lowering(empty, target, CommonOptions()) == ["made_a", "made_b", "made_c"]
    assert manager.order("tri_lowering") == ["a", "b", "c"]


def test_dialects_of_other_backends_are_left_alone(make_plugin: Make) -> None:
    text = "@hookimpl\ndef tri_register_ir(registry): registry.append(__name__)"
    manager = PluginManager(
        [
            make_plugin("a", text, backend=True),
            make_plugin("b", text, backend=True),
            make_plugin("shared", text),
        ]
    )
    target = manager.target(TargetKey("a", "one"))
    registry: Any = []
    manager.register_ir(registry, target)
    manager.register_ir(registry, target)
    assert registry == ["made_a", "made_shared"]
    manager.register_ir(registry)
    assert registry == ["made_a", "made_shared", "made_b"]
    assert [p.name for p in manager.contributors(target)] == ["a", "shared"]


DIALECT = "from tri_core.api import *\nTRI_PLUGIN_API = (1, 0)\n@hookimpl\ndef tri_register_ir(registry): registry.append('{}')\n"


def test_a_shared_dialect_is_registered_for_backends_that_stand_on_it(
    site: Any, activate: Any, backend_text: Any
) -> None:
    site.install("shared", DIALECT.format("shared"), requires=("tri-core",))
    site.install("unused", DIALECT.format("unused"), requires=("tri-core",))
    site.install("middle", "TRI_PLUGIN_API = (1, 0)", requires=("tri-core", "tri-shared"))
    site.install("gpu", backend_text("gpu"), requires=("tri-core", "tri-middle"))
    site.install("plain", backend_text("plain"), requires=("tri-core",))
    manager = PluginManager([c for c in candidates() if c.module.startswith("fake_")])
    registry: Any = []
    manager.register_ir(registry, manager.target(TargetKey("plain", "one")))
    assert registry == []
    gpu = manager.target(TargetKey("gpu", "one"))
    manager.register_ir(registry, gpu)
    assert registry == ["shared"]
    assert [p.name for p in manager.contributors(gpu)] == ["gpu", "shared"]
    manager.register_ir(registry)
    assert registry == ["shared", "unused"]


# --- estimates of loops ----------------------------------------------------------------------------------

ESTIMATES = """
@hookimpl
def tri_loop_estimates(target, metadata, asm):
    loop = LoopEstimate(name=metadata.name, stage="text", line=2, instructions=len(asm["text"]), cycles=9.6,
                        busy={"adder": 0.25}, spent={"sums": 2.0, "loads": 7.0, "waits": 0.4})
    return LoopEstimates(loops=(loop,), assumptions=("nothing else runs",))
"""
METADATA = KernelMetadata(
    name="k", target=TargetKey("a", "one"), signature=KernelSignature(name="k", parameters=()), options={}
)


def estimates_of(candidate: Candidate) -> LoopEstimates:
    manager = PluginManager([candidate])
    return manager.loop_estimates(manager.target(TargetKey("a", "one")), METADATA, {"text": "abc"})


def test_a_backend_says_what_loops_take(make_plugin: Make) -> None:
    found = estimates_of(make_plugin("a", ESTIMATES, backend=True))
    (loop,) = found.loops
    assert (loop.name, loop.instructions) == ("k", 3)
    assert str(loop) == "10 cycles, 3 instructions; adder busy 25 %; of which loads 7, sums 2 (text, line 2)"
    assert found.assumptions == ("nothing else runs",)


def test_backends_need_not_estimate_loops(make_plugin: Make) -> None:
    assert estimates_of(make_plugin("a", backend=True)) == LoopEstimates()


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ("{}", "LoopEstimates are expected"),
        (
            "LoopEstimates(loops=(LoopEstimate(name='k', stage='text', line=1, instructions=1, cycles=1.0),))",
            "do not say what they assume",
        ),
    ],
)
def test_malformed_estimates_are_refused(make_plugin: Make, made: str, reason: str) -> None:
    text = f"@hookimpl\ndef tri_loop_estimates(): return {made}"
    with pytest.raises(BackendError, match=reason) as caught:
        estimates_of(make_plugin("a", text, backend=True))
    assert caught.value.hook == "tri_loop_estimates"


# --- PyTorch's Inductor ----------------------------------------------------------------------------------

INDUCTOR = """
@hookimpl
def tri_inductor(target):
    numbers = InductorProperties(multi_processor_count={count}, warp_size=16, max_threads_per_block=256)
    return InductorInfo(device_type={device_type!r}, properties=numbers, templates={templates})
"""


def inductor_of(candidate: Candidate) -> Any:
    manager = PluginManager([candidate])
    return manager.inductor(manager.target(TargetKey("a", "one")))


def inductor_text(count: object = 4, device_type: str = "mine", templates: str = "{}") -> str:
    return INDUCTOR.format(count=count, device_type=device_type, templates=templates)


def test_a_backend_tells_inductor_its_numbers_without_a_device(make_plugin: Make) -> None:
    found = inductor_of(make_plugin("a", inductor_text(), backend=True))
    assert (found.device_type, found.properties.warp_size, found.properties.major) == ("mine", 16, None)
    assert found.configuration is None


def test_a_backend_that_tells_inductor_nothing_is_named(make_plugin: Make) -> None:
    with pytest.raises(Unsupported, match="'a' tells PyTorch's Inductor nothing of a:one") as caught:
        inductor_of(make_plugin("a", backend=True))
    assert "tri_inductor" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@hookimpl\ndef tri_inductor(): return {}", "an InductorInfo is expected"),
        (inductor_text(count=0), "multi_processor_count is 0"),
        (inductor_text(device_type="mine:0"), "device_type is 'mine:0'"),
        (inductor_text(templates="{'mm': ()}"), "template 'mm' has no configuration"),
    ],
)
def test_what_inductor_could_not_use_is_refused(make_plugin: Make, text: str, reason: str) -> None:
    with pytest.raises(BackendError, match=reason) as caught:
        inductor_of(make_plugin("a", text, backend=True))
    assert caught.value.hook == "tri_inductor"
