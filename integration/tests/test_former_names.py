"""Names that passes had before are understood for one version."""

from __future__ import annotations

import tri_core.passes  # noqa: F401  registers those over TTIR
from tri_core import mlir
from tri_core.plugins import manager

#: former name -> name
RENAMED = {
    "lift-control-flow": "cf-to-scf",
    "dead-carried": "remove-dead-iter-args",
    "unpack": "scalarize-packed-ops",
    "gather-blocks": "gather-across-cluster",
    "start-dots": "hoist-async-dots",
    "copy-descriptor-blocks": "lower-descriptors-to-tma",
    "persist": "make-persistent",
    "delay-dots": "pipeline-chained-dots",
    "start-sums": "preload-accumulator",
    "overlap-dots": "sink-dot-waits",
    "split-stores": "subtile-epilogue",
    "round-copies": "tma-round-tf32",
    "place-accumulators": "allocate-tensor-memory",
    "meet-before-dots": "insert-tcgen05-barriers",
}


def test_former_names_are_understood() -> None:
    manager().register_ir(mlir.registry)
    known = {
        former: name
        for name, made in mlir.registry.passes.items()
        for former in getattr(made, "former_names", ())
    }
    assert known == RENAMED
