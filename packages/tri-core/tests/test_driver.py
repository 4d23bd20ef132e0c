"""The compile driver: stages, keys, caches in memory and on disk, errors."""

from __future__ import annotations

import contextvars
import logging
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tri_core import knobs, progress
from tri_core.compiler import CompiledKernel, IRSource, forget
from tri_core.compiler import compile as compile_kernel
from tri_core.errors import (
    OptionError,
    VerificationError,
)
from tri_core.notices import PluginWarning
from tri_core.options import CommonOptions
from tri_core.plugins import Candidate
from tri_core.plugins.discovery import candidates
from tri_core.target import TargetKey

Make = Callable[..., Candidate]
ALL = ["ttir", "text", "image"]


def loaded(candidate: Candidate) -> Any:
    """The module of a candidate."""
    return candidate.load()


def again(source: Any, target: str = "toy:one", options: Any = None) -> CompiledKernel:
    """Compile as a new process would: with nothing in memory."""
    forget()
    return compile_kernel(source, target, options)


# --- what comes out ------------------------------------------------------------------------------------


def test_a_kernel_has_every_stage_an_image_and_metadata(toy: Any, source: Any) -> None:
    kernel = compile_kernel(source(), "toy:one", {"num_warps": 8})
    assert list(kernel.asm) == ALL
    assert len(kernel.asm) == 3
    assert " tt.addptr %" in kernel.asm["ttir"]
    text = kernel.asm["text"]
    assert isinstance(text, str)
    assert text.startswith("// kernel\n")
    assert kernel.image.data == kernel.asm["image"] == b"\x00\xff" + text.encode()
    metadata = kernel.metadata
    assert kernel.image.kind == "image"
    assert kernel.image.metadata is metadata
    assert (metadata.name, metadata.target) == ("kernel", TargetKey("toy", "one"))
    assert [p.type for p in metadata.signature.parameters] == ["*fp32", "i32"]
    assert (metadata.num_warps, metadata.threads_per_warp, metadata.shared) == (8, 1, 64)
    assert metadata.entry_points == ("entry",)
    assert metadata.attrs == {"sizes": [1, 2]}
    assert metadata.options["num_warps"] == 8
    assert set(metadata.plugins) == {"tri-core", "toy"}
    assert len(metadata.hash) == 64
    assert "kernel for toy:one: ttir, text, image" in repr(kernel)


def test_a_long_compile_shows_how_far_it_is(
    toy: Any, source: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    compile_kernel(source(), "toy:one", {"num_warps": 8})
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    compile_kernel(source(), "toy:one", {"num_warps": 4})
    assert "compiling kernel for toy:one" in capsys.readouterr().err


def test_disassemblers_are_keys_of_asm(toy: Any, source: Any) -> None:
    for kernel in (compile_kernel(source(), "toy:one"), again(source())):
        assert "listing" in kernel.asm
        assert kernel.asm["listing"] == f"{len(kernel.image.data)} bytes"
        with pytest.raises(KeyError, match="no stage 'ptx' for toy:one; known: ttir, text, image, listing"):
            kernel.asm["ptx"]


def test_a_kernel_pickles_whole(toy: Any, source: Any) -> None:
    for kernel in (compile_kernel(source(), "toy:one"), again(source())):
        thawed = pickle.loads(pickle.dumps(kernel))
        assert dict(thawed.asm) == dict(kernel.asm)
        assert thawed.metadata == kernel.metadata
        assert thawed.image == kernel.image
        assert thawed.asm["listing"] == kernel.asm["listing"]


# --- caches --------------------------------------------------------------------------------------------


def test_memory_gives_the_same_object_and_disk_an_equal_one(toy: Any, source: Any) -> None:
    kernel = compile_kernel(source(), "toy:one")
    assert compile_kernel(source(), "toy:one", CommonOptions()) is kernel
    read = again(source())
    assert toy.RUNS == ALL
    assert read is not kernel
    assert (read.metadata, read.image, dict(read.asm)) == (kernel.metadata, kernel.image, dict(kernel.asm))


@pytest.mark.parametrize("options", [{"num_warps": 8}, {"debug": True}])
def test_options_and_target_make_other_kernels(toy: Any, source: Any, options: Any) -> None:
    kernels = [again(source(), "toy:one"), again(source(), "toy:one", options), again(source(), "toy:two")]
    assert toy.RUNS == ALL * 3
    assert len({k.metadata.hash for k in kernels}) == 3


def test_inserted_passes_change_the_key_and_run(make_plugin: Make, activate: Any, source: Any) -> None:
    text = """
    from dataclasses import dataclass
    RAN = []
    @dataclass(frozen=True)
    class Extra(Pass):
        name = "extra"
        width: int = 1
        def apply(self, module, context): RAN.append(self.width)
    WIDTH = 1
    @hookimpl
    def tri_modify_pipeline(pipeline): pipeline["ttir"].passes.insert("ttir.begin", Extra(WIDTH))
    """
    toy, extra = make_plugin("toy", backend=True), make_plugin("extra", text)
    activate(toy)
    keys = {again(source()).metadata.hash}
    activate(toy, extra)
    for width in (1, 2, 1):
        loaded(extra).WIDTH = width
        keys.add(again(source()).metadata.hash)
    assert loaded(extra).RAN == [1, 2]
    assert len(keys) == 3


def test_knobs_that_affect_code_are_in_the_key(with_backend: Any, source: Any) -> None:
    toy = with_backend("""
    @hookimpl
    def tri_knobs():
        return [KnobGroup(prefix="TOY", knobs=(Knob(name="TOY_FAST", default=0, parse=int, affects_codegen=True),
                                               Knob(name="TOY_LOUD", default=0, parse=int)))]
    def text(module, context):
        RUNS.append(dict(context.knobs))
        return StageResult(artifact=str(module))
    """)
    plain = again(source())
    with knobs.scope(TOY_LOUD=1):
        assert again(source()).metadata == plain.metadata
    with knobs.scope(TOY_FAST=1):
        assert compile_kernel(source(), "toy:one").metadata.hash != plain.metadata.hash
    with knobs.scope(TOY_FAST=0):
        assert again(source()).metadata == plain.metadata
    assert toy.RUNS == ["ttir", {}, "image", "ttir", {"TOY_FAST": 1}, "image"]


@pytest.fixture
def installed(site: Any, backend_text: Any, activate: Any) -> Any:
    """The module of ``toy``, installed as a distribution."""
    site.install(
        "toy",
        backend_text("toy")
        + """
@hookimpl
def tri_knobs():
    return [KnobGroup(prefix="TOY", knobs=(Knob(name="TOY_FORGOTTEN", default=0, parse=int),))]
""",
    )
    candidate = next(c for c in candidates() if c.name == "toy")
    activate(candidate)
    return candidate.load()


def test_an_installed_backends_kernel_is_found_without_its_pipeline(
    installed: Any, source: Any, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    kernel = compile_kernel(source(), "toy:one")
    with monkeypatch.context() as patch:
        patch.setattr("tri_core.plugins.PluginManager.compose", lambda *_: pytest.fail("composed"))
        assert again(source()).metadata == kernel.metadata
    with knobs.scope(TOY_FORGOTTEN=1):
        assert again(source()).metadata == kernel.metadata  # by way of the pipeline: the knob is not marked
    assert installed.RUNS == ALL
    for entry in _entries(own_cache):  # a shortcut to nothing
        if entry.stem == kernel.metadata.hash:
            entry.unlink()
    assert again(source()).metadata == kernel.metadata
    assert installed.RUNS == ALL * 2


def test_the_cache_can_be_ignored(toy: Any, source: Any) -> None:
    first = compile_kernel(source(), "toy:one")
    with knobs.scope(ALWAYS_COMPILE=True):
        assert compile_kernel(source(), "toy:one") is not first
    assert toy.RUNS == ALL * 2


def _entries(cache: Path) -> list[Path]:
    return list(cache.glob("*/*.entry"))


@pytest.mark.parametrize(
    "damage",
    [lambda d: d[: len(d) // 2], lambda d: b"", lambda d: d[:-1] + bytes([d[-1] ^ 1]), lambda d: d + b"x"],
)
def test_a_damaged_entry_is_made_anew(
    toy: Any, source: Any, own_cache: Path, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = compile_kernel(source(), "toy:one")
    (entry,) = _entries(own_cache)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert again(source()).image == kernel.image
    assert toy.RUNS == ALL * 2
    assert entry.read_bytes() == whole
    assert "damaged cache entry" in caplog.text


@pytest.mark.parametrize(
    "payload", [b"\0" * 8 + b"{}", b"\2\0\0\0\0\0\0\0{}", b'\x0c\0\0\0\0\0\0\0{"format":0}', b""]
)
def test_an_entry_of_another_make_is_made_anew(
    toy: Any, source: Any, own_cache: Path, payload: bytes
) -> None:
    from tri_core.cache import Store

    kernel = compile_kernel(source(), "toy:one")
    Store(own_cache, 1 << 20).put(kernel.metadata.hash, payload)
    assert again(source()).image == kernel.image
    assert toy.RUNS == ALL * 2


def test_threads_compile_one_kernel_once(toy: Any, source: Any) -> None:
    kernels: list[CompiledKernel] = []
    one = source()

    def compile_one() -> None:
        kernels.append(compile_kernel(one, "toy:one"))

    # each thread gets this one's context, in which the test's own cache folder is set
    contexts = [contextvars.copy_context() for _ in range(8)]
    threads = [threading.Thread(target=context.run, args=(compile_one,)) for context in contexts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.builds == 1
    assert len({k.metadata.hash for k in kernels}) == 1
    assert len(kernels) == 8


def test_memory_is_bounded(toy: Any, source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tri_core.compiler import driver

    monkeypatch.setattr(driver, "_MEMORY", 3)
    for i in range(7):
        compile_kernel(source(name=f"k{i}"), "toy:one")
    assert len(driver._memory) == 3
    assert driver._in_flight == {}


# --- starting anywhere ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "runs"), [("ttir", ["ttir", "text", "image"]), ("text", ["image"]), ("image", [])]
)
def test_a_compile_starts_from_any_stage(
    toy: Any, source: Any, tmp_path: Path, stage: str, runs: list[str]
) -> None:
    with knobs.scope(DUMP_DIR=tmp_path / "dump"):
        kernel = compile_kernel(source(), "toy:one")
    (file,) = (tmp_path / "dump").glob(f"*/kernel.{stage}")
    toy.RUNS.clear()
    again = compile_kernel(IRSource.from_file(file, kernel.metadata.signature), "toy:one")
    assert runs == toy.RUNS
    assert again.image.data == kernel.image.data
    assert list(again.asm) == list(dict.fromkeys([stage, *runs]))
    assert again.metadata.signature == kernel.metadata.signature


def test_the_signature_of_a_module_is_read_from_it(toy: Any, source: Any, tmp_path: Path) -> None:
    file = tmp_path / "k.ttir"
    named = '(%p: !tt.ptr<f32, "global"> loc("x_ptr"(unknown)),'
    file.write_text(source().text.replace("NAME", "scale").replace('(%p: !tt.ptr<f32, "global">,', named))
    metadata = compile_kernel(IRSource.from_file(file), "toy:one").metadata
    assert metadata.name == "scale"
    assert [p.name for p in metadata.signature.parameters] == ["x_ptr", "arg1"]
    assert [p.type for p in metadata.signature.parameters] == ["*fp32", "i32"]


def test_ir_text_that_is_wrong_names_file_and_line(toy: Any, source: Any, tmp_path: Path) -> None:
    file = tmp_path / "k.ttir"
    file.write_text(source().text.replace("%n, %a : i32", "%n, %z : i32"))
    with pytest.raises(VerificationError, match="use of undeclared SSA value") as caught:
        compile_kernel(IRSource.from_file(file), "toy:one")
    location = caught.value.location
    assert location is not None
    assert (location.file, location.line) == (str(file), 5)
    assert "%n, %z" in (location.source_line or "")
    assert "mlir" not in type(caught.value).__name__.lower()


@pytest.mark.parametrize("text", ["module {}", "TWO"])
def test_a_module_has_one_kernel(toy: Any, source: Any, text: str) -> None:
    kernel = source().text
    text = text.replace("TWO", kernel.replace("NAME", "a") + kernel.replace("NAME", "b"))
    with pytest.raises(VerificationError, match=r"one public tt\.func"):
        compile_kernel(IRSource("ttir", text), "toy:one")


def test_an_unknown_stage_lists_the_known(toy: Any, tmp_path: Path) -> None:
    (tmp_path / "k.cubin").write_bytes(b"\xff\x00")
    with pytest.raises(OptionError, match="no stage 'cubin'") as caught:
        compile_kernel(IRSource.from_file(tmp_path / "k.cubin"), "toy:one")
    assert "ttir, text, image" in str(caught.value.remedy)
    (tmp_path / "k.text").write_bytes(b"\xff\x00")
    with pytest.raises(OptionError, match="not UTF-8"):
        compile_kernel(IRSource.from_file(tmp_path / "k.text"), "toy:one")
    (tmp_path / "kernel").touch()
    with pytest.raises(OptionError, match="no suffix"):
        IRSource.from_file(tmp_path / "kernel")


# --- observation ---------------------------------------------------------------------------------------

OBSERVER = """
SEEN = []
@hookimpl
def tri_observers():
    return [Observer(name="log", compile_start=lambda f: SEEN.append(("start", f["kernel"])),
                     stage=lambda f: SEEN.append((f["stage"], f["bytes"] > 0)),
                     compile_done=lambda f: SEEN.append(("done", f["cached"])))]
"""


def test_observers_are_told(make_plugin: Make, activate: Any, source: Any) -> None:
    observer = make_plugin("log", OBSERVER)
    activate(make_plugin("toy", backend=True), observer)
    compile_kernel(source(), "toy:one")
    compile_kernel(source(), "toy:one")
    again(source())
    stages = [("start", "kernel"), *((s, True) for s in ALL), ("done", False)]
    assert [*stages, ("start", "kernel"), ("done", True)] == loaded(observer).SEEN


def test_an_observer_that_fails_is_dropped_for_good(make_plugin: Make, activate: Any, source: Any) -> None:
    text = "N = []\n@hookimpl\ndef tri_observers(): return [Observer(name='bad', stage=lambda f: N.append(1) or 1 / 0)]"
    bad = make_plugin("bad", text)
    activate(make_plugin("toy", backend=True), bad)
    with pytest.warns(
        PluginWarning, match="observer 'bad' is dropped, it failed in stage: ZeroDivisionError"
    ) as caught:
        [compile_kernel(source(name=name), "toy:one") for name in ("one", "two")]
    assert len(caught) == 1
    assert loaded(bad).N == [1]


def test_stages_are_dumped_also_from_the_cache(toy: Any, source: Any, tmp_path: Path) -> None:
    kernel = compile_kernel(source(), "toy:one")
    forget()
    for folder in ("a", "b"):
        with knobs.scope(DUMP_DIR=tmp_path / folder, ALWAYS_COMPILE=folder == "b"):
            compile_kernel(source(), "toy:one")
        files = {
            f.name: f.read_bytes() for f in (tmp_path / folder).glob(f"kernel-{kernel.metadata.hash[:10]}/*")
        }
        assert set(files) == {f"kernel.{s}" for s in ALL}
        assert files["kernel.image"] == kernel.image.data
        assert files["kernel.ttir"].decode() == kernel.asm["ttir"]


def test_a_dump_that_cannot_be_written_is_no_error(
    toy: Any, source: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with knobs.scope(DUMP_DIR=tmp_path / "file"), caplog.at_level(logging.WARNING):
        compile_kernel(source(), "toy:one")
    assert "TRI_DUMP_DIR" in caplog.text


def test_a_descriptor_parameter_is_its_parts(toy: Any, tmp_path: Path) -> None:
    file = tmp_path / "k.ttir"
    file.write_text(
        '"tt.func"() ({\n^bb0(%d: !tt.tensordesc<tensor<4x8xf16>> loc("d"(unknown)), %n: i32):\n"tt.return"() : () -> ()\n}) '
        '{function_type = (!tt.tensordesc<tensor<4x8xf16>>, i32) -> (), sym_name = "k", sym_visibility = "public"} : () -> ()'
    )
    parameters = compile_kernel(IRSource.from_file(file), "toy:one").metadata.signature.parameters
    assert [(p.name, p.type) for p in parameters] == [
        ("d", "*fp16"), ("d.shape.0", "i64"), ("d.shape.1", "i64"), ("d.stride.0", "i64"), ("d.stride.1", "i64"),
        ("d.padding", "i1"), ("arg1", "i32"),
    ]  # fmt: skip
