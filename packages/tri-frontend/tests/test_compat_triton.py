"""``import triton`` means tri: names, refusals, the driver, and ways in."""

from __future__ import annotations

import contextvars
import importlib
import importlib.metadata
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tri
import tri.compat.triton as compat
from tri.compat.triton.table import GONE, MODULES
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core import knobs, plugins
from tri_core.api import LanguageExtension, hookimpl
from tri_core.errors import CompilationError, LaunchError, OutOfResources, TriError, Unsupported
from tri_core.plugins import PluginManager, candidate_of

KERNEL = """
import sys
import numpy as np
import triton
import triton.language as tl
from triton.language.math import exp

@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, exp(tl.load(x_ptr + i, i < n)), i < n)
"""

RUN = """
x = np.linspace(-1, 1, 100, dtype=np.float32)
y = np.zeros_like(x)
scale[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100, BLOCK=64)
np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)
print("done", sys.argv[1:], __name__)
"""


@pytest.fixture(autouse=True)
def _fake_backend(tmp_path: Path) -> Iterator[None]:
    """Not the fake one: the CPU's, which this package depends on."""
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu)])), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with compat.installed():
        yield


def test_install_is_undone() -> None:
    module = importlib.import_module("triton.language")
    assert module.load is tri.language.load
    compat.install()  # once more does nothing
    compat.uninstall()
    assert "triton" not in sys.modules
    assert "triton.language" not in sys.modules
    assert not compat.is_installed()


def test_installed_keeps_what_was_installed_before() -> None:
    with compat.installed():
        pass
    assert compat.is_installed()


def test_refused_when_the_real_one_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    compat.uninstall()
    monkeypatch.setitem(sys.modules, "triton", ModuleType("triton"))
    with pytest.raises(TriError, match="imported already") as caught:
        compat.install()
    assert "before anything imports triton" in str(caught.value)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_module_of_the_table_imports_and_its_single_names_resolve(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__spec__ is not None
    for single in MODULES[name].names:
        assert getattr(module, single) is not None
    for single in MODULES[name].refused:
        with pytest.raises(AttributeError, match=single):
            getattr(module, single)


@pytest.mark.parametrize("name", sorted(GONE))
def test_dropped_modules_say_what_to_do(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named") as caught:
        importlib.import_module(name)
    assert ":" in str(caught.value)


def test_missing_names() -> None:
    language = importlib.import_module("triton.language")
    assert not hasattr(language, "no_such_name")
    with pytest.raises(ImportError, match=r"triton\.profiler\.start: tri has no sessions"):
        exec("from triton.profiler import start", {})
    with pytest.raises(ImportError, match="tri has no no_such_name"):
        exec("from triton.language import no_such_name", {})
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("triton.no_such_module")


def test_names_are_tris_own() -> None:
    triton: Any = importlib.import_module("triton")
    runtime: Any = importlib.import_module("triton.runtime.jit")
    core: Any = importlib.import_module("triton.language.core")
    errors: Any = importlib.import_module("triton.compiler.errors")
    assert triton.__version__ == importlib.metadata.version("triton") == compat.VERSION
    assert triton.jit is tri.jit
    assert runtime.JITFunction is tri.JITFunction
    assert isinstance(tri.jit(_kernel), triton.JITFunction)
    assert core.float32 is tri.language.float32
    assert core._unwrap_if_constexpr([tri.language.constexpr(3), 4]) == [3, 4]
    assert core.get_int_dtype(32, True) is tri.language.int32
    assert core.get_int_dtype(8, False) is tri.language.uint8
    assert errors.CompilationError is CompilationError
    assert triton.OutOfResources is OutOfResources
    assert "load" in dir(importlib.import_module("triton.language"))


def _kernel(x: Any) -> None: ...


def test_driver_follows_the_target() -> None:
    driver: Any = importlib.import_module("triton.runtime").driver
    assert importlib.import_module("triton.runtime.driver").active is driver.active  # type: ignore[attr-defined]
    with tri.target("cpu") as target:
        current = driver.active.get_current_target()
        assert (current.backend, current.arch) == ("cpu", target.key.arch)
        assert driver.active.get_current_device() == 0
        assert driver.active.get_current_stream() == 0
        interface = driver.active.get_device_interface()
        interface.synchronize()
        start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
        start.record()
        end.record()
        assert start.elapsed_time(end) > 0
        with pytest.raises(LaunchError, match="device 1"):
            interface.set_device(1)
        assert driver.active.utils.get_device_properties(0)["multiprocessor_count"] >= 1
        driver.set_active(driver.active)
        with pytest.raises(Unsupported, match="no driver of tri"):
            driver.set_active(object())


def test_targets_and_backends() -> None:
    compiler: Any = importlib.import_module("triton.backends.compiler")
    backends: Any = importlib.import_module("triton.backends").backends  # type: ignore[attr-defined]
    compile_: Any = importlib.import_module("triton.compiler.compiler")
    assert "cpu" in backends
    assert "no such" not in backends
    with tri.target("cpu") as target:
        active = importlib.import_module("triton.runtime").driver.active  # type: ignore[attr-defined]
        assert isinstance(active, backends["cpu"].driver)
        assert backends["cpu"].driver.is_active()
        gpu = active.get_current_target()
    backend = compile_.make_backend(gpu)
    assert backend.parse_options({"num_warps": 8, "unknown": 1}).num_warps == 8
    assert str(target.key) in backend.hash()
    assert not compiler.BaseBackend.supports_target(compiler.GPUTarget("none such", 1, 32))
    with pytest.raises(TriError, match="none such"):
        compile_.make_backend(compiler.GPUTarget("none such", 1, 32))


def test_compile_takes_a_target_of_either_kind(tmp_path: Path) -> None:
    triton: Any = importlib.import_module("triton")
    compiler: Any = importlib.import_module("triton.compiler")
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    sys.path.insert(0, str(tmp_path))
    try:
        kernel = importlib.import_module("script").scale
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("script", None)
    source = compiler.ASTSource(
        kernel, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64}
    )
    with tri.target("cpu"):
        gpu = triton.runtime.driver.active.get_current_target()
    for target in (gpu, "cpu"):
        assert "tt.func" in triton.compile(source, target=target).asm["ttir"]


def test_cache_files_and_groups() -> None:
    cache: Any = importlib.import_module("triton.runtime.cache")
    with tri.target("cpu"):
        files = cache.get_cache_manager(cache.triton_key())
        assert files.get_file("a.txt") is None
        path = files.put("text", "a.txt")
        assert Path(path).read_text() == "text"
        files.put_group("group", {"a.txt": path})
        assert files.get_group("group") == {"a.txt": path}
        assert files.get_group("other") is None


def test_knobs_read_and_refuse() -> None:
    theirs: Any = importlib.import_module("triton.knobs")
    with knobs.scope(ALWAYS_COMPILE=True):
        assert theirs.compilation.always_compile is True
    own: Any = importlib.import_module("tri.knobs")
    with own.runtime.scope():
        theirs.runtime.launch_enter_hook.add(print)
        assert own.runtime.launch_enter_hook.calls == [print]
    theirs.runtime.debug = False  # as it is
    with pytest.raises(Unsupported, match="has no effect"):
        theirs.compilation.enable_asan = True
    assert not hasattr(theirs.runtime, "no_such_knob")


def test_line_info_is_the_opposite_of_tri_s() -> None:
    theirs: Any = importlib.import_module("triton.knobs")
    own: Any = importlib.import_module("tri.knobs")
    with own.compilation.scope():
        assert theirs.compilation.disable_line_info is True
        theirs.compilation.disable_line_info = False
        assert own.compilation.line_info is True
        assert theirs.compilation.disable_line_info is False
        theirs.compilation.disable_line_info = None
        assert own.compilation.line_info is False


def test_hooks_and_settings_of_tuning_are_those_of_tri() -> None:
    theirs: Any = importlib.import_module("triton.knobs")
    chain = theirs.runtime.launch_enter_hook
    assert isinstance(chain, theirs.HookChain)
    assert chain.calls == []
    with theirs.runtime.scope(), theirs.autotuning.scope():
        theirs.runtime.launch_exit_hook = print
        assert tri.knobs.runtime.launch_exit_hook.calls == [print]
        theirs.autotuning.cache = True
        assert tri.knobs.autotuning.cache is True
    assert theirs.autotuning.cache is False


def test_resources_by_their_names() -> None:
    errors: Any = importlib.import_module("triton.runtime.errors")
    error = pickle.loads(pickle.dumps(errors.OutOfResources(5, 3, "shared memory")))
    assert (error.required, error.limit, error.name) == (5, 3, "shared memory")
    assert str(error) == "out of shared memory: 5 needed, 3 there"


def test_allocators_are_kept() -> None:
    triton: Any = importlib.import_module("triton")
    allocation: Any = importlib.import_module("triton.runtime._allocation")

    def allocate(size: int, alignment: int, stream: int | None) -> None: ...

    def in_a_context() -> None:
        triton.set_allocator(allocate)
        assert allocation._allocator.get() is allocate
        assert not allocation.has_profile_allocator()
        allocation.set_profile_allocator(allocate)
        assert allocation.has_profile_allocator()

    contextvars.copy_context().run(in_a_context)


#: what PyTorch's compiler imports from Triton
INDUCTOR = {
    "triton": "Config JITFunction jit autotune heuristics compile cdiv next_power_of_2 set_allocator knobs language "
    "backends compiler runtime testing tools",
    "triton.compiler": "CompiledKernel",
    "triton.compiler.compiler": "ASTSource make_backend triton_key",
    "triton.compiler.errors": "CompilationError",
    "triton.backends": "backends BaseBackend",
    "triton.backends.compiler": "GPUTarget",
    "triton.runtime": "driver",
    "triton.runtime.jit": "JITFunction KernelInterface ConstexprFunction native_specialize_impl mangle_type",
    "triton.runtime.autotuner": "Autotuner Config Heuristics autotune OutOfResources PTXASError",
    "triton.runtime.cache": "triton_key _base32",
    "triton.runtime._allocation": "_allocator",
    "triton.runtime.interpreter": "InterpretedFunction",
    "triton.language": "constexpr core dtype make_tensor_descriptor math",
    "triton.language.extra": "libdevice",
    "triton.language.standard": "_log2",
    "triton.language.core": "view _unwrap_if_constexpr get_int_dtype",
    "triton.tools.tensor_descriptor": "TensorDescriptor",
    "triton.testing": "do_bench get_dram_gbps get_max_simd_tflops get_max_tensorcore_tflops nvsmi",
    "triton.knobs": "runtime HookChain nvidia cache",
    "triton._utils": "find_paths_if get_iterable_path",
}


@pytest.mark.parametrize("name", INDUCTOR)
def test_names_that_torch_compile_imports(name: str) -> None:
    module = importlib.import_module(name)
    for wanted in INDUCTOR[name].split():
        exec(f"from {name} import {wanted}", {})
        assert hasattr(module, wanted)


def test_what_a_plugin_adds_to_the_language_is_found() -> None:
    libdevice: Any = importlib.import_module("triton.language.extra.libdevice")
    for namespace in ("cuda", "hip"):
        module: Any = importlib.import_module(f"triton.language.extra.{namespace}.libdevice")
        assert module.tanh is libdevice.tanh
    extension = LanguageExtension(namespace="mine", module="math")
    plugin: Any = ModuleType("tri_mine")
    plugin.TRI_PLUGIN_API = (1, 0)
    plugin.tri_language = hookimpl(lambda: [extension])
    sys.modules["tri_mine"] = plugin
    with plugins.use(PluginManager([candidate_of(plugin)])):
        mine: Any = importlib.import_module("triton.language.extra.mine")
        assert mine.hypot is importlib.import_module("math").hypot
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("triton.language.extra.yours")


def test_kernels_are_kernel_interfaces() -> None:
    triton: Any = importlib.import_module("triton")
    kernel = tri.jit(_kernel)
    assert isinstance(kernel, triton.KernelInterface)
    assert isinstance(triton.heuristics({})(kernel), triton.KernelInterface)
    assert not isinstance(_kernel, triton.KernelInterface)

    class Wrapped(triton.KernelInterface):  # type: ignore[misc]
        def run(self, *args: Any, grid: Any, warmup: bool) -> Any:
            return args, grid, warmup

    assert Wrapped()[(3,)](1, 2) == ((1, 2), (3,), False)
    assert Wrapped().warmup(1, grid=(1,)) == ((1,), (1,), True)
    assert isinstance(Wrapped(), triton.KernelInterface)
    assert not isinstance(kernel, Wrapped)


def test_small_helpers() -> None:
    jit: Any = importlib.import_module("triton.runtime.jit")
    utils: Any = importlib.import_module("triton._utils")
    array = np.zeros(4, np.float32)
    assert [jit.mangle_type(v) for v in (array, 3, 2.5, True, None)] == [
        "*fp32",
        "i32",
        "fp32",
        "u1",
        "constexpr",
    ]
    arrays = [jit.native_specialize_impl(None, a, True, True, True) for a in (array, 16, 3, 1)]
    assert arrays[1:] == [("i32", "D"), ("i32", None), ("constexpr", 1)]
    assert arrays[0] == ("*kfp32", "D" if array.ctypes.data % 16 == 0 else None)
    described = TensorDescriptor(np.zeros((8, 8), np.float32), [8, 8], [8, 1], [4, 4])
    assert jit.mangle_type(described) == "tensordesc<fp32[4, 4]>"
    assert jit.native_specialize_impl(None, (described, 16), False, True, True) == (
        ("tensordesc<fp32[4, 4]>", "i32"),
        (None, "D"),
    )
    nested = [1, (2, [3])]
    paths = utils.find_paths_if(nested, lambda path, leaf: leaf > 1)
    assert paths == [(1, 0), (1, 1, 0)]
    assert utils.get_iterable_path(nested, (1, 1, 0)) == 3


def test_script_and_module_run_unchanged(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(KERNEL + RUN)
    for arguments in (["script.py", "a", "b"], ["-m", "script", "a", "b"]):
        command = [sys.executable, "-m", "tri.compat.triton", *arguments]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert "done ['a', 'b'] __main__" in ran.stdout
    empty = subprocess.run(
        [sys.executable, "-m", "tri.compat.triton"], capture_output=True, text=True, check=False
    )
    assert empty.returncode == 2
    assert "usage" in empty.stderr


def test_pytest_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import triton\n\ndef test(): assert triton.jit.__module__ == 'tri.jit'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tri.compat.triton.plugin", "test_it.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_what_is_compiled_for_is_known_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(*unused: Any) -> Any:
        raise AssertionError("a driver was asked")

    backends: Any = importlib.import_module("triton.backends").backends
    driver: Any = importlib.import_module("triton.runtime").driver
    cache: Any = importlib.import_module("triton.runtime.cache")
    torch = ModuleType("torch")
    vars(torch)["version"] = SimpleNamespace(cuda=None, hip=None, xpu=None, cpu="as if")
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(PluginManager, "probe", probe)
    assert len(cache.triton_key()) == 64
    assert backends["cpu"].driver.is_active()
    assert isinstance(driver.active, backends["cpu"].driver)


def test_a_driver_made_active_chooses_where_nothing_else_does() -> None:
    backends: Any = importlib.import_module("triton.backends").backends
    driver: Any = importlib.import_module("triton.runtime").driver
    driver.set_active(backends["cpu"].driver())
    try:
        assert driver.active.get_current_target().backend == "cpu"
        assert isinstance(driver.active, backends["cpu"].driver)
    finally:
        driver.reset_active()
