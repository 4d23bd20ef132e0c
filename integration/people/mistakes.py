"""Usual mistakes of those who write their first kernels, and what is said of each: what, where, remedy; lines under pytest.

A test of each is written to a file, and pytest run over it on the CPU target, as a user would.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MISTAKES", "Said", "program", "said", "said_in"]

_HEAD = """\
import math
import numpy as np
import tri
import tri.language as tl

x = np.arange(128, dtype=np.float32)
y = np.zeros(128, dtype=np.float32)
LIMIT = 3

def plain(v):
    return v if v > 0 else 0
"""
#: a kernel around a body, and its launch
_KERNEL = """
@tri.jit
def {name}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
{body}


def test_{name}():
    with tri.target("cpu"):
        {launch}
"""
_LAUNCH = "{name}[(1,)](x, y, 128, BLOCK=128)"
_STORE = "tl.store(y_ptr + offsets, v, mask)"
_LOAD = "v = tl.load(x_ptr + offsets, mask)"

#: by name: the body of a kernel (that ends in a store if it has none) and, where that is the mistake, the launch
MISTAKES: dict[str, str | tuple[str, str]] = {
    "undefined_name": "v = tl.load(x_ptr + offset, mask)",
    "misspelt_function": "v = tl.laod(x_ptr + offsets, mask)",
    "misspelt_argument": "v = tl.load(x_ptr + offsets, masks=mask)",
    "misspelt_method": f"{_LOAD}\nv = v.summ()",
    "global_value": f"{_LOAD}\nv = v * LIMIT",
    "numpy_call": f"{_LOAD}\nv = np.exp(v)",
    "math_of_python": f"{_LOAD}\nv = math.sqrt(v)",
    "indexing_a_pointer": "v = x_ptr[offsets]",
    "assigning_an_item": f"{_LOAD}\nv[0] = 1.0",
    "indexing_a_block": f"{_LOAD}\nv = v[0]",
    "load_of_no_pointer": "v = tl.load(offsets, mask)",
    "store_to_no_pointer": f"{_LOAD}\ntl.store(v, v)",
    "range_of_a_parameter": "v = tl.arange(0, n)",
    "range_of_100": "v = tl.arange(0, 100)",
    "mask_of_another_shape": "v = tl.load(x_ptr + offsets, tl.arange(0, 64) < n)",
    "shapes_that_differ": f"{_LOAD}\nv = v + tl.arange(0, 64)",
    "if_of_a_block": f"{_LOAD}\nif v > 0:\n    v = v * 2",
    "while_of_a_block": f"{_LOAD}\nwhile v > 0:\n    v = v - 1",
    "function_without_jit": f"{_LOAD}\nv = plain(v)",
    "float_index": "v = tl.load(x_ptr + offsets / 2, mask)",
    "type_by_branch": "v = 0\nif n > 3:\n    v = 2.5\ntl.store(y_ptr, v)",
    "type_changed_by_loop": "v = 0\nfor i in range(n):\n    v = v + 0.5\ntl.store(y_ptr, v)",
    "bound_in_a_branch": "if n > 3:\n    v = 2.5\ntl.store(y_ptr, v)",
    "bound_in_a_loop": "for i in range(n):\n    v = 2.5\ntl.store(y_ptr, v)",
    "break_in_a_loop": "for i in range(n):\n    if i > 3:\n        break\ntl.store(y_ptr, 1.0)",
    "list_of_values": f"{_LOAD}\nv = [v + i for i in range(n)]",
    "dictionary": f"{_LOAD}\nv = {{'a': v}}['b']",
    "try_in_a_kernel": f"try:\n    {_LOAD}\nexcept ValueError:\n    pass",
    "bits_of_floats": f"{_LOAD}\nv = v & 1",
    "dot_of_rank_1": f"{_LOAD}\nv = tl.dot(v, v)",
    "reduction_of_axis_1": f"{_LOAD}\nv = tl.sum(v, axis=1)",
    "none_for_a_pointer": (_LOAD, "{name}[(1,)](None, y, 128, BLOCK=128)"),
    "argument_left_out": (_LOAD, "{name}[(1,)](x, y, BLOCK=128)"),
    "grid_of_a_float": (_LOAD, "{name}[(128 / 128,)](x, y, 128, BLOCK=128)"),
    "no_grid": (_LOAD, "{name}(x, y, 128, BLOCK=128)"),
    "list_for_an_array": (_LOAD, "{name}[(1,)]([1.0, 2.0], y, 128, BLOCK=128)"),
}


@dataclass(frozen=True)
class Said:
    """Report of pytest about a mistake: its lines, and flags for an error that gives the fault, the place and
    a remedy.
    """

    lines: int
    what: bool
    where: bool
    remedy: bool

    @property
    def complete(self) -> bool:
        """True where nothing is missing."""
        return self.what and self.where and self.remedy


def program(names: list[str]) -> str:
    """A file of tests with the mistakes ``names``; KeyError for one that is unknown."""
    return "".join([_HEAD, *map(_test, names)])


def _test(name: str) -> str:
    entry = MISTAKES[name]
    body, launch = entry if isinstance(entry, tuple) else (entry, _LAUNCH)
    whole = body if "tl.store" in body else f"{body}\n{_STORE}"
    return _KERNEL.format(name=name, body=textwrap.indent(whole, " " * 4), launch=launch.format(name=name))


def said(folder: Path, names: list[str] | None = None) -> dict[str, Said | None]:
    """Reports of pytest, run in ``folder``, about the mistakes ``names`` (all by default); None for one that
    went unnoticed.
    """
    chosen = list(MISTAKES) if names is None else names
    file = folder / "test_mistakes.py"
    file.write_text(program(chosen))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--color=no",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        str(file),
    ]
    environment = {
        **os.environ,
        "TRI_CACHE_DIR": str(folder / "cache"),
        "COLUMNS": "120",
        "PYTEST_ADDOPTS": "",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    reports = said_in(done.stdout)
    return {name: reports.get(name) for name in chosen}


def said_in(output: str) -> dict[str, Said]:
    """By mistake, what ``output`` of pytest says of it."""
    _, _, failures = output.partition(" FAILURES ")
    failures = failures.partition(" short test summary info ")[0]
    found = re.split(r"^_+ test_(\w+) _+$", failures, flags=re.MULTILINE)
    return {name: _said(report) for name, report in zip(found[1::2], found[2::2], strict=True)}


def _said(report: str) -> Said:
    lines = [line for line in report.splitlines() if line.strip() and not line.startswith("====")]
    errors = [line for line in lines if line.startswith("E ")]
    text = "\n".join(errors)
    ours = re.search(r"tri_core\.errors\.(\w+): (.*)", text)
    return Said(
        len(lines),
        ours is not None and "__" not in ours[2],  # names of Python's own methods mean nothing to newcomers
        re.search(r"test_mistakes\.py:\d+", text) is not None,
        "remedy: " in text,
    )


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, each in said(Path(folder)).items():
            print(name, each)
