"""Kernels as people write them and mistakes that they make, and what type checkers and editors say of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

__all__ = ["CHECKERS", "COMPLETIONS", "EXPECTED", "KERNELS", "TRITON", "WRONG"]

KERNELS = dedent(
    """
    from typing import assert_type

    import numpy as np

    import tri
    import tri.language as tl
    from tri.language.extra import libdevice

    SCALE = tl.constexpr(0.5)


    @tri.jit
    def add(x_ptr: tl.tensor, y_ptr: tl.tensor, out_ptr: tl.tensor, n: tl.tensor, BLOCK: tl.constexpr = 128) -> None:
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask, other=0).to(tl.float32)
        assert_type(tl.load(x_ptr).to(tl.float16), tl.tensor)
        assert_type(-x + 2 * y - 1.5 / x, tl.tensor)
        assert_type((x < y) & ~x | (1 >= x), tl.tensor)
        assert_type(x == y, tl.tensor)
        assert_type(x[:, None] >> 3, tl.tensor)
        assert_type(x.T, tl.tensor)
        if n > 3:
            x += 1
        tl.store(out_ptr + offsets, (x + y) * SCALE, mask=mask)


    @tri.jit
    def softmax(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
        STEPS: tl.constexpr = BLOCK // 2
        i = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=-float("inf"))
        assert_type(tl.max(x, axis=0), tl.tensor)
        assert_type(tl.max(x, 0, return_indices=True), tuple[tl.tensor, tl.tensor])
        assert_type(x.min(0, True), tuple[tl.tensor, tl.tensor])
        assert_type(x.max(0), tl.tensor)
        assert_type(tl.math.exp2(x), tl.tensor)
        assert_type(libdevice.acos(x), tl.tensor)
        assert_type(tl.randn4x(1, i), tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor])
        assert_type(tl.reduce(x, 0, larger), tl.tensor)
        assert_type(tl.reduce((x, i), 0, larger), tuple[tl.tensor, ...])
        low, high = tl.split(tl.reshape(x, (STEPS, 2)))
        z = tl.exp(x - x.max(0))
        tl.store(out_ptr + i, z / z.sum(0), mask=i < n)
        tl.store(out_ptr + tl.arange(0, STEPS), tl.where(low < high, low, high), cache_modifier=".cg")


    @tri.jit
    def larger(x: tl.tensor, y: tl.tensor) -> tl.tensor:
        return tl.maximum(x, y)


    @tri.jit(do_not_specialize=["K"])
    def matmul(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BK: tl.constexpr, FAST: tl.constexpr = None):
        a = tl.make_tensor_descriptor(a_ptr, [BM, K], [K, 1], [BM, BK])
        total = tl.zeros((BM, BM), dtype=tl.float32)
        for k in tl.range(0, K, BK, num_stages=3):
            total = tl.dot(a.load([0, k]), a.load([0, k]).T, total)
        for step in tl.static_range(4):
            total += step
        a.store([0, 0], total.to(a.dtype))
        tl.static_assert(tl.target_info.is_cuda() or BM > 4)


    x = np.ones(1000, np.float32)
    add[(tri.cdiv(x.size, 128),)](x, x, x, x.size, BLOCK=128)
    add[lambda meta: (tri.cdiv(x.size, meta["BLOCK"]),)](x, x, x, x.size, BLOCK=128, num_warps=4)
    print(add.warmup(x, x, x, 4, BLOCK=128, grid=(1,)).asm["ptx"])


    @tri.autotune(configs=[tri.Config({"BLOCK": 128}, num_warps=4)], key=["n"])
    @tri.jit
    def tuned(x_ptr, n, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), n)


    tuned[(1,)](x, 5)
    """
)
#: each line is wrong
MISTAKES = (
    "tl.load(p).too(tl.float32)",
    "tl.load()",
    "tl.arange(0, 4, 5, 6)",
    "tl.load(p, maks=p)",
    "tl.sum(p, axis=0).mean()",
    "tl.max(p, 0, return_indices=True).to(tl.int32)",
    "tl.laod(p)",
    "tl.math.exq(p)",
    "libdevice.acos(p, p)",
    "p.store(p, _semantic=None)",
)
WRONG = (
    "import tri.language as tl\nfrom tri.language.extra import libdevice\n\n\ndef wrong(p: tl.tensor) -> None:\n"
    + "".join(f"    {line}\n" for line in MISTAKES)
)
FIRST = 6
TRITON = dedent(
    """
    from typing import assert_type

    import triton
    import triton.language as tl
    from triton.language.extra import libdevice


    @triton.jit
    def add(x_ptr: tl.tensor, n: tl.tensor, BLOCK: tl.constexpr = 8) -> None:
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        assert_type(x.to(tl.float32) + 1, tl.tensor)
        assert_type(tl.math.exp(x), tl.tensor)
        assert_type(libdevice.acos(x), tl.tensor)
        tl.store(x_ptr + i, x)


    add[(triton.cdiv(4, 2),)](None, 5)
    """
)
COMPLETIONS = dedent(
    '''
    import jedi

    KERNEL = """import tri
    import tri.language as tl

    @tri.jit
    def kernel(p, BLOCK: tl.constexpr):
        x = tl.load(p + tl.arange(0, BLOCK))
        """

    for code, names in {
        "x.": {"to", "sum", "store", "T", "dtype"},
        "(x + 1).": {"to", "reshape"},
        "(x[:, None] * 2).": {"to", "trans"},
        "tl.max(x, 0).": {"to", "exp"},
        "tl.": {"load", "float32", "math", "make_tensor_descriptor"},
        "tl.math.": {"exp2", "rsqrt"},
        "kernel.": {"warmup", "run"},
    }.items():
        found = {c.name for c in jedi.Script(KERNEL + code).complete()}
        assert names <= found, (code, names - found)
    (load,) = jedi.Script(KERNEL + "tl.load(").get_signatures()
    assert [p.name for p in load.params][:3] == ["pointer", "mask", "other"], load
    assert "_semantic" not in load.to_string(), load
    (dot,) = jedi.Script(KERNEL + "tl.dot").help()
    assert "product" in dot.docstring().lower() or "matri" in dot.docstring().lower(), dot.docstring()
    '''
)
#: what is to be said of KERNELS and WRONG
EXPECTED = {"wrong.py": set(range(FIRST, FIRST + len(MISTAKES)))}


def lines_of_mypy(python: Path, *files: Path, path: str = "") -> dict[str, set[int]]:
    """The lines of each file that mypy complains of."""
    command = ["-m", "mypy", "--check-untyped-defs", "--output", "json", *map(str, files)]
    done = subprocess.run(
        [sys.executable, *command, "--python-executable", str(python)],
        capture_output=True,
        text=True,
        cwd=files[0].parent,
        env={"MYPYPATH": path, "PATH": ""},
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, set[int]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            message = json.loads(line)
            if message["severity"] == "error":
                found.setdefault(Path(message["file"]).name, set()).add(message["line"])
    return found


def lines_of_pyright(python: Path, *files: Path, path: str = "") -> dict[str, set[int]]:
    """The lines of each file that pyright complains of."""
    settings = {"include": [f.name for f in files], "stubPath": path or "typings"}
    (files[0].parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["-m", "pyright", "--outputjson", "--pythonpath", str(python)]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=files[0].parent, timeout=300
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, set[int]] = {}
    for message in json.loads(done.stdout)["generalDiagnostics"]:
        if message["severity"] == "error":
            line = message["range"]["start"]["line"] + 1
            found.setdefault(Path(message["file"]).name, set()).add(line)
    return found


Checker = Callable[..., dict[str, set[int]]]
#: by name: a function of the environment's Python, files, and a folder of stubs; the lines of each file that are wrong
CHECKERS: dict[str, Checker] = {"mypy": lines_of_mypy, "pyright": lines_of_pyright}
