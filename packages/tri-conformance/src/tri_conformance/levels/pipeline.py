"""Stages, determinism, keys, entries in the middle, and crashes."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tri_conformance.case import Case, Needs, asked, require
from tri_conformance.modules import CORPUS
from tri_conformance.subject import Subject
from tri_core import compiler, knobs, mlir
from tri_core.api import CodegenCrash, CommonOptions, OutOfResources, StageContext, TriError
from tri_core.codegen import service
from tri_core.compiler import IRSource
from tri_core.plugins import manager

__all__ = ["cases", "digest"]

#: kernels whose bytes are compared
SAMPLES = ("copy", "reduce-2", "dot-f16")
#: two values of each common option, so that one is not the backend's default; an option may leave code alone, but not
#: the key
VALUES: dict[str, tuple[Any, Any]] = {
    "num_warps": (8, 4), "num_stages": (2, 3), "num_ctas": (2, 1), "debug": (True, False),
    "sanitize_overflow": (True, False), "enable_fp_fusion": (False, True),
    "default_dot_input_precision": ("tf32x3", "ieee"),
}  # fmt: skip


def cases() -> Iterator[Case]:
    """The cases of this level."""
    yield Case("pipeline", "stages", "", _stages)
    for name in SAMPLES:
        needs = Needs(
            dtypes=("fp16",) if name != "reduce-2" else (), warps=CORPUS[name].options.get("num_warps", 4)
        )
        yield Case("pipeline", "same-bytes", name, asked(_same_bytes, name), needs)
        yield Case("pipeline", "metadata", name, asked(_metadata, name), needs)
        yield Case("pipeline", "from-every-stage", name, asked(_from_every_stage, name), needs)
    yield Case("pipeline", "same-bytes-in-another-process", "", _other_process)
    for name in VALUES:
        yield Case("pipeline", "key-of-option", name, asked(_key_of_option, name))
    yield Case("pipeline", "key-of-own-options", "", _key_of_own_options)
    yield Case("pipeline", "key-of-source", "", _key_of_source)
    yield Case("pipeline", "cached", "", _cached)
    yield Case("pipeline", "crash-of-codegen", "", _crash)
    yield Case("pipeline", "broken-text", "", _broken_text)


@contextmanager
def _fresh() -> Iterator[None]:
    """A cache that holds nothing, in memory and on disk."""
    with tempfile.TemporaryDirectory() as folder, knobs.scope(CACHE_DIR=Path(folder)):
        compiler.forget()
        yield
    compiler.forget()


def _compiled(subject: Subject, name: str, **options: Any) -> Any:
    sample = CORPUS[name]
    return subject.compile(sample.source(subject), **{**sample.options, **options})


def digest(subject: Subject, name: str) -> tuple[str, str]:
    """The hash of the image that a new compile of a kernel of the corpus makes, and its key."""
    with _fresh():
        made = _compiled(subject, name)
        return hashlib.sha256(made.image.data).hexdigest(), made.metadata.hash


def _stages(subject: Subject) -> None:
    """The first stage is ttir with its anchors, the last one final; every stage's output can be read."""
    pipeline = manager().compose(subject.target, subject.options()).pipeline
    names = [stage.name for stage in pipeline.stages]
    require(names[0] == "ttir", f"the first stage is {names[0]}")
    require([s.name for s in pipeline.stages if s.final] == names[-1:], "the last stage alone is final")
    kernel = _compiled(subject, "copy")
    for stage in pipeline.stages:
        require(stage.name in kernel.asm, f"the compiled kernel has no output of stage {stage.name}")
        require(kernel.asm[stage.name], f"the output of stage {stage.name} is empty")
    require(
        pipeline.text() == manager().compose(subject.target, subject.options()).pipeline.text(),
        "the pipeline's text changes",
    )


def _same_bytes(subject: Subject, name: str) -> None:
    """Compiled twice, from nothing, a kernel has the same bytes at every stage."""
    with _fresh():
        first = _compiled(subject, name)
        kept = {stage: first.asm[stage] for stage in first.asm}
    with _fresh():
        second = _compiled(subject, name)
        differing = [stage for stage in kept if second.asm[stage] != kept[stage]]
    require(not differing, f"two compiles differ at {', '.join(differing)}")
    require(first.metadata.hash == second.metadata.hash, "two compiles have different keys")


def _other_process(subject: Subject) -> None:
    """A process with another seed of hashes makes the same bytes, under the same key: caches are shared, kernels are handed over."""
    script = (
        "import sys\nfrom tri_conformance.levels.pipeline import digest\nfrom tri_conformance.subject import Subject\n"
        "print(*digest(Subject(sys.argv[1], tuple(sys.argv[2:])), 'reduce-2'))"
    )
    import os

    variables = {**os.environ, "PYTHONHASHSEED": "4711"}
    done = subprocess.run(
        [sys.executable, "-c", script, subject.name, *subject.given],
        capture_output=True,
        text=True,
        env=variables,
        check=False,
    )
    require(done.returncode == 0, done.stderr[-500:])
    image, key = digest(subject, "reduce-2")
    require(done.stdout.split()[-2] == image, "another process makes other bytes")
    require(
        done.stdout.split()[-1] == key,
        "another process has another key: something in the pipeline's text, or in what the environment says, is of one process",
    )


def _metadata(subject: Subject, name: str) -> None:
    """The record names kernel, target, entry point, options and plug-ins, and stays within the limits."""
    kernel = _compiled(subject, name)
    facts, limits = kernel.metadata, subject.target.spec.limits
    require(facts.target == subject.target.key, f"the record is of {facts.target}")
    require(facts.entry_points, "no entry point is named")
    require(
        facts.num_warps == CORPUS[name].options.get("num_warps", 4), f"the record has {facts.num_warps} warps"
    )
    require(facts.plugins, "no plug-in is named")
    require(facts.shared <= limits.get("shared", facts.shared), f"{facts.shared} bytes of shared memory")
    exceeded = [k for k, v in facts.resources.items() if v > limits.get(k, v)]
    require(not exceeded, f"resources above the limits: {', '.join(exceeded)}")


def _from_every_stage(subject: Subject, name: str) -> None:
    """Check that each stage's output but the last, given as text, compiles to an equally good image."""
    sample = CORPUS[name]
    with _fresh():
        whole = _compiled(subject, name)
        pipeline = manager().compose(subject.target, subject.options(**sample.options)).pipeline
        for stage in pipeline.stages[:-1]:
            source = IRSource(stage.name, whole.asm[stage.name], whole.metadata.signature)
            again = subject.compile(source, **sample.options)
            require(again.image.data, f"from {stage.name}: an empty image")
            # modules carry locations, which texts read from elsewhere name otherwise
            if stage.kind != "module":
                require(
                    _alike(whole, again), f"from {stage.name}: another image, which needs other resources"
                )


def _alike(whole: Any, again: Any) -> bool:
    """The same bytes; or, where symbols of texts stay in an image, the same resources of what is counted in both."""
    if again.image.data == whole.image.data:
        return True
    old, new = whole.metadata.resources, again.metadata.resources
    counted = set(old) & set(new)
    return bool(counted) and all(old[name] == new[name] for name in counted)


def _key(subject: Subject, **options: Any) -> str:
    """The key under which a kernel is kept, without compiling it."""
    from tri_core.compiler.key import cache_key, environment

    parsed = subject.options(**options)
    composition = manager().compose(subject.target, parsed)
    source = CORPUS["copy"].source(subject)
    found = environment(manager(), subject.target, composition)
    return cache_key(source, parsed, composition.pipeline, found)


def _key_of_option(subject: Subject, name: str) -> None:
    """Another value of a common option is another key, and the same value the same one."""
    plain = _key(subject)
    require(plain == _key(subject), "the key of the same options changes")
    default = getattr(subject.options(), name)
    value = next(value for value in VALUES[name] if value != default)
    try:
        other = _key(subject, **{name: value})
    except OutOfResources:
        require(name == "num_ctas", f"{name}={value!r} is refused")
        return  # a cluster larger than the target's is refused before there is a key
    require(plain != other, f"the key ignores {name}={value!r}")


def _key_of_own_options(subject: Subject) -> None:
    """Another value of each of the backend's own options is another key."""
    common = {f.name for f in dataclasses.fields(CommonOptions)}
    plain = _key(subject)
    for field in dataclasses.fields(subject.target.options_type):
        other = _other(field.default)
        if field.name in common or other is None:
            continue
        try:
            key = _key(subject, **{field.name: other})
        except TriError:
            continue  # a value that the backend refuses has no key
        require(key != plain, f"the key ignores {field.name}={other!r}")


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value * 2 or 1
        case _:
            return None


def _key_of_source(subject: Subject) -> None:
    """Other constants or argument types are other keys."""
    fingerprints = {name: sample.source(subject).fingerprint() for name, sample in CORPUS.items()}
    require(len(set(fingerprints.values())) == len(fingerprints), "two kernels have one fingerprint")


def _cached(subject: Subject) -> None:
    """A second compile is found, in memory and on disk, and is the same."""
    with _fresh():
        first = _compiled(subject, "copy")
        require(_compiled(subject, "copy") is first, "memory does not keep the kernel")
        compiler.forget()
        again = _compiled(subject, "copy")
        require(again is not first and again.image.data == first.image.data, "the store gives another kernel")


class _Crashing:
    """LLVM that dies; ``asked`` says whether anybody wanted it."""

    asked = False

    def compile(self, request: Any) -> Any:
        self.asked = True
        raise CodegenCrash("the worker was killed", tool="llvm", returncode=-6, log="")


def _crash(subject: Subject) -> None:
    """A crash of code generation reaches the caller as it is, typed; and the next compile works."""
    sample = CORPUS["copy"]
    options = subject.options()
    pipeline = manager().compose(subject.target, options).pipeline
    dying = _Crashing()
    context = StageContext(target=subject.target, options=options, kernel_name="copy", codegen=dying)
    with mlir.session():
        artifact = sample.source(subject).build(subject.target, options)
        try:
            for stage in pipeline.stages:
                artifact = stage.run(artifact, context).artifact
        except CodegenCrash:
            pass
        else:
            require(not dying.asked, "the pipeline went on after code generation had crashed")
    with _fresh():
        require(_compiled(subject, "copy").image.data, "nothing compiles after a crash")
    require(service() is not None, "the service of code generation is gone")


def _broken_text(subject: Subject) -> None:
    """Text that is no program of a stage is an error of tri with a message, never of Python."""
    pipeline = manager().compose(subject.target, subject.options()).pipeline
    signature = _compiled(subject, "copy").metadata.signature
    for stage in pipeline.stages[:-1]:
        try:
            subject.compile(IRSource(stage.name, "this is (no program", signature))
        except TriError:
            continue
        raise AssertionError(f"stage {stage.name}: nonsense compiles")
