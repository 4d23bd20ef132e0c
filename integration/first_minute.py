"""``python -m integration.first_minute``: what somebody meets who has just installed tri, in the environment that runs this.

Needs tri-frontend, tri-backend-nvidia, mypy, pyright and jedi there; an error if something is not as it should be.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

from integration.stubs.examples import CHECKERS, COMPLETIONS, EXPECTED, KERNELS, WRONG

_KERNELS = dedent(
    """
    import numpy as np

    import tri
    import tri.language as tl


    @tri.jit
    def double(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, 2 * tl.load(x_ptr + i))


    @tri.jit
    def wrong(x_ptr):
        tl.store(x_ptr, undefined_name)


    @tri.jit
    def fails_late(x_ptr):
        tl.store(x_ptr, tl.inline_asm_elementwise("no such instruction;", "=r", [], tl.int32, True, 1))


    x = np.arange(8, dtype=np.float32)
    out = np.empty_like(x)
    double[(1,)](x, out, N=8)
    np.testing.assert_array_equal(out, 2 * x)
    try:
        tri.compile(tri.ASTSource(fails_late, {"x_ptr": "*i32"}), target="nvidia:sm_90a")
    except tri.TritonError as error:
        assert ".target sm_90a" in error.asm["ptx"]
    else:
        raise AssertionError("the assembler takes anything")
    print("kernels run, a compile that fails late keeps its stages: tri", tri.__version__)
    wrong[(1,)](x)
    """
)
#: lines of a traceback that has the user's frames and the message alone
_SHORT = 16


def _traceback(script: Path, **variables: str) -> list[str]:
    """Python's traceback of the last line of ``script``, which is an error."""
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "TRI_CACHE_DIR": str(script.parent / "cache"), **variables},
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "keeps its stages" in done.stdout, done.stdout + done.stderr
    print(done.stdout, end="")
    return done.stderr.splitlines()


def main() -> None:
    """Try each thing, and say what was tried."""
    python = Path(sys.executable)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"first": _KERNELS, "kernels": KERNELS, "wrong": WRONG, "completions": COMPLETIONS}
        for stem, text in files.items():
            (folder / f"{stem}.py").write_text(text)
        short = _traceback(folder / "first.py")
        assert len(short) <= _SHORT, "\n".join(short)
        assert not any("dispatcher.py" in line for line in short), "\n".join(short)
        whole = _traceback(folder / "first.py", TRI_FULL_TRACEBACK="1")
        assert any("dispatcher.py" in line for line in whole), "\n".join(whole)
        print(f"a traceback has {len(short)} lines, in full {len(whole)}")
        for checker, lines_of in CHECKERS.items():
            found = lines_of(python, folder / "kernels.py", folder / "wrong.py")
            assert found == EXPECTED, f"{checker}: {found}"
            print(f"{checker} takes the kernels, and sees each of {len(EXPECTED['wrong.py'])} mistakes")
        subprocess.run([python, folder / "completions.py"], check=True, cwd=folder)
        print("jedi completes the language")


if __name__ == "__main__":
    main()
