"""Modules on their way down: what each stage makes of a few kernels, for laws that hold of any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tri_conformance.dtypes import name_of
from tri_conformance.kernels import blocks, memory
from tri_conformance.subject import Subject
from tri_core import mlir
from tri_core.api import StageContext
from tri_core.codegen import service
from tri_core.ir import walking
from tri_core.plugins import manager

__all__ = ["CORPUS", "Held", "Sample", "encodings_of", "walk"]


@dataclass(frozen=True)
class Sample:
    """A kernel with arguments and constants, compiled under ``options``."""

    kernel: Any
    arguments: tuple[Any, ...]
    constants: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The language's names of the types of the arrays."""
        found = (name_of(a.dtype) for a in self.arguments if isinstance(a, np.ndarray))
        return tuple(dict.fromkeys(found))

    def source(self, subject: Subject) -> Any:
        """Input of the compiler driver."""
        return subject.source(self.kernel, self.arguments, self.constants)


def _zeros(*types: str) -> tuple[Any, ...]:
    return tuple(np.zeros(16, t) for t in types)


def _dot(kind: str, m: int, n: int, depth: int, warps: int, made: str = "f4") -> Sample:
    constants = {"M": m, "N": n, "K": depth, "HOW": "ieee"}
    return Sample(blocks.dot, _zeros(made, kind, kind, made), constants, {"num_warps": warps})


def _reduced(shape: tuple[int, ...], axis: int, warps: int) -> Sample:
    count = int(np.prod(shape))
    constants = {"KIND": "sum", "AXIS": axis, "SHAPE": shape, "N": count, "M": count // shape[axis]}
    return Sample(blocks.reduce, _zeros("f4", "f4"), constants, {"num_warps": warps})


def _transposed(kind: str, m: int, n: int, warps: int) -> Sample:
    return Sample(memory.transposed, _zeros(kind, kind), {"M": m, "N": n}, {"num_warps": warps})


#: kernels that between them hold every kind of placement that pipelines make
CORPUS: dict[str, Sample] = {
    "copy": Sample(memory.copy, (*_zeros("f2", "f2"), 1000, 1000), {"OTHER": 0, "B": 1024}),
    "copy-bytes": Sample(memory.copy, (*_zeros("i1", "i1"), 1000, 1000), {"OTHER": 0, "B": 4096}, {"num_warps": 8}),
    "transpose-f16": _transposed("f2", 64, 64, 4),
    "transpose-f32": _transposed("f4", 32, 128, 8),
    "transpose-small": _transposed("i8", 4, 8, 4),
    "reduce-1": _reduced((1024,), 0, 4),
    "reduce-2": _reduced((64, 32), 0, 8),
    "reduce-3": _reduced((4, 2, 8), 1, 2),
    "scan": Sample(blocks.scan, _zeros("f4", "f4"), {"KIND": "cumsum", "AXIS": 0, "REVERSE": False, "SHAPE": (64, 32), "N": 2048}),
    "join-split": Sample(blocks.join_split, _zeros("i4", "i4"), {"SHAPE": (16, 32), "N": 512}),
    "dot-f16": _dot("f2", 64, 64, 64, 4),
    "dot-f16-large": _dot("f2", 128, 128, 64, 8),
    "dot-f32": _dot("f4", 32, 32, 32, 4),
    "dot-f64": _dot("f8", 16, 16, 16, 1, "f8"),
    "dot-i8": _dot("i1", 64, 32, 64, 4, "i4"),
    "dot-chain": Sample(blocks.dot_chain, _zeros("f4", "f2", "f2"), {"N": 64}),
}  # fmt: skip


@dataclass(frozen=True)
class Held:
    """An encoding found in a module: its attribute, the tensor's shape, the stage, and the module's warps and lanes."""

    attribute: Any
    shape: tuple[int, ...]
    sample: str
    stage: str
    warps: int
    lanes: int


def walk(subject: Subject, name: str) -> Iterator[tuple[str, Any]]:
    """The modules that the stages make of a kernel of the corpus, by stage; inside an MLIR session."""
    sample = CORPUS[name]
    options = subject.options(**sample.options)
    manager().register_ir(mlir.registry, subject.target)
    pipeline = manager().compose(subject.target, options).pipeline
    source = sample.source(subject)
    context = StageContext(target=subject.target, options=options, kernel_name=source.name, codegen=service())
    artifact = source.build(subject.target, options)
    for stage in pipeline.stages:
        if stage.kind != "module":
            return
        artifact = stage.run(artifact, context).artifact
        yield stage.name, artifact


@cache
def encodings_of(subject: Subject) -> tuple[Held, ...]:
    """The different encodings of all tensors and memory descriptors in the corpus's modules, of kernels that apply."""
    found: dict[tuple[str, tuple[int, ...]], Held] = {}
    with mlir.session():
        for name in CORPUS:
            if subject.undeclared(CORPUS[name].dtypes):
                continue
            for stage, module in walk(subject, name):
                for held in _of_module(module, name, stage):
                    found.setdefault((str(held.attribute), held.shape), held)
    return tuple(found.values())


def _of_module(module: Any, sample: str, stage: str) -> Iterator[Held]:
    attributes = module.operation.attributes
    warps = _integer(attributes, "ttg.num-warps")
    lanes = _integer(attributes, "ttg.threads-per-warp")
    types: set[Any] = set()

    def visit(op: Any) -> Any:
        types.update(result.type for result in op.results)
        return mlir.ir.WalkResult.ADVANCE

    walking.walk(module.operation, visit)
    for type_ in types:
        attribute, shape = _placement(type_)
        if attribute is not None:
            yield Held(attribute, shape, sample, stage, warps, lanes)


def _placement(type_: Any) -> tuple[Any, tuple[int, ...]]:
    """The encoding and shape of a ranked tensor; (None, ()) for anything else."""
    if isinstance(type_, mlir.ir.RankedTensorType) and type_.encoding is not None:
        return type_.encoding, tuple(type_.shape)
    return None, ()


def _integer(attributes: Any, name: str) -> int:
    return int(attributes[name].value) if name in attributes else 0
