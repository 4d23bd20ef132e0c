"""Programs that the host's bench runs, each in a process of its own."""

from __future__ import annotations

__all__ = ["FLA", "KERNEL", "SERVED", "SHARES", "TUNED", "TUNED_BY_TRITON", "WAYS"]

_ASK = "import triton; print(type(triton).__name__)"
#: how a program starts another one -> a program that does, and prints what ``triton`` is there
WAYS: dict[str, str] = {
    **{
        method: f"""
import multiprocessing, tri.compat.triton
def ask():
    import triton
    return type(triton).__name__
if __name__ == "__main__":
    tri.compat.triton.install()
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.apply(ask))
"""
        for method in ("fork", "spawn", "forkserver")
    },
    "subprocess": f"""
import subprocess, sys, tri.compat.triton
tri.compat.triton.install()
subprocess.run([sys.executable, "-c", {_ASK!r}])
""",
    # as torchrun starts its workers: a new process of the same interpreter, for a module, with an environment of its own
    "python -m": f"""
import os, pathlib, subprocess, sys, tri.compat.triton
tri.compat.triton.install()
pathlib.Path("asks.py").write_text({_ASK!r})
subprocess.run([sys.executable, "-u", "-m", "asks"], env={{**os.environ, "RANK": "0", "WORLD_SIZE": "1"}})
""",
}

#: a program that launches kernels of a module for the first time and prints the seconds of each launch
SERVED = """
import json, time
import numpy as np
import os
import kernels, tri

served = tri.serve("bundle", missing="log") if "SERVED" in os.environ else None
x = np.ones(1024, np.float32)
o = np.zeros_like(x)
times = []
for number in range(kernels.COUNT):
    kernel = getattr(kernels, f"kernel_{number}")
    begin = time.perf_counter()
    kernel[(1,)](x, o, 1024, BLOCK=1024)
    times.append(time.perf_counter() - begin)
    assert (o == 2 * number).all()
print(json.dumps([times, len(served.coverage().missing) if served else 0]))
"""
#: a program that prints the share of first launches from a bundle that each part takes, as cProfile counts
SHARES = """
import cProfile, json, pstats
import numpy as np
import kernels, tri

tri.serve("bundle", missing="log")
x = np.ones(1024, np.float32)
o = np.zeros_like(x)
def launch(number):
    getattr(kernels, f"kernel_{number}")[(1,)](x, o, 1024, BLOCK=1024)
launch(0)
profile = cProfile.Profile()
profile.enable()
for number in range(1, kernels.COUNT):
    launch(number)
profile.disable()
stats = pstats.Stats(profile)
spent = {(file.rsplit("/", 1)[-1], name): row[3] for (file, _, name), row in stats.stats.items()}
parts = {
    "its source": ("kernel_source.py", "read_source"),
    "what it reads": ("dependencies.py", "watched"),
    "its binder": ("first_binder.py", "__init__"),
    "key and store": ("driver.py", "compile"),
    "code in memory": ("reported.py", "load_reported"),
}
found = {part: spent.get(where, 0.0) / stats.total_tt for part, where in parts.items()}
found["what it reads"] -= found["its source"]  # read for that
print(json.dumps(found))
"""
KERNEL = """
@tri.jit
def kernel_{number}(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, at < n) * {number} + {number}, at < n)
"""

MATMUL = """
import time
import {package}, {package}.language as tl

@{package}.jit
def matmul(a_ptr, b_ptr, c_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, n, K):
        a = tl.load(a_ptr + rows[:, None] * n + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * n + columns[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], sums.to(tl.float16))

CONFIGS = [
    dict(M=m, N=n, K=k, num_warps=4 if n < 256 else 8, num_stages=stages)
    for m, n in ((64, 128), (128, 128), (128, 256)) for k in (32, 64) for stages in (3, 4)
]
"""
#: compiles twelve configurations for an H200, as a tuner does, and prints the seconds
TUNED = (
    MATMUL.format(package="tri")
    + """
from tri.tuning.compiling import compile_all

configs = [
    tri.Config({n: v for n, v in c.items() if n in "MNK"}, num_warps=c["num_warps"], num_stages=c["num_stages"])
    for c in CONFIGS
]
with tri.target("nvidia:sm_90a"):
    def plan(config):
        return matmul.plan(tl.float16, tl.float16, tl.float16, 4096, **config.all_kwargs())
    begin = time.perf_counter()
    good, failed = compile_all(configs, plan, None, lambda: None)
    print(time.perf_counter() - begin)
assert len(good) == 12, failed
"""
)
#: the same under Triton, one after the other, as its tuner does
TUNED_BY_TRITON = (
    MATMUL.format(package="triton")
    + """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

types = {**dict.fromkeys(["a_ptr", "b_ptr", "c_ptr"], "*fp16"), "n": "i32", **dict.fromkeys("MNK", "constexpr")}
aligned = {(number,): [["tt.divisibility", 16]] for number in range(4)}
begin = time.perf_counter()
for c in CONFIGS:
    source = ASTSource(matmul, types, {n: c[n] for n in "MNK"}, aligned)
    options = {n: c[n] for n in ("num_warps", "num_stages")}
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
print(time.perf_counter() - begin)
"""
)

#: the first forward and backward pass of an operator of fla-core (``sys.argv[1]``), which tunes its kernels; prints the seconds
FLA = """
import importlib, sys, time
if sys.argv[2] == "tri":
    import tri.compat.triton
    tri.compat.triton.install()
sys.path.append(sys.argv[3])
import torch

name = sys.argv[1]
operator = getattr(importlib.import_module(f"fla.ops.{name}"), f"chunk_{name}")
shape = (1, 2048, 8, 64)
def rows(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16, requires_grad=True)
def gates(*shape):
    return torch.nn.functional.logsigmoid(torch.randn(*shape, device="cuda")).bfloat16().requires_grad_()
q, k, v = rows(*shape), rows(*shape), rows(*shape)
given = {
    "gla": lambda: (q, k, v, gates(*shape)),
    "kda": lambda: (q, k, v, gates(*shape), torch.rand(*shape[:3], device="cuda").bfloat16().requires_grad_()),
    "gsa": lambda: (q, k, v, rows(*shape), gates(*shape)),
    "retention": lambda: (q, k, v),
}[name]()
torch.cuda.synchronize()
begin = time.perf_counter()
out, _ = operator(*given)
out.float().sum().backward()
torch.cuda.synchronize()
print(time.perf_counter() - begin)
"""
