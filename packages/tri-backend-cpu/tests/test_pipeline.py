"""Targets, stages and their products."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_support import Kernel, cpu_runtime
from tri_backend_cpu.target import ARCHITECTURES, host_arch, make_target, vector_bits
from tri_core import compiler, plugins
from tri_core.api import TargetError, TargetKey, Unsupported
from tri_core.compiler import IRSource


def small() -> Kernel:
    """Everything whose code depends on the target: masks, exp, f16, reductions, dots, divisions."""
    k = Kernel({"x": "*f16", "o": "*f32", "n": "i32"})
    index = k.range(256)
    mask = k.compare(2, index, k.splat(k["n"], (256,)))
    value = k.convert(
        "arith.extf", k.load(k.offsets("x", index), mask, k.constant(0.0, "f16", (256,))), "f32"
    )
    e = k.same("math.exp", value)
    (total,) = k.reduce(0, [e], lambda a, b: [k.add(a[0], b[0])])
    e = k.same("arith.divf", e, k.splat(total, (256,)))
    square = k.reshape(e, 16, 16)
    total = k.op(
        "tt.dot",
        [square, square, k.constant(0.0, "f32", (16, 16))],
        ("f32", (16, 16)),
        "inputPrecision = 2 : i32",
    )
    k.store(k.offsets("o", index), k.reshape(total, 256), mask)
    return k


def expected(x: np.ndarray, n: int) -> np.ndarray:
    seen = np.where(np.arange(256) < n, x.astype(np.float64), 0)
    e = (np.exp(seen) / np.exp(seen).sum()).reshape(16, 16)
    return np.where(np.arange(256) < n, (e @ e).ravel(), 0)


@pytest.mark.parametrize("arch", ["", "x86_64", "x86_64-x86-64-v3", "x86_64-x86-64-v4"])
def test_code_for_lesser_processors_runs_here(arch: str, rng: np.random.Generator) -> None:
    """Vectors of 128, 256 and 512 bits, with and without masks, fused operations and f16."""
    if not host_arch().startswith("x86_64"):
        pytest.skip("this machine is no x86")
    here = vector_bits(
        make_target(TargetKey("cpu"), None).spec.features | {"avx512bw", "avx512dq", "avx512vl"}
    )
    target = make_target(TargetKey("cpu", arch), None)
    if target.spec.max_vector_bits > here:
        pytest.skip("this machine lacks the instructions")
    kernel = small().compile(target=f"cpu:{arch}" if arch else "cpu")
    live = cpu_runtime()
    launch = live.launcher(live.load(kernel.image, live.current_device()), kernel.image)
    x = rng.standard_normal(256).astype(np.float16)
    for n in (256, 100):
        o = np.zeros(256, np.float32)
        launch((1, 1, 1), None, [x.ctypes.data, o.ctypes.data, n])
        np.testing.assert_allclose(o, expected(x, n), rtol=1e-5)


@pytest.mark.parametrize("arch", ["aarch64", "aarch64-neoverse-v1", "aarch64-apple-m1", "riscv64"])
def test_cross_compilation(arch: str) -> None:
    kernel = small().compile(target=f"cpu:{arch}")
    data = kernel.image.data
    machine = int.from_bytes(data[18:20], "little")
    assert data[:4] == b"\x7fELF"
    assert machine == {"aarch64": 183, "riscv64": 243}[arch.split("-")[0]]
    assert str(kernel.metadata.target) == f"cpu:{arch}"


def test_stages() -> None:
    kernel = small().compile()
    assert list(kernel.asm) == ["ttir", "llir", "asm", "object"]
    assert "define void @kernel(" in str(kernel.asm["llir"])
    assert "kernel:" in str(kernel.asm["asm"])
    assert kernel.metadata.resources["arena"] >= 2 * 1024
    assert kernel.metadata.resources["stored"] == 1024


@pytest.mark.parametrize("stage", ["llir", "asm", "object"])
def test_compilation_goes_on_from_any_stage(stage: str, rng: np.random.Generator) -> None:
    kernel = small().compile()
    content = kernel.image.data if stage == "object" else kernel.asm[stage]
    again = compiler.compile(IRSource(stage, content, kernel.metadata.signature), "cpu", {})
    live = cpu_runtime()
    launch = live.launcher(live.load(again.image, live.current_device()), again.image)
    x, o = rng.standard_normal(256).astype(np.float16), np.zeros(256, np.float32)
    launch((1, 1, 1), None, [x.ctypes.data, o.ctypes.data, 200])
    np.testing.assert_allclose(o, expected(x, 200), rtol=1e-5)


def test_targets() -> None:
    manager = plugins.manager()
    assert str(manager.target(TargetKey("cpu"), None)) == f"cpu:{host_arch()}"
    for arch in ARCHITECTURES:
        spec = manager.target(TargetKey("cpu", arch), None).spec
        assert spec.llvm is not None
        assert spec.max_vector_bits in (128, 256, 512)
    wide = manager.target(TargetKey("cpu", "x86_64", ("avx2", "f16c", "fma")), None)
    assert wide.spec.max_vector_bits == 256
    assert wide.spec.llvm is not None
    assert wide.spec.llvm.features.endswith("+avx2,+f16c,+fma")


@pytest.mark.parametrize(
    ("arch", "near"),
    [("x86_64-znver9", "x86_64-znver"), ("arm64", "aarch64"), ("vax", "known:"), ("aarch65", "aarch64")],
)
def test_unknown_architectures_are_refused(arch: str, near: str) -> None:
    with pytest.raises(TargetError, match=f"(?s)no architecture '{arch}'.*{near}"):
        make_target(TargetKey("cpu", arch), None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tt.call", "a call"),
        ("tt.dot_scaled", "scaled dot"),
    ],
)
def test_what_is_refused_says_where(name: str, words: str) -> None:
    from tri_backend_cpu.analysis.schedule import schedule
    from tri_core.ttir import Block, Op, Type, Value, dtype_of

    block = Block()
    op = Op(name, [], [], {}, None, block, 0)
    op.results.append(Value(Type(dtype_of("f32"), (16,)), 0, op=op))
    block.ops.extend([op, Op("tt.return", [], [], {}, None, block, 1)])
    with pytest.raises(Unsupported, match=words):
        schedule(block)
