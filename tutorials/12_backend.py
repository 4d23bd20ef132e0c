# %% [markdown]
# # A backend in an afternoon
#
# `tri new-backend NAME` writes a package that is a working backend for a made-up device: warps of 32 lanes,
# shared memory, a barrier. This page generates one, puts it on the path, and runs a kernel on it. It needs
# `pip install 'tri-frontend[new-backend]'`.

# %%
import os
import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp(prefix="tri-tutorial-"))
made = subprocess.run(
    [sys.executable, "-m", "tri", "new-backend", "acme"],
    cwd=folder,
    check=True,
    capture_output=True,
    text=True,
)
print(made.stdout)
project = folder / "tri-backend-acme"
for path in sorted((project / "src" / "tri_backend_acme").glob("*.py")):
    print(path.name)

# %% [markdown]
# Three files are yours to write: `architectures.py` has the device's numbers, `image.py` calls your compiler,
# `driver.py` your driver. Until then kernels run in the simulator.
#
# Plugins are found through entry points, which `pip install -e .` registers. Here a folder with the metadata
# is enough:

# %%
sources = project / "src"
metadata = sources / "tri_backend_acme-0.1.0.dist-info"
metadata.mkdir()
(metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tri-backend-acme\nVersion: 0.1.0\n")
(metadata / "entry_points.txt").write_text("[tri]\nacme = tri_backend_acme.plugin\n")

program = """
import numpy as np
import tri, tri.language as tl

@tri.jit
def row_max(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=-float("inf"))
    tl.store(out_ptr + row, tl.max(x, axis=0))

x = np.random.default_rng(0).standard_normal((4, 100)).astype(np.float32)
out = np.empty(4, np.float32)
with tri.target("sim:acme:a1"):
    row_max[(4,)](x, out, 100, BLOCK=128)
np.testing.assert_array_equal(out, x.max(axis=1))
print("right on sim:acme:a1")
"""
(folder / "program.py").write_text(program)
paths = os.pathsep.join([str(sources), os.environ.get("PYTHONPATH", "")])
ran = subprocess.run(
    [sys.executable, "program.py"],
    cwd=folder,
    env={**os.environ, "PYTHONPATH": paths},
    capture_output=True,
    text=True,
    check=False,
)
print(ran.stdout, ran.stderr)
assert ran.returncode == 0

# %% [markdown]
# That kernel went through tri's layouts and passes, and was lowered with the words of `tri_backend_acme`.
# From here on:
#
# 1. Put your device's numbers into `architectures.py`, and run the tests that were generated.
# 2. Have `image.py` turn LLVM IR into your image.
# 3. Have `driver.py` load and launch it; then `tri-conformance --target acme:a1` tries all that it can.
