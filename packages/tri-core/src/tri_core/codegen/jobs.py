"""A job as the worker sees it: the fields of a request, and the error that ends it."""

from __future__ import annotations

from typing import Any

__all__ = ["Job", "JobError"]


class Job:
    """The fields of a :class:`tri_core.pipeline.CodegenRequest`, without importing what that needs."""

    llvm_ir: str
    triple: str
    cpu: str
    features: str
    emit: tuple[str, ...]
    opt_level: int
    libraries: tuple[str, ...]
    loop_vectorize: bool
    slp_vectorize: bool
    passes: str | None
    code_model: str
    relocation: str

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)


class JobError(Exception):
    """LLVM refused the job in ``phase`` (target, parse, verify, link, optimise, emit) and is still well."""

    def __init__(self, phase: str, message: str) -> None:
        super().__init__(message)
        self.phase = phase
        self.message = message
