"""Exclusions from pytest's collection here: the toy is a project with tests of its own, which need it
installed.
"""

from __future__ import annotations

collect_ignore = ["linalg_backend", "riscv_backend", "toy_backend"]
