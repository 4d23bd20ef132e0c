"""What code that launches and times kernels itself reads and calls: PyTorch's launchers, Triton's tutorials."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tri
import tri.compat.triton as compat
import tri.language as tl
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core import knobs, plugins
from tri_core.errors import DescriptorError, LaunchError
from tri_core.plugins import PluginManager, candidate_of


@pytest.fixture(autouse=True)
def _fake_backend(tmp_path: Path) -> Iterator[None]:
    """Not the fake one: the CPU's."""
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu)])), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with compat.installed():
        yield


def module(name: str) -> Any:
    return importlib.import_module(name)


@tri.jit
def double(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, 2 * tl.load(x_ptr + i, i < n), i < n)


def compiled(**options: Any) -> Any:
    x = np.zeros(8, np.float32)
    return double.warmup(x, x, 8, BLOCK=8, grid=(1,), **options)


# --- compiled kernels ---------------------------------------------------------------------------------------


def test_a_kernel_says_what_launchers_pass_on() -> None:
    kernel = compiled(num_warps=2, num_stages=4)
    assert (kernel.num_warps, kernel.num_ctas, kernel.num_stages) == (2, 1, 4)
    assert kernel.shared == kernel.metadata.shared == 0
    assert kernel.packed_metadata == (2, 1, 0)
    assert kernel.cluster_dims == kernel.metadata.cluster_dims == (1, 1, 1)
    assert kernel.metadata.warp_size == kernel.metadata.threads_per_warp
    assert (kernel.metadata.num_ctas, kernel.metadata.num_stages) == (1, 4)
    assert kernel.metadata.sanitize_overflow is True, "options are there by name"
    assert kernel.kernel == kernel.image.data
    assert not hasattr(kernel.metadata, "maxnreg"), "no option of this target"
    with pytest.raises(AttributeError, match="no 'gears'; options of this one: debug, "):
        kernel.metadata.gears  # noqa: B018


def test_handles_are_made_when_asked_for() -> None:
    kernel = compiled(num_stages=7)  # as no other test has it: nobody has launched it
    assert kernel.module is None
    kernel._init_handles()
    loaded = kernel.module
    assert loaded is not None
    assert kernel.function is loaded
    kernel._init_handles()
    assert kernel.module is loaded
    assert pickle.loads(pickle.dumps(kernel)).module is None


def test_a_kernel_that_was_launched_is_loaded() -> None:
    out, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel = double[(1,)](out, x, 8, BLOCK=8)
    assert kernel.module is not None


def test_a_launcher_runs_a_kernel_as_pytorchs_compiler_does() -> None:
    kernel = compiled()
    kernel._init_handles()
    out, x, seen = np.zeros(16, np.float32), np.arange(16, dtype=np.float32), []
    run, function, packed = kernel.run, kernel.function, kernel.packed_metadata
    run(2, 1, 1, 0, function, packed, "facts", seen.append, lambda m: seen.append(("end", m)), out, x, 16)
    assert out.tolist() == (2 * x).tolist()
    assert seen == ["facts", ("end", "facts")]
    out[:] = 0
    run(1, 1, 1, 0, function, packed, None, None, None, out, x, 16)
    assert out.tolist() == [*(2 * x[:8]).tolist(), *[0.0] * 8]


def test_facts_of_a_launch_are_made_where_a_hook_is_set() -> None:
    kernel = compiled()
    x = np.arange(8, dtype=np.float32)
    assert kernel.launch_metadata((1, 1, 1), 0, x, x, 8) is None
    runtime, seen = module("triton").knobs.runtime, []
    with runtime.scope():
        runtime.launch_enter_hook = lambda facts: seen.append(facts.get())
        facts = kernel.launch_metadata((1, 2, 1), 7, x, x, 8)
        kernel.run(1, 1, 1, 0, None, None, facts, runtime.launch_enter_hook, None, np.empty_like(x), x, 8)
    assert [(f["name"], f["grid"], f["stream"]) for f in seen] == [("double", (1, 2, 1), 7)]


def test_a_kernel_without_its_function_says_so() -> None:
    kernel = pickle.loads(pickle.dumps(compiled()))
    for use in (kernel._init_handles, lambda: kernel.launch_metadata((1, 1, 1), 0)):
        with pytest.raises(LaunchError, match="does not know its arguments"):
            use()


def test_there_is_ttgir_without_a_gpu() -> None:
    kernel = compiled()
    assert "ttgir" in kernel.asm
    assert kernel.asm["ttgir"] == kernel.asm["ttir"]
    assert "tt.func" in kernel.asm["ttgir"]
    assert "ttgir" not in list(kernel.asm), "no stage of its own"
    assert "ptx" not in kernel.asm


def test_options_of_tritons_are_accepted(caplog: pytest.LogCaptureFixture) -> None:
    out, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    for options in (
        {"arch": "sm90"},
        {"override_arch": "gfx942"},
        {"enable_reflect_ftz": False},
        {"default_fp_fusion": False},
        {"extern_libs": None},
    ):
        out[:] = 0
        kernel = double[(1,)](out, x, 8, BLOCK=8, **options)
        assert out.tolist() == (2 * x).tolist()
        assert kernel.metadata.enable_fp_fusion is ("default_fp_fusion" not in options)
        source = module("triton.compiler").ASTSource(
            double, {"out_ptr": "*fp32", "x_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 8}
        )
        assert module("triton").compile(source, options=options).name == "double"


def test_the_architecture_is_a_setting() -> None:
    runtime = module("triton").knobs.runtime
    with runtime.scope():
        runtime.override_arch = "sm80"
        assert knobs.get("ARCH") == "sm80"
        assert compiled().metadata.target.backend == "cpu", "no architecture of this backend"
    assert knobs.get("ARCH") is None


def test_libdevice_of_processors() -> None:
    assert module("triton.language.extra.cpu.libdevice").erf is module("triton.language.extra.libdevice").erf


# --- devices ------------------------------------------------------------------------------------------------


def test_limits_of_the_device_that_there_are_not_say_so() -> None:
    limits = module("triton").runtime.driver.active.utils.get_device_properties(None)
    assert limits["multiprocessor_count"] > 0
    with pytest.raises(
        KeyError, match=r"max_num_regs: cpu:.* has no such limit; it has multiprocessor_count"
    ):
        limits["max_num_regs"]


def test_a_tensor_of_the_device_in_use_is_on_it() -> None:
    torch = pytest.importorskip("torch")
    device = module("triton").runtime.driver.active.get_active_torch_device()
    assert torch.zeros(2, device=device).device == device == torch.zeros(2).device


# --- arrays without elements --------------------------------------------------------------------------------


def test_arrays_without_elements_are_arguments() -> None:
    torch = pytest.importorskip("torch")
    for empty in (torch.empty(0), torch.empty(3, 0), tri.reinterpret(torch.empty(0), tl.int32)):
        double[(1,)](empty, empty, 0, BLOCK=8)
    full = torch.zeros(8)
    double[(1,)](full, torch.empty(0), 0, BLOCK=8)
    compiled()[(1, 1, 1)](torch.empty(0), torch.empty(0), 0)
    assert full.tolist() == [0.0] * 8


def test_an_object_that_stands_for_no_elements_is_an_argument() -> None:
    class Pointer:
        dtype, shape = tl.float32, (0,)

        def data_ptr(self) -> int:
            return 0

    class Null(Pointer):
        shape = (1,)

    double[(1,)](Pointer(), Pointer(), 0, BLOCK=8)
    with pytest.raises(LaunchError, match="is null"):
        double[(1,)](Null(), Null(), 0, BLOCK=8)


# --- timing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gives", [True, False], ids=["gives arrays", "gives nothing"])
def test_what_launches_nothing_is_timed_where_it_ran(gives: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from tri_core import target_selection
    from tri_runtime import runtime

    torch = pytest.importorskip("torch")

    def preferred() -> Any:
        raise AssertionError("the device that is preferred on this machine did nothing")

    monkeypatch.setattr(target_selection, "default", preferred)
    x = torch.ones(4)

    def work() -> Any:
        return torch.add(x, x) if gives else None

    timed = importlib.import_module("tri.testing.bench")._runtime_of(work)
    assert timed is runtime("cpu")
    assert module("triton").testing.do_bench(work, warmup=1, rep=2) > 0


def test_arrays_of_numpy_are_timed_on_the_host() -> None:
    x = np.ones(4, np.float32)
    works: list[Callable[[], Any]] = [lambda: x + x, lambda: (x, 1), lambda: [x]]
    for work in works:
        assert module("triton").testing.do_bench(work, warmup=1, rep=2) > 0


# --- descriptors that round ---------------------------------------------------------------------------------


@tri.jit
def copy_block(out_ptr, desc, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + i * COLUMNS + j, desc.load([0, 0]))


def to_tf32(x: np.ndarray) -> np.ndarray:
    """Ten bits behind the point, to nearest, ties to even, computed by scaling."""
    exponent = np.floor(np.log2(np.abs(x.astype(np.float64))))
    step = np.exp2(exponent - 10)
    return (np.rint(x / step) * step).astype(np.float32)


@pytest.mark.parametrize("interpreted", [False, True])
def test_descriptors_round_to_tf32(interpreted: bool) -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((8, 8)) * np.exp2(rng.integers(-20, 20, (8, 8)))).astype(np.float32)
    x[0, :4] = 1 + 2.0**-11, 1 + 3 * 2.0**-11, np.float32(2) - np.float32(2.0**-23), -(1 + 2.0**-11)
    out = np.zeros_like(x)
    with knobs.scope(INTERPRET=interpreted):
        for rounds in (False, True):
            desc = TensorDescriptor.from_tensor(x, [8, 8], round_f32_to_tf32=rounds)
            copy_block[(1,)](out, desc, 8, 8)
            assert (out == (to_tf32(x) if rounds else x)).all()
    assert out[0, :4].tolist() == [1.0, 1 + 2.0**-9, 2.0, -1.0]


def test_what_is_no_number_is_not_rounded() -> None:
    x = np.ones((8, 8), np.float32)
    x[0] = np.frombuffer(
        np.array([0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF, 0, 1 << 31, 1, 0x7F7FFFFF], np.uint32),
        np.float32,
    )
    out = np.zeros_like(x)
    copy_block[(1,)](out, TensorDescriptor.from_tensor(x, [8, 8], round_f32_to_tf32=True), 8, 8)
    bits = [0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF, 0, 1 << 31, 0, 0x7F800000]
    assert out[0].view(np.uint32).tolist() == bits


def test_only_float32_rounds_to_tf32() -> None:
    with pytest.raises(DescriptorError, match="round_f32_to_tf32 is only supported for float32 tensors"):
        TensorDescriptor.from_tensor(np.zeros((8, 8), np.float16), [8, 8], round_f32_to_tf32=True)


@tri.jit
def stored_scaled(out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, i * n)


@pytest.mark.parametrize("given", [(1, 8), (1,), ()])
def test_a_compiled_kernel_takes_all_arguments_or_those_that_are_no_constants(given: tuple[int, ...]) -> None:
    """A 1 is specialised on, so that it is a constant that nobody declared: with it and without."""
    out = np.zeros(8, np.int32)
    compiled = stored_scaled[(1,)](out, 1, BLOCK=8)
    out[:] = 0
    compiled[(1, 1, 1)](out, *given)
    np.testing.assert_array_equal(out, np.arange(8))
    with pytest.raises(LaunchError, match="takes 3 arguments"):
        compiled[(1, 1, 1)](out, 1, 8, 9)


# --- without arrays -----------------------------------------------------------------------------------------


def _live(monkeypatch: pytest.MonkeyPatch, available: bool | None) -> Any:
    """Two backends, of which the fake one's device is preferred; PyTorch imported, with that accelerator or not, or not imported."""
    import tri_fake_backend

    names = (
        {}
        if available is None
        else {"torch": SimpleNamespace(fake=SimpleNamespace(is_available=lambda: available))}
    )
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for name, fake in names.items():
        monkeypatch.setitem(sys.modules, name, fake)
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    return plugins.use(PluginManager([candidate_of(cpu), candidate_of(tri_fake_backend)]))


def _fresh() -> Any:
    """A kernel that nobody has launched or compiled."""

    @tri.jit
    def fill(out_ptr, value, BLOCK: tl.constexpr):
        tl.store(out_ptr + tl.arange(0, BLOCK), value)

    return fill


@pytest.mark.parametrize(("available", "backend"), [(True, "fake"), (None, "fake"), (False, "cpu")])
def test_a_warm_up_of_types_is_for_the_target_in_use(
    monkeypatch, available: bool | None, backend: str
) -> None:
    with _live(monkeypatch, available):
        assert module("triton.runtime").driver.active.get_current_target().backend == backend
        assert _fresh().warmup(tl.float32, 1.0, BLOCK=8, grid=(1,)).metadata.target.backend == backend


def test_a_warm_up_of_arrays_is_for_their_device(monkeypatch) -> None:
    with _live(monkeypatch, True):
        kernel = _fresh()
        assert (
            kernel.warmup(np.zeros(8, np.float32), 1.0, BLOCK=8, grid=(1,)).metadata.target.backend == "cpu"
        )
        with tri.target("cpu"):
            assert kernel.warmup(tl.float32, 1.0, BLOCK=8, grid=(1,)).metadata.target.backend == "cpu"


def test_kernels_of_no_arrays_run_on_the_target_in_use(monkeypatch) -> None:
    @tri.jit
    def nothing(n):
        pass

    with _live(monkeypatch, True):
        assert nothing[(1,)](3).metadata.target.backend == "fake"


def test_without_the_layer_types_stand_for_host_arrays(monkeypatch) -> None:
    compat.uninstall()
    with _live(monkeypatch, True):
        assert _fresh().warmup(tl.float32, 1.0, BLOCK=8, grid=(1,)).metadata.target.backend == "cpu"
