"""``triton.knobs``: assignments, variables, scopes, groups that are replaced, hooks and listeners, what tri does by them."""

from __future__ import annotations

import gc
import importlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.compat.triton as compat
from tri.compat.triton import settings
from tri_core import compiler, knobs
from tri_core.cache import default_store
from tri_core.errors import Unsupported
from tuning_kernels import grid, scale_kernel


@pytest.fixture(autouse=True)
def _clean_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of Triton from outside, and none left behind."""
    groups = [
        g
        for g in vars(importlib.import_module("tri.compat.triton.knobs")).values()
        if isinstance(g, settings.base_knobs)
    ]
    for variable in {knob.key for g in groups for knob in g.knob_descriptors.values()}:
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)


@pytest.fixture
def theirs() -> Iterator[Any]:
    with compat.installed():
        yield importlib.import_module("triton.knobs")
    for group in ("runtime", "compilation", "cache", "autotuning", "language", "nvidia", "amd"):
        getattr(importlib.import_module("tri.compat.triton.knobs"), group).reset()
    compat.uninstall()


def launch(kernel: Any, **options: Any) -> Any:
    x = np.arange(256, dtype=np.float32)
    y = np.zeros_like(x)
    with tri.target("cpu"):
        made = kernel[grid](x, y, 256, BLOCK=64, **options)
    np.testing.assert_array_equal(y, 2 * x)
    return made


# --- values -------------------------------------------------------------------------------------------------


def test_a_value_is_assigned_or_of_the_environment_or_the_default(
    theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert theirs.nvidia.mock_ptx_version is None
    monkeypatch.setenv("TRITON_MOCK_PTX_VERSION", "7.5")
    assert theirs.nvidia.mock_ptx_version == "7.5"
    theirs.nvidia.mock_ptx_version = "8.0"
    assert theirs.nvidia.mock_ptx_version == os.environ["TRITON_MOCK_PTX_VERSION"] == "8.0"
    monkeypatch.setenv("TRITON_MOCK_PTX_VERSION", "8.5")
    assert theirs.nvidia.mock_ptx_version == "8.0"
    theirs.nvidia.mock_ptx_version = theirs.env
    assert theirs.nvidia.mock_ptx_version == "8.5"
    theirs.nvidia.mock_ptx_version = "8.0"
    del theirs.nvidia.mock_ptx_version
    assert theirs.nvidia.mock_ptx_version == "8.0"  # what it wrote to the environment


@pytest.mark.parametrize("yes", ["1", "true", "TRUE", "Y", "yes", "on"])
@pytest.mark.parametrize("no", ["0", "false", "n", "NO", "off"])
def test_yes_and_no(theirs: Any, monkeypatch: pytest.MonkeyPatch, yes: str, no: str) -> None:
    assert theirs.amd.use_block_pingpong is None
    assert theirs.language.default_fp_fusion is True
    monkeypatch.setenv("TRITON_HIP_USE_BLOCK_PINGPONG", yes)
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", no)
    assert theirs.amd.use_block_pingpong is True
    assert theirs.language.default_fp_fusion is False


def test_numbers_and_classes(theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert theirs.redis.port == 6379
    monkeypatch.setenv("TRITON_REDIS_PORT", "7")
    assert theirs.redis.port == 7
    monkeypatch.setenv("TRITON_REDIS_PORT", "seven")
    with pytest.raises(RuntimeError, match="expected int"):
        theirs.redis.port  # noqa: B018
    assert theirs.cache.manager_class is None
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "triton.runtime.cache:FileCacheManager")
    assert theirs.cache.manager_class is importlib.import_module("triton.runtime.cache").FileCacheManager
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "triton.runtime.cache")
    with pytest.raises(RuntimeError, match="MODULE:CLASS"):
        theirs.cache.manager_class  # noqa: B018
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "pathlib:Path")
    with pytest.raises(RuntimeError, match="not of type 'CacheManager'"):
        theirs.cache.manager_class  # noqa: B018


def test_propagation_can_be_turned_off(theirs: Any) -> None:
    theirs.propagate_env = False
    try:
        theirs.amd.use_buffer_ops = False
        assert theirs.amd.use_buffer_ops is False
        assert "AMDGCN_USE_BUFFER_OPS" not in os.environ
    finally:
        theirs.propagate_env = True
    theirs.amd.use_buffer_ops = False
    assert os.environ["AMDGCN_USE_BUFFER_OPS"] == "0"


def test_scope_copy_and_reset(theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DUMP_MIR", "before")
    with theirs.amd.scope():
        theirs.amd.dump_mir = "inside"
        theirs.amd.use_async_copy = True
        other = theirs.amd.copy()
        assert (other.dump_mir, other.use_async_copy) == ("inside", True)
        monkeypatch.setenv("TRITON_DUMP_MIR", "later")
        assert other.reset().dump_mir == "later"
        assert theirs.amd.dump_mir == "inside"
    assert theirs.amd.dump_mir == os.environ["TRITON_DUMP_MIR"] == "before"
    assert theirs.amd.use_async_copy is None


def test_groups_of_a_program(theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class mine(theirs.base_knobs):  # type: ignore[misc,name-defined]
        word = theirs.env_str("MINE_WORD", "none")
        flag = theirs.env_opt_bool("MINE_FLAG")

    group = mine()
    assert group.knobs == {"word": "none", "flag": None}
    monkeypatch.setenv("MINE_FLAG", "1")
    assert group.flag is True


def test_folders(theirs: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = os.path.expanduser("~/")
    assert theirs.cache.home_dir == home
    assert theirs.cache.dir == os.path.join(home, ".triton", "cache")
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    assert theirs.cache.dump_dir == str(tmp_path / ".triton" / "dump")
    theirs.cache.home_dir = str(tmp_path / "other")
    assert theirs.cache.override_dir == str(tmp_path / "other" / ".triton" / "override")
    monkeypatch.setenv("TRITON_CUDART_PATH", "/one")
    assert theirs.build.backend_dirs == {"/one"}


def test_a_tool_has_a_path_and_a_version(
    theirs: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = tmp_path / "tool"
    made.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.99'\n")
    made.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(made))
    assert (theirs.nvidia.ptxas.path, theirs.nvidia.ptxas.version) == (str(made), "12.4")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="Cannot find cuobjdump"):
        theirs.nvidia.cuobjdump  # noqa: B018
    with theirs.nvidia.scope():
        theirs.nvidia.cuobjdump = str(made)
        assert theirs.nvidia.cuobjdump.version == "12.4"


# --- what tri does by them ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "text", "knob", "value"),
    [
        ("TRITON_DEBUG", "1", "DEBUG", True),
        ("TRITON_INTERPRET", "1", "INTERPRET", True),
        ("TRITON_ALWAYS_COMPILE", "yes", "ALWAYS_COMPILE", True),
        ("TRITON_PRINT_AUTOTUNING", "1", "AUTOTUNE_PRINT", True),
        ("TRITON_CACHE_AUTOTUNING", "1", "AUTOTUNE_CACHE", True),
        ("TRITON_FRONT_END_DEBUGGING", "1", "FULL_TRACEBACK", True),
        ("TRITON_DISABLE_LINE_INFO", "0", "LINE_INFO", True),
        ("TRITON_DEFAULT_FP_FUSION", "0", "FP_FUSION", False),
        ("TRITON_FORCE_DISABLE_FP_FUSION", "1", "NO_FP_FUSION", True),
        ("TRITON_F32_DEFAULT", "tf32", "DOT_PRECISION", "tf32"),
    ],
)
def test_variables_are_honoured(
    theirs: Any, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, knob: str, value: Any
) -> None:
    monkeypatch.delenv(f"TRI_{knob}", raising=False)
    before = knobs.get(knob)
    assert before != value
    monkeypatch.setenv(variable, text)
    assert knobs.get(knob) == value
    compat.uninstall()
    assert knobs.get(knob) == before
    compat.install()
    monkeypatch.setenv(f"TRI_{knob}", str(before or ""))  # tri's own word is the nearer one
    if before is not None:
        assert knobs.get(knob) == before


def test_kernels_are_kept_where_the_program_says(theirs: Any, tmp_path: Path) -> None:
    token = knobs.overrides.set(None)
    with theirs.cache.scope():
        theirs.cache.dir = str(tmp_path)
        assert default_store().directory == tmp_path / "tri"
        files = importlib.import_module("triton.runtime.cache").get_cache_manager("ab" * 32)
        assert Path(files.cache_dir).parent == tmp_path
    assert default_store().directory != tmp_path / "tri"
    knobs.overrides.reset(token)


def test_dumps_and_overrides(theirs: Any, tmp_path: Path) -> None:
    assert knobs.get("DUMP_DIR") is None
    theirs.cache.dump_dir = str(tmp_path)
    assert knobs.get("DUMP_DIR") is None
    theirs.compilation.dump_ir = True
    assert knobs.get("DUMP_DIR") == tmp_path
    theirs.compilation.override = True
    theirs.cache.override_dir = str(tmp_path / "o")
    assert knobs.get("OVERRIDE_DIR") == tmp_path / "o"


@pytest.mark.usefixtures("cpu")
def test_arithmetic_of_launches(theirs: Any) -> None:
    kernel = scale_kernel()
    assert launch(kernel).metadata.options["enable_fp_fusion"] is True
    with theirs.language.scope():
        theirs.language.default_fp_fusion = False
        assert launch(kernel).metadata.options["enable_fp_fusion"] is False
        assert launch(kernel, enable_fp_fusion=True).metadata.options["enable_fp_fusion"] is True
        assert [theirs.language.fp_fusion_enabled(asked) for asked in (None, True)] == [False, True]
        theirs.language.force_disable_fp_fusion = True
        assert launch(kernel, enable_fp_fusion=True).metadata.options["enable_fp_fusion"] is False
        assert theirs.language.fp_fusion_enabled(True) is False
    assert launch(kernel).metadata.options["enable_fp_fusion"] is True


def test_settings_without_a_meaning_are_named_once(
    theirs: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings, "_noted", set())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            theirs.amd.use_buffer_atomics = False
        monkeypatch.setenv("TRITON_STORE_BINARY_ONLY", "1")
        for _ in range(2):
            compat.uninstall()
            compat.install()
    assert [
        r.args[0] for r in caplog.records if r.name == settings.__name__ and isinstance(r.args, tuple)
    ] == [
        "AMDGCN_USE_BUFFER_ATOMICS",
        "TRITON_STORE_BINARY_ONLY",
    ]
    with pytest.raises(Unsupported, match="instrumentation_mode = 'fpsan' has no effect on tri"):
        theirs.compilation.instrumentation_mode = "fpsan"


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("variable", ["TRITON_CACHE_DIR", "TRITON_HOME"])
def test_kernels_are_kept_where_the_environment_says(
    theirs: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.delenv("TRI_CACHE_DIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "theirs"))
    token = knobs.overrides.set(None)
    with knobs.scope(TARGET="cpu"):
        launch(scale_kernel())
    knobs.overrides.reset(token)
    kept = (
        tmp_path / "theirs" if variable == "TRITON_CACHE_DIR" else tmp_path / "theirs" / ".triton" / "cache"
    )
    assert any(p.is_file() for p in kept.rglob("*"))


def test_debugging_is_what_the_environment_says_now(theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs.runtime.debug = True
    theirs.language.default_fp_fusion = False
    monkeypatch.setenv("TRITON_DEBUG", "0")
    assert theirs.runtime.debug is True
    theirs.refresh_knobs()
    assert theirs.runtime.debug is False
    assert theirs.language.default_fp_fusion is False, "others keep what was assigned"
    monkeypatch.setenv("TRITON_DEBUG", "1")
    theirs.refresh_knobs()
    assert theirs.runtime.debug is True


# --- hooks and listeners ------------------------------------------------------------------------------------


def test_a_replaced_group_takes_its_hooks_along(theirs: Any) -> None:
    before = theirs.runtime
    before.launch_enter_hook.add(print)
    theirs.runtime = before.copy().reset()
    try:
        theirs.runtime.launch_enter_hook = len
        theirs.runtime.jit_cache_hook = len
        theirs.runtime.debug = True
        assert knobs.get("DEBUG") is True
    finally:
        theirs.runtime = before
    assert before.launch_enter_hook.calls == [print]
    assert before.jit_cache_hook is None
    assert "debug" not in vars(before)
    before.launch_enter_hook.remove(print)


@pytest.mark.usefixtures("cpu")
def test_compile_hooks_are_none_or_a_function(theirs: Any) -> None:
    seen: list[bool] = []
    assert theirs.runtime.jit_cache_hook is theirs.runtime.jit_post_compile_hook is None
    with theirs.runtime.scope():
        theirs.runtime.jit_cache_hook = hook = lambda **facts: seen.append(facts["already_compiled"])
        theirs.runtime.jit_post_compile_hook = hook
        assert theirs.runtime.jit_cache_hook is hook
        launch(scale_kernel())
    assert theirs.runtime.jit_cache_hook is None
    assert seen == [False, True]


@pytest.mark.usefixtures("cpu")
def test_a_launch_whose_compile_a_hook_forbids_is_left_out(theirs: Any) -> None:
    kernel, other = scale_kernel(), scale_kernel()
    launch(kernel)
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    with theirs.runtime.scope(), tri.target("cpu"):
        theirs.runtime.jit_cache_hook = lambda **facts: True
        kernel[grid](x, y, 256, BLOCK=64)  # is there already
        made = y.copy()
        y[:] = 0
        assert other[grid](x, y, 256, BLOCK=128) is None
        assert other.warmup(x, y, 256, grid=grid, BLOCK=128) is None
        assert not y.any()
    with tri.target("cpu"):
        assert other[grid](x, y, 256, BLOCK=128) is not None
    np.testing.assert_array_equal(y, made)


@pytest.mark.usefixtures("cpu")
def test_loads_are_told(theirs: Any) -> None:
    seen: list[tuple[str, Any, str]] = []

    def hook(word: str) -> Any:
        return lambda module, function, name, group, digest: seen.append((word, module, name))

    with theirs.runtime.scope():
        theirs.runtime.kernel_load_start_hook.add(hook("start"))
        theirs.runtime.kernel_load_end_hook.add(hook("end"))
        theirs.runtime.kernel_unload_hook.add(hook("unload"))
        kernel = scale_kernel()
        made = launch(kernel)
        assert [(word, name) for word, _, name in seen] == [("start", "scale"), ("end", "scale")]
        assert seen[0][1] is None
        assert seen[1][1] is not None
        seen.clear()
        del kernel, made
        compiler.forget()
        gc.collect()
    launch(scale_kernel())
    assert [word for word, _, _ in seen] in ([], ["unload"])  # a runtime may keep what it has loaded


@pytest.mark.usefixtures("cpu")
def test_listener_of_compiles(theirs: Any) -> None:
    seen: list[dict[str, Any]] = []

    def listener(**facts: Any) -> None:
        seen.append(facts)

    with theirs.compilation.scope(), knobs.scope(ALWAYS_COMPILE=True):
        theirs.compilation.listener = listener
        made = launch(scale_kernel())
    with theirs.compilation.scope():
        theirs.compilation.listener = listener
        launch(scale_kernel())
        theirs.compilation.listener = None
        launch(scale_kernel(), num_warps=8)
    launch(scale_kernel())
    first, second = seen
    assert set(first) == {"src", "metadata", "metadata_group", "times", "cache_hit"}
    assert first["metadata"]["hash"] == made.hash
    assert first["metadata"]["target"].backend == "cpu"
    assert Path(first["metadata_group"]["scale.ttir"]).read_text() == made.asm["ttir"]
    times = first["times"]
    assert isinstance(times, theirs.CompileTimes)
    assert times.lowering_stages[0][0] == "ttir"
    assert times.total == times.ir_initialization + times.total_lowering + times.store_results
    assert min(times.ir_initialization, times.total_lowering, times.store_results) > 0
    assert (first["cache_hit"], second["cache_hit"]) == (False, True)
    assert (second["times"].total_lowering, second["times"].store_results) == (0, 0)


@pytest.mark.usefixtures("cpu")
def test_a_replaced_group_takes_its_listener_along(theirs: Any) -> None:
    seen: list[str] = []
    before = theirs.compilation
    copied = before.copy().reset()
    copied.listener = lambda **_: seen.append("of a copy")
    launch(scale_kernel())
    assert not seen
    theirs.compilation = copied
    launch(scale_kernel())
    theirs.compilation = before
    launch(scale_kernel(), num_warps=8)
    with theirs.compilation.scope():
        theirs.compilation.listener = lambda **_: seen.append("of a scope")
        launch(scale_kernel())
    launch(scale_kernel(), num_warps=2)
    assert seen == ["of a copy", "of a scope"]


@pytest.mark.usefixtures("cpu")
def test_listener_of_tuning(theirs: Any) -> None:
    seen: list[dict[str, Any]] = []
    with theirs.autotuning.scope():
        theirs.autotuning.listener = lambda **facts: seen.append(facts)
        kernel = scale_kernel()
        tuned = tri.autotune([tri.Config({"BLOCK": 64}), tri.Config({"BLOCK": 32})], key=[])(kernel)
        x = np.ones(256, np.float32)
        with tri.target("cpu"):
            tuned[grid](x, np.zeros_like(x), 256)
    (facts,) = seen
    assert set(facts) == {"fn", "key", "best_config", "configs_timings", "duration", "cache_hit"}
    assert facts["fn"] is kernel
    assert facts["duration"] > 0
    assert not facts["cache_hit"]
