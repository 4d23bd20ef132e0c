"""Dialects that are registered while other threads work with IR."""

from __future__ import annotations

import subprocess
import sys
import threading

from tri_core import mlir
from tri_core.mlir import ext


class Late(ext.Dialect, name="late"):
    """Registered late."""


def test_a_dialect_waits_for_nobody_and_is_loaded_before_it_is_used() -> None:
    """A module registers its dialect while it is imported, and who has the lock may wait for that import."""
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        with mlir.session():
            begun.set()
            end.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert begun.wait(60)
        registering = threading.Thread(target=mlir.registry.add_dialect, args=(Late,), daemon=True)
        registering.start()
        registering.join(20)
        assert not registering.is_alive()
        assert mlir._context is not None
        assert not mlir._context.is_dialect_loaded("late")
    finally:
        end.set()
        thread.join()
    with mlir.session() as context:
        assert context.is_dialect_loaded("late")
    del mlir.registry.dialects["late"]


def test_the_bindings_do_without_numpy() -> None:
    """Their builders of elements import it when one is used, and make what the bindings' own make."""
    program = """
import sys
from tri_core.mlir import ir
kinds = ("F64ElementsAttr", "I32ElementsAttr", "I64ElementsAttr", "IndexElementsAttr")
print("numpy" in sys.modules)
with ir.Context() as context:
    print([str(ir.AttrBuilder.get(kind)([1, 2], context)) for kind in kinds])
"""
    without, beside = (
        subprocess.run(
            [sys.executable, "-c", before + program], capture_output=True, text=True, check=True, timeout=60
        ).stdout.splitlines()
        for before in ("", "import numpy")
    )
    assert (without[0], beside[0]) == ("False", "True")
    assert without[1] == beside[1]
    assert "dense<[1, 2]> : tensor<2xindex>" in without[1]
