"""Kernels that stop, on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/driver/test_gpu_faults.py``.

A fault ends the context, so each case runs in a process of its own, with its kernel in a file of its own.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap

import pytest

from tri_core.api import KernelFault

pytest.importorskip("torch")
pytest.importorskip("tri")

pytestmark = pytest.mark.gpu

KERNELS = """
import pickle, sys
import torch
import tri
import tri.language as tl
from tri_core.api import TriError
from tri_core.plugins import manager

@tri.jit
def checked(x, limit, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i)
    tl.device_assert(value < limit, "too large")
    tl.store(x + i, value + 1)

@tri.jit
def astray(x, far, B: tl.constexpr):
    tl.store(x + far + tl.arange(0, B), 1)

@tri.jit
def blameless(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) + 1)

@tri.jit
def shown(x, flag, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.device_print("values", tl.load(x + i))

def synchronize():
    manager().runtime("cuda").synchronize()

x = torch.arange(512, dtype=torch.int32, device="cuda")
found = []

def attempt(action):
    try:
        action()
    except TriError as error:
        found.append(error)
"""


def run(tmp_path, body, code=0):
    """The errors that ``body`` collects in another process, and what it writes to stdout."""
    left = tmp_path / "found"
    file = tmp_path / "faulty.py"
    end = f"\nopen({str(left)!r}, 'wb').write(pickle.dumps(found))\nsys.stdout.flush()\nimport os\nos._exit(0)\n"
    file.write_text(KERNELS + textwrap.dedent(body) + end)
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stderr[-3000:]
    return pickle.loads(left.read_bytes()), done.stdout


def line_of(text):
    return 1 + next(i for i, line in enumerate(KERNELS.splitlines()) if text in line)


def test_a_false_assertion_is_named_with_its_line(tmp_path):
    (fault, later), _ = run(
        tmp_path,
        """
        checked[(4,)](x, 300, B=128, debug=True)
        attempt(synchronize)
        attempt(lambda: blameless[(1,)](x, B=128))
        """,
    )
    assert isinstance(fault, KernelFault)
    assert fault.kernel == "checked"
    assert "too large" in fault.message
    assert fault.location.file.endswith("faulty.py")
    assert fault.location.line == line_of("device_assert")
    assert fault.program in ((2, 0, 0), (3, 0, 0))
    assert 0 <= fault.thread < 128
    assert isinstance(later, KernelFault)
    assert "the context was lost before" in later.message
    assert "started again" in later.remedy


def test_one_thread_of_one_program(tmp_path):
    (fault,), _ = run(
        tmp_path,
        """
        x[300] = 10_000
        checked[(4,)](x, 5000, B=128, debug=True, num_warps=4)
        attempt(synchronize)
        """,
    )
    assert fault.program == (2, 0, 0)


def test_assertions_that_hold_and_those_that_are_off_do_nothing(tmp_path):
    found, out = run(
        tmp_path,
        """
        checked[(4,)](x, 1000, B=128, debug=True)
        checked[(4,)](x, 0, B=128)
        attempt(synchronize)
        print(int((x == torch.arange(512, device="cuda") + 2).all()))
        """,
    )
    assert found == []
    assert out.strip() == "1"


def test_an_illegal_address_names_the_kernel(tmp_path):
    (fault,), _ = run(
        tmp_path,
        """
        blameless[(1,)](x, B=128)
        synchronize()
        astray[(1,)](x, 1 << 40, B=128)
        attempt(synchronize)
        """,
    )
    assert isinstance(fault, KernelFault)
    assert fault.kernel == "astray"
    assert "masks" in fault.remedy


def test_of_two_kernels_both_are_named(tmp_path):
    (fault,), _ = run(
        tmp_path,
        """
        synchronize()
        blameless[(1,)](x, B=128)
        astray[(1,)](x, 1 << 40, B=128)
        attempt(synchronize)
        """,
    )
    assert fault.kernels[-1] == "astray" or "astray" in fault.message


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("int8", "-3"), ("int16", "-3"), ("int32", "-3"), ("int64", "-3"), ("uint8", "253"), ("float16", "-3.000000"),
        ("bfloat16", "-3.000000"), ("float32", "-3.000000"), ("float64", "-3.000000"), ("bool", "1"),
    ],
)  # fmt: skip
def test_printing_of_all_types(tmp_path, dtype, expected):
    fill = {"uint8": "253", "bool": "True"}.get(dtype, "-3")
    _, out = run(
        tmp_path,
        f"""
        y = torch.full((4,), {fill}, dtype=torch.{dtype}, device="cuda")
        shown[(1,)](y, 0, B=4)
        attempt(synchronize)
        """,
    )
    lines = sorted(out.split("\n")[:-1])
    assert lines == [f"pid (0, 0, 0) idx ({i}) values: {expected}" for i in range(4)]
