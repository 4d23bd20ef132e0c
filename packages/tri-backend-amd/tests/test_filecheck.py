"""Files ``filecheck/<pass>.mlir``: what goes into a pass, and beside it what must come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tri_core import mlir
from tri_core.compiler.optimize import optimize
from tri_core.plugins import manager
from tri_core.testing import filecheck

FILES = Path(__file__).parent / "filecheck"


@pytest.mark.parametrize("path", sorted(FILES.glob("*.mlir")), ids=lambda p: p.stem)
def test_file(path: Path) -> None:
    manager().register_ir(mlir.registry)
    text = path.read_text()
    target, passes = (
        next(
            line.removeprefix(f"// {word}: ") for line in text.splitlines() if line.startswith(f"// {word}: ")
        )
        for word in ("TARGET", "RUN")
    )
    filecheck(optimize(text, passes, target=target, options={"num_warps": 8}), text)
