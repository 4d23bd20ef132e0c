"""Random kernels agree with NumPy on the targets that execute here; ``nox -s random`` runs thousands of them."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

from integration import random_kernels
from integration.random_kernels import running
from integration.random_kernels.failures import DISAGREEMENT, Failure
from integration.random_kernels.persist import load, save
from integration.random_kernels.productions.functions import EPSILON, FUNCTIONS, call_of
from integration.random_kernels.productions.shapes import indices_of
from integration.random_kernels.program import RandomKernel, Step, Stored, steps
from integration.random_kernels.running import Disagreement, check
from integration.random_kernels.semantics import divide, fma, shift
from integration.random_kernels.shrinking import shrunk
from integration.random_kernels.strategy import random_kernels as kernels
from integration.random_kernels.strategy import seeded
from integration.random_kernels.triton_interpreter import NAME, PYTHON_VARIABLE, TritonInterpreter, excused
from integration.random_kernels.values import Array, is_float, promoted, summed

_EVERYWHERE = (
    "numpy",
    "cpu",
    "interpreter",
    "sim:nvidia:sm_80",
    "sim:nvidia:sm_90a",
    "sim:amd:gfx942",
    "sim:intel:pvc",
)
_settings = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)
_FOUND = sorted((Path(random_kernels.__file__).parent / "found").glob("*.json"))


@pytest.mark.parametrize(
    "part", [*range(6), *(pytest.param(part, marks=pytest.mark.slow) for part in range(6, 12))]
)
def test_targets_agree(part: int) -> None:
    """Agreement of targets; refusals are left out, the sweep of ``nox -s random`` counts them."""
    for number in range(25 * part, 25 * (part + 1)):
        check(seeded(20261120, number), _EVERYWHERE, lambda target, error: None)


def _with(production: str, **attributes: object) -> Iterator[RandomKernel]:
    """Kernels that have ``production`` with these attributes."""
    wanted = attributes.items()
    for number in range(2000):
        kernel = seeded(32, number)
        assert kernel.program is not None
        found = [s for s in steps(kernel.program.body) if s.production == production]
        if any(wanted <= dict(step.attributes).items() for step in found):
            yield kernel


@pytest.mark.parametrize(
    ("production", "attributes"),
    [
        ("in_place", {"source": "reversed", "reads": "view", "writes": "output"}),
        ("in_place", {"source": "rotated", "reads": "output", "writes": "output"}),
        ("shifted", {"down": True}),
        ("shifted", {"down": False}),
    ],
)
def test_memory_that_overlaps(production: str, attributes: dict[str, object]) -> None:
    """Arguments that overlap or are equal, written in place, with barriers between."""
    for kernel in itertools.islice(_with(production, **attributes), 4):
        assert "tl.debug_barrier()" in kernel.source
        check(kernel, _EVERYWHERE, lambda target, error: None)


def test_a_view_is_the_memory_of_its_output() -> None:
    kernel = next(_with("shifted", down=False))
    assert kernel.program is not None
    parameters, outputs = kernel.program.parameters, [running.poisoned(o) for o in kernel.outputs]
    given = dict(
        zip(parameters.order, running.arguments(kernel, running.inputs_of(kernel), outputs), strict=True)
    )
    for view in parameters.views:
        given[view.name][0] = 1
        assert outputs[view.output][view.first] == 1


def test_a_fault_with_overlaps_is_found_and_shrinks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that takes arguments for disjoint."""
    right = running.arguments

    def fails(kernel: RandomKernel) -> bool:
        with monkeypatch.context() as patch:
            patch.setattr(running, "arguments", apart)
            other = running.run(kernel, "cpu")
        return running.difference(kernel, ("numpy", "cpu"), running.run(kernel, "numpy"), other) is not None

    def apart(kernel: RandomKernel, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[Any]:
        kept = {id(output) for output in outputs}
        return [
            a if isinstance(a, int) or id(a) in kept else a.copy() for a in right(kernel, inputs, outputs)
        ]

    kernel = next(k for k in _with("shifted", down=True) if fails(k))
    smaller = shrunk(kernel, fails)
    assert "shifted" in smaller.productions
    assert len(smaller.source.splitlines()) < len(kernel.source.splitlines())


def test_an_opencl_device_agrees() -> None:
    for number in range(300, 306):
        check(seeded(20261120, number), ["numpy", "intel"], lambda target, error: None)


def test_what_is_added_to_a_dot_has_few_bits() -> None:
    """An accumulator's sum is cut off by tensor cores: beside a dot of floats stand 16 bits."""
    added = []
    for number in range(12_000):
        kernel = seeded(33, number)
        assert kernel.program is not None
        made: dict[str, Step] = {}
        for step in kernel.program.body:
            if not isinstance(step, Step):
                continue
            if step.production == "arithmetic" and dict(step.attributes)["sign"] != "*":
                added += [
                    made[other].results[0].dtype
                    for dot, other in itertools.permutations(step.operands)
                    if _is_sum_of_floats(made.get(dot))
                ]
            made |= {value.name: step for value in step.results}
    assert added
    assert set(added) == {"int16"}


def _is_sum_of_floats(step: Step | None) -> bool:
    return step is not None and step.production == "dot" and is_float(step.results[0].dtype)


@pytest.mark.parametrize(("size", "narrow"), [(256, True), (512, False)])
def test_a_mask_fits_its_index(size: int, narrow: bool) -> None:
    """A gather masks its index with ``size - 1``, which 8 bits hold for 256 elements alone."""
    assert ("uint8" in indices_of(size)) is narrow


@pytest.mark.parametrize("path", _FOUND, ids=lambda path: path.stem)
def test_what_was_found_is_mended(path: Path) -> None:
    check(load(path), _EVERYWHERE, lambda target, error: None)


@pytest.fixture(scope="module")
def triton() -> Iterator[TritonInterpreter]:
    python = os.environ.get(PYTHON_VARIABLE)
    if not python:
        pytest.skip(f"no Triton: {PYTHON_VARIABLE} may name a Python that has it")
    worker = TritonInterpreter(python)
    yield worker
    worker.close()


def test_triton_agrees(triton: TritonInterpreter) -> None:
    for number in range(100):
        kernel = seeded(20261120, number)
        if excused(kernel) is None:
            check(kernel, ["numpy", NAME], runners={NAME: triton.run})


@pytest.mark.parametrize("data", ["float32", "int16", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_function_agrees(dtype: str, data: str) -> None:
    """Each function of the generator's table, on quarters, on numbers and on huge ones."""
    lines = [
        f"    x = tl.load(x0 + tl.arange(0, 64)).to(tl.{dtype})",
        "    y = tl.load(x1 + tl.arange(0, 64))",
    ]
    lines += [
        f"    tl.store(out{i} + tl.arange(0, 64), {call_of(name, 'x', f'y.to(tl.{dtype})')})"
        for i, name in enumerate(FUNCTIONS)
    ]
    outputs = tuple(Stored(f"out{i}", dtype, 64, 64 * EPSILON[dtype]) for i in range(len(FUNCTIONS)))
    names = ", ".join(o.name for o in outputs)
    head = "import tri\nimport tri.language as tl\nfrom tri.language.extra import libdevice\n"
    source = head + f"\n\n@tri.jit\ndef kernel(x0, x1, {names}, n, flag):\n" + "\n".join(lines) + "\n"
    kernel = RandomKernel(source, (data, "float32"), outputs, 0, 0, 2, seed=4)
    check(kernel, ["cpu", "interpreter", "intel"])


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison finds one element of an output that differs."""
    source = (
        "import tri\nimport tri.language as tl\n\n\n@tri.jit\ndef kernel(x0, out0, n, flag):\n"
        "    tl.store(out0 + tl.arange(0, 16), tl.arange(0, 16) + n)\n"
    )
    kernel = RandomKernel(source, ("int32",), (Stored("out0", "int32", 16, 0.0),), 1, 0, 1, 0)
    check(kernel, ["cpu", "cpu"])
    right = running.run(kernel, "cpu")
    wrong = [right[0].copy()]
    wrong[0][7] += 1
    monkeypatch.setattr(running, "run", lambda kernel, target: right if target == "cpu" else wrong)
    with pytest.raises(Disagreement, match=r"disagree in out0 \(int32\) at \[7\]"):
        check(kernel, ["cpu", "intel"])


@seed(1)
@settings(_settings, max_examples=40)
@given(kernel=kernels())
def test_kernels_are_kept(tmp_path_factory: pytest.TempPathFactory, kernel: RandomKernel) -> None:
    path = tmp_path_factory.mktemp("found") / "kernel.json"
    save(kernel, path, "why")
    assert load(path) == kernel


def test_a_failure_explains_its_like() -> None:
    kernel = RandomKernel("", (), (), 0, 0, 1, 0)
    error = Failure("cpu", "CompilationError", "argument 'x0' at /a/b.py:3 is <[8], int32>", kernel)
    assert error.explains(
        dataclasses.replace(error, text="argument 'y' at /c.py:4 is <[16], int8>", target="intel")
    )
    assert not error.explains(dataclasses.replace(error, text="another"))
    assert not error.explains(dataclasses.replace(error, kind=DISAGREEMENT))


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ("int8", "uint8", "uint8"), ("uint8", "int16", "int16"), ("int32", "uint32", "uint32"),
        ("int64", "uint32", "int64"), ("float16", "bfloat16", "float16"), ("bfloat16", "int8", "float32"),
        ("float16", "int64", "float16"), ("float32", "float64", "float64"), ("int1", "int8", "int8"),
    ],
)  # fmt: skip
def test_types_are_promoted_as_triton_says(x: str, y: str, expected: str) -> None:
    assert promoted(x, y) == promoted(y, x) == expected


def test_sums_are_as_wide_as_triton_says() -> None:
    widened = {"int1": "uint32", "int8": "int32", "uint16": "uint32", "int64": "int64", "float16": "float16"}
    assert {dtype: summed(dtype) for dtype in widened} == widened


def test_the_model_follows_the_left_operand_of_a_shift() -> None:
    by = np.array([1], np.uint32)
    assert shift(np.array([-8], np.int32), by, ">>") == np.array([2**32 - 4], np.uint32)
    assert shift(np.array([-8], np.int64), by, ">>") == -4
    assert shift(np.array([2**32 - 8], np.uint32), by.astype(np.int32), ">>") == 2**31 - 4


def test_the_model_cuts_quotients_off() -> None:
    x, y = np.array([-7, 7], np.int8), np.array([2, 2], np.int32)
    assert divide(x, y, "//").tolist() == [-3, 3]
    assert divide(x, y, "%").tolist() == [-1, 1]


def test_the_model_rounds_an_fma_once() -> None:
    x = np.array([1 + 2**-12], np.float32)
    z = np.array([2**-60 - 1], np.float32)
    assert fma(x, x, z) == np.float32(2**-11 + 2**-24)
    # exactly between two float32, but for the addend
    half, tiny = np.array([1 + 2**-23], np.float32), np.array([2**-80], np.float32)
    assert fma(half, np.array([1 + 2**-1], np.float32), tiny) == np.float32(1.5 + 2**-22)
