"""``torch.compile`` on tri where something is wrong: the program gets eager's result, or an error that says what; nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TOP = Path(__file__).parents[2]

#: what every program below begins with; its arguments are the number of threads that compile, and code to run before PyTorch comes
HEAD = """
import sys
from pathlib import Path
import tri.compat.triton

if __name__ == "__main__":
    tri.compat.triton.install()
    exec(sys.argv[2])
    import torch
    from torch._dynamo.utils import counters
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    config.cpu_backend = "triton"
    config.compile_threads = int(sys.argv[1])
    x = torch.linspace(-1, 1, 64)

    def told(step, mode=""):
        Path("mode").write_text(mode)
        print("--", mode)
        try:
            print("right" if torch.allclose(torch.compile(step)(x), step(x)) else "WRONG")
        except Exception as error:
            print(error)
"""

#: a kernel of the program's own that tri refuses
KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def reshaped(a, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.reshape(tl.load(a + i), (3, 5)))

def refused(x):
    o = torch.empty_like(x)
    reshaped[(1,)](x, o, x.numel(), BLOCK=64)
    return o
"""

#: a sitecustomize: in the processes that PyTorch's worker forks, compiles go wrong by the file "mode".  One that hangs
#: has its limit, of which the seconds are not waited for
WORKER = """
import os, signal, sys, time
from pathlib import Path

def ends(src):
    os._exit(3)

def hangs(src):
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 60
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    while True:
        time.sleep(0.01)

def refuses(src):
    from tri_core.errors import CompilationError
    raise CompilationError(f"{src.name} is refused", remedy="write another one")

def fresh(src):
    from tri_core.errors import CompilationError
    raise CompilationError("inherited" if INHERITED else "loaded again")

def spoil():
    global INHERITED
    if "torch._inductor.compile_worker.subproc_pool" in sys.modules:
        INHERITED = "tri_core.compiler.driver" in sys.modules and any("mlir" in name for name in sys.modules)
        import tri.compilation
        real = tri.compilation.compile

        def compile(src, *given, **options):
            if mode := Path(__file__).with_name("mode").read_text():
                globals()[mode](src)
            return real(src, *given, **options)

        tri.compilation.compile = compile

os.register_at_fork(after_in_child=spoil)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wrong_kernels.py").write_text(KERNELS)
    (tmp_path / "sitecustomize.py").write_text(WORKER)
    return tmp_path


def _reported(folder: Path, body: str, threads: int, before: str = "") -> tuple[list[str], str]:
    """The output of a program with ``body``, each ``told`` by itself, and what it wrote to its errors."""
    script = folder / "program.py"
    script.write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    paths = [str(folder), str(TOP), *filter(None, sys.path)]
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRI_CACHE_DIR": str(folder / "tri")}
    done = subprocess.run(
        [sys.executable, str(script), str(threads), before],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **caches},
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [part.partition("\n")[2].strip() for part in done.stdout.split("-- ")[1:]], done.stderr


WRONG = """
torch.__version__ = "2.99.0"
import wrong_kernels
AsyncCompile.wait_pool_ready(300)
assert AsyncCompile.use_process_pool()
told(lambda x: x.cos().sin())
told(lambda x: wrong_kernels.refused(x.cos()).sin())
told(lambda x: x.exp().cos(), "fresh")
told(lambda x: x.exp().sin(), "refuses")
told(lambda x: x.sin().exp(), "hangs")
told(lambda x: x.cos().exp(), "ends")
told(lambda x: x.softmax(0))
"""


@pytest.mark.timeout(600)
def test_kernels_that_are_refused_and_workers_that_hang_or_end_are_reported(folder: Path) -> None:
    (first, own, fresh, inductors, hung, ended, last), errors = _reported(folder, WRONG, 2)
    assert first == "right"
    # the program's own kernel: its name, the node that launches it, and that leaving tri would not help
    assert "Shape element 0 must be a power of 2" in own
    assert "node triton_kernel_wrapper of reshaped" in own
    assert "remedy: use 4 for 3" in own
    assert "refused outside of the graph, too" in own
    assert "inherited" in fresh
    assert "triton_poi_fused_exp_sin_0 is refused" in inductors
    assert "nodes exp_sin (kernel triton_poi_fused_exp_sin_0)" in inductors
    assert (
        "remedy: write another one; leave tri for this graph: torch.compile(..., backend='aot_eager')"
        in inductors
    )
    assert "triton_poi_fused_exp_sin_0 has been compiling for 900 s" in hung
    assert "nodes exp_sin" in hung
    assert "remedy: TRI_COMPILE_TIMEOUT" in hung
    assert "compilation subprocess exited unexpectedly" in ended
    assert "TORCHINDUCTOR_COMPILE_THREADS=1" in ended
    # a worker that ended is replaced
    assert last == "right"
    assert errors.count("PyTorch 2.99.0 compiles by tri") == 1


CACHED = """
told(lambda x: x.cos().sin())
print(counters["inductor"]["fxgraph_cache_hit"])
"""


@pytest.mark.timeout(600)
def test_entries_of_caches_that_are_spoilt_or_of_another_compiler_are_not_read(folder: Path) -> None:
    assert _reported(folder, CACHED, 1)[0] == ["right\n0"]
    entries = [file for file in (folder / "tri").rglob("*") if file.is_file()]
    assert entries
    spoilt = b"of another version"
    for file in entries:
        file.write_bytes(spoilt)
    # for CPU tensors PyTorch keys a graph, which is text there, without the compiler: the kernel is asked for again
    other = "import triton\ntriton.runtime.cache.triton_key = lambda: 'another'"
    assert _reported(folder, CACHED, 1, other)[0] == ["right\n1"]
    assert any(file.read_bytes() != spoilt for file in entries if file.exists())
