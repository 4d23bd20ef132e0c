"""PyTorch's Inductor on tri: compile workers, what comes back from them, and a model; ``nox -s inductor`` runs all models."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tri
import tri.compat.triton as compat
import tri.language as tl
from integration.inductor import __main__ as command
from tri.compat.triton.cache import _base32
from tri.compat.triton.targets import GPUTarget
from tri.compat.triton.targets import compile as compile_for_triton

TOP = Path(__file__).parents[2]

WORKER = """
import sys
import tempfile
from pathlib import Path
import tri.compat.triton

if __name__ == "__main__":
    tri.compat.triton.install()
    import copy
    from integration.inductor.workers import GPUS, compiled_by_worker

    for gpu in GPUS:
        folder = Path(tempfile.mkdtemp())
        made = compiled_by_worker(gpu, folder)
        assert made.fn.fn is None and made.fn.arg_names[-1] == "XBLOCK", made.fn
        for result in made.compile_results:
            assert len(result.kernel.hash) == 64
            static = type(result).__name__ == "StaticTritonCompileResult"
            assert static == bool(gpu.image), (gpu, result)
            if not static:
                assert result.kernel.run == result.kernel.launch_over
                assert result.kernel.src.signature["XBLOCK"] == "constexpr"
        files = {file.suffix for file in folder.rglob("triton_poi_fused_0.*")}
        assert gpu.image in ("", *(s[1:] for s in files)), files
        before = made.prepare_for_pickle()
        assert copy.deepcopy(made).fn is not made.fn
        made.restore_after_unpickle(before)
        print(gpu.type, gpu.cc, len(made.compile_results))
"""

#: what Inductor does with a kernel for a wrapper in C++, which launches it without tri; a matmul of descriptors has further parameters
SAVED = """
from pathlib import Path
from types import SimpleNamespace
import tri.compat.triton

tri.compat.triton.install()
import triton
import triton.language as tl
from torch._inductor.codecache import CudaKernelParamCache, get_cpp_wrapper_cubin_path_name
from torch._inductor.runtime.triton_heuristics import CachingAutotuner
from triton.backends.compiler import GPUTarget
from tri_core.errors import LaunchError

@triton.jit
def plain(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)

@triton.jit
def described(x, o, n, BLOCK: tl.constexpr):
    d = tl.make_tensor_descriptor(x, (n, BLOCK), (BLOCK, 1), (BLOCK, BLOCK))
    i = tl.arange(0, BLOCK)
    tl.store(o + i[:, None] * BLOCK + i[None, :], d.load([0, 0]))

def saved(fn):
    types = {"x": "*fp32", "o": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = triton.compiler.ASTSource(fn, types, {(3,): 64}, attrs)
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})
    tuner = SimpleNamespace(inductor_meta={"kernel_name": "k"}, triton_meta={}, device_props=SimpleNamespace(type="cuda"))
    scratch = {"global_scratch": None, "profile_scratch": None}
    launcher = SimpleNamespace(
        bin=kernel, config=triton.Config({"BLOCK": 64}, num_warps=8), def_args=[], call_args=[], **scratch
    )
    CachingAutotuner.save_gpu_kernel(tuner, 0, launcher)
    return kernel, CudaKernelParamCache.get("k")

kernel, found = saved(plain)
assert Path(found[get_cpp_wrapper_cubin_path_name()]).read_bytes() == kernel.image.data
assert (found["mangled_name"], found["num_warps"], found["shared_mem"]) == (kernel.metadata.entry, 8, kernel.shared)
assert found["mangled_name"].encode() in kernel.image.data
print("saved")
try:
    saved(described)
except LaunchError as error:
    assert "described" in str(error) and "cpp_wrapper" in str(error)
    print("refused")
"""


def _run(*arguments: str, **environment: str) -> str:
    paths = [str(TOP), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(900)
def test_workers_compile_for_gpus_without_a_driver(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    said = _run(str(script), TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"))
    assert [line.split()[:2] for line in said.splitlines()] == [
        ["cuda", "80"], ["cuda", "90"], ["cuda", "100"], ["hip", "gfx942"], ["xpu", "pvc"],
    ]  # fmt: skip


@pytest.mark.timeout(900)
def test_a_model_equals_eager() -> None:
    pytest.importorskip("torch")
    said = _run("-m", "integration.inductor", "mlp_softmax_dropout")
    assert "1 of 1 right" in said
    assert "nvidia:sm_90a: 8 of 8 kernels compiled, 8 taken by the static launcher" in said


@pytest.mark.timeout(900)
def test_kernels_that_are_written_for_a_gpu_compile_for_every_target() -> None:
    pytest.importorskip("torch")
    said = _run("-m", "integration.inductor.written", "--every", "25", "--targets", "all")
    for target in ("nvidia:sm_90a", "amd:gfx942", "intel:pvc", "cpu"):
        assert f" programs: {target}: " in said
        assert f" programs of templates: {target}: " in said


@pytest.mark.timeout(900)
def test_kernels_do_in_simulators_what_they_do_on_the_cpu() -> None:
    pytest.importorskip("torch")
    said = _run("-m", "integration.inductor.replayed", "linear_relu", "cumulative_sum")
    verdicts = [line.partition(", ")[0] for line in said.splitlines() if line.startswith("sim:")]
    assert len(verdicts) == 3
    for verdict in verdicts:
        right, _, number = verdict.partition(": ")[2].removesuffix(" as on the CPU").partition(" of ")
        assert right == number != "0"


def _has_level_zero() -> bool:
    try:
        ctypes.CDLL("libze_loader.so.1")
    except OSError:
        return False
    return True


@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="the drivers that stand in are ELF libraries")
@pytest.mark.parametrize("gpu", ["hip", "xpu"])
def test_what_workers_compile_without_a_driver_runs_on_one_that_stands_in(gpu: str) -> None:
    pytest.importorskip("torch")
    if gpu == "hip":
        pytest.importorskip("hip")
    elif not _has_level_zero():
        pytest.skip("no loader of Level Zero")
    assert f"{gpu}: 2 of 2 versions are eager's" in _run("-m", "integration.inductor.standins", gpu)


@pytest.mark.timeout(900)
def test_wrappers_in_cpp_get_image_and_entry_or_a_reason(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "saved.py"
    script.write_text(SAVED)
    assert _run(str(script), TORCHINDUCTOR_CACHE_DIR=str(tmp_path)).split() == ["saved", "refused"]


@pytest.mark.timeout(900)
def test_a_second_process_compiles_nothing() -> None:
    pytest.importorskip("torch")
    said = _run("-m", "integration.inductor.second_process")
    assert "files that the second added to tri's cache: 0" in said


@pytest.mark.timeout(300)
def test_what_kernels_read_and_write_is_found_in_their_ttir() -> None:
    pytest.importorskip("torch")
    assert "51 of 51 right" in _run("-m", "integration.inductor.accesses")


@tri.jit
def plain(x, o, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)


@tri.jit
def matmul(a, b, c, K, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    m = tl.arange(0, BLOCK)
    left = tl.make_tensor_descriptor(a, (BLOCK, K), (K, 1), (BLOCK, BLOCK))
    right = tl.make_tensor_descriptor(b, (K, BLOCK), (BLOCK, 1), (BLOCK, BLOCK))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        acc = tl.dot(left.load([0, k]), right.load([k, 0]), acc)
    tl.store(c + m[:, None] * BLOCK + m[None, :], acc)


def test_only_images_that_the_signature_launches_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    with compat.installed():
        copied = tri.ASTSource(plain, {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"BLOCK": 128})
        for target, suffix in (
            (GPUTarget("cuda", 90, 32), "cubin"),
            (GPUTarget("hip", "gfx942", 64), "hsaco"),
        ):
            kernel = compile_for_triton(copied, target)
            file = tmp_path / _base32(kernel.hash) / f"plain.{suffix}"
            assert file.read_bytes() == kernel.image.data
        types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
        multiplied = tri.ASTSource(
            matmul, types, {"BLOCK": 128}, {(i,): [["tt.divisibility", 16]] for i in range(4)}
        )
        kernel = compile_for_triton(multiplied, GPUTarget("cuda", 90, 32))
        assert not kernel.metadata.is_launched_by_signature
        host = compile_for_triton(copied, "cpu")
        assert host.metadata.is_launched_by_signature
        for made in (kernel, host):
            assert not (tmp_path / _base32(made.hash)).exists()
            assert pickle.loads(pickle.dumps(made)).hash == made.hash


def test_a_case_that_ends_its_process_is_wrong_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = (
        "import sys\n"
        "for name in sys.argv[4:]:\n"
        "    if name == 'dies': sys.exit(3)\n"
        "    print('wrong' if name == 'differs' else 'right', name, 0, flush=True)\n"
    )
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda arguments, **options: popen([arguments[0], "-c", script, *arguments[1:]], **options),
    )
    names = ["one", "differs", "dies", "two"]
    assert command._apart(names)
    said = capsys.readouterr().out
    assert "2 of 4 right\nwrong: differs\nwrong: dies" in said
    assert "dies                     ended" in said
