"""Comparisons with the original, case by case."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from integration.original.client import Original
from integration.original.recorder import Case
from tri_core import mlir
from tri_core.compiler import CompiledKernel, IRSource
from tri_core.compiler import compile as compile_source
from tri_core.text import parse_module, print_module
from tri_runtime import runtime

__all__ = ["ARCHITECTURES", "Verdict", "its_ttir", "reads_ours", "we_read_its"]

#: compute capabilities that the original compiles for
ARCHITECTURES = (80, 90)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check: passed, or ``problem``, or not to be compared for the reason ``excuse``."""

    case: str
    problem: str = ""
    excuse: str = ""


#: what the original says of kernels that it refuses and we take, and why we do
LOOSER: Mapping[str, str] = {
    "not supported in this architecture": "it has this 8-bit type on other chips only, we have it everywhere",
    "Block pointers have been removed": "block pointers, which it dropped, are kept",
    "fp_downcast_rounding should be set only for truncating": "a rounding mode for casts that it refuses one for",
    "[AssertionError()]": "it stops at an assertion without words",
    "def factorial": "a function calls itself with another constexpr",
    "core.slice object": "tl.slice is an index",
    "no attribute 'backend'": "it has no target without a driver",
    "Cannot bitcast data-type of size 32": "not of a run-time integer",
    "'dtype' object has no attribute 'numel'": "its tensor.item fails",
    "'NoneType' object has no attribute 'shape'": "its tensor.sort and others give nothing",
    "has no attribute 'abs'": "tl.core has all functions",
    "object has no attribute 'value'": "a number has .value, as a constexpr has",
}
#: ops of the original's TTIR that mean its own target, and why they cannot run elsewhere
FOREIGN: Mapping[str, str] = {
    "tt.elementwise_inline_asm": "its frontend writes this conversion in PTX",
    "tt.extern_elementwise": "its frontend calls the vendor's library",
}


def generic(ttir: str) -> str:
    """TTIR of ours as it is printed today, which is the original's own syntax."""
    with mlir.session():
        return print_module(parse_module(ttir))


def reads_ours(original: Original, case: Case, arch: int) -> Verdict:
    """(a) The original's parser and pipeline take our TTIR to a cubin, where they can compile the kernel at all."""
    name = f"{case.test or case.name} sm_{arch}"
    error = _refused(original, generic(case.ttir), case, arch)
    if not error:
        return Verdict(name)
    own = its_ttir(original, case, arch)
    if "error" in own:
        return Verdict(name, excuse="it refuses the kernel itself")
    if _refused(original, own["ttir"], case, arch):
        return Verdict(name, excuse="it cannot compile its own TTIR of the kernel either")
    return Verdict(name, error)


def _refused(original: Original, ttir: str, case: Case, arch: int) -> str:
    """Reason that the original cannot compile ``ttir``; empty if it can."""
    answer = original.ask("compile", ttir=ttir, arch=arch, options=_its_options(case.options))
    return str(answer.get("error", "" if answer.get("cubin") else "an empty cubin"))


def its_ttir(original: Original, case: Case, arch: int = 90) -> dict[str, Any]:
    """Module that the original's frontend makes of the source."""
    return original.ask(
        "frontend",
        source=case.source,
        constants=case.constants,
        signature=case.signature,
        attributes={
            n: [f for f in facts if f[0] != "tt.padding"]
            for n, facts in case.attributes.items()
            if "." not in n
        },
        arch=arch,
        options=_its_options(case.options),
    )


def we_read_its(original: Original, case: Case) -> Verdict:
    """(b) The original's TTIR, compiled by us for the CPU, stores what ours did on the same arguments."""
    name = case.test or case.name
    answer = its_ttir(original, case)
    if "error" in answer:
        excuse = next((why for text, why in LOOSER.items() if text in answer["error"]), "")
        return Verdict(name, "" if excuse else f"the original refuses the kernel: {answer['error']}", excuse)
    foreign = next((why for op, why in FOREIGN.items() if op in answer["ttir"]), "")
    if foreign and not any(op in case.ttir for op in FOREIGN):
        return Verdict(name, excuse=foreign)
    source = IRSource("ttir", answer["ttir"], path=f"{case.name}.ttir")
    kernel = compile_source(source, "cpu", case.options)
    outputs = _run(kernel, case)
    for position, (got, argument) in enumerate(zip(outputs, case.arguments, strict=True)):
        if got is not None and not np.array_equal(got, argument[1]):
            where = np.flatnonzero(got != argument[1])
            return Verdict(
                name, f"argument {position}: {where.size} bytes of {got.size} differ, first {where[:4]}"
            )
    return Verdict(name)


def _run(kernel: CompiledKernel, case: Case) -> Sequence[npt.NDArray[np.uint8] | None]:
    """Launch on copies of the recorded arguments; the arrays afterwards."""
    owner = runtime("cpu")
    launch = owner.launcher(owner.load(kernel.image, owner.current_device()), kernel.image)
    # the kernel may rely on the alignment that the recorded arrays had
    arrays = [_aligned(a[0]) if isinstance(a, tuple) else None for a in case.arguments]
    values = [
        a if array is None else array.ctypes.data for a, array in zip(case.arguments, arrays, strict=True)
    ]
    launch(case.grid, None, _as_it_expects(case, values))
    return arrays


def _as_it_expects(case: Case, values: Sequence[Any]) -> list[Any]:
    """``values`` with those of a descriptor in the original's order.

    Ours: base, sizes, strides but the last.  Its: base, sizes, strides, whether it pads with NaN; sizes and
    strides once more.
    """
    given = iter(values)
    made: list[Any] = []
    for name, type_ in case.signature.items():
        if type_ == "constexpr":
            continue
        if not type_.startswith("tensordesc"):
            made.append(next(given))
            continue
        rank = type_.count(",") + 1
        base, *sizes = (next(given) for _ in range(1 + rank))
        numbers = [*sizes, *(next(given) for _ in range(rank - 1)), 1]
        made += [base, *numbers, ("tt.padding", 2) in map(tuple, case.attributes.get(name, ())), *numbers]
    return [*made, *given]


def _aligned(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """A copy that begins at a multiple of 64 bytes."""
    memory = np.zeros(data.size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    memory[first : first + data.size] = data
    return memory[first : first + data.size]


#: our options by the original's names; what has no counterpart is left out
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "debug")


def _its_options(options: dict[str, Any]) -> dict[str, Any]:
    return {n: v for n, v in options.items() if n in _OPTIONS}


# --- (c) types and refusals ---------------------------------------------------------------------------------

_FRONTEND_TESTS = Path(__file__).parents[2] / "packages/tri-frontend/tests"

#: wrong kernels that the original takes, and why we do not
STRICTER: Mapping[str, str] = {
    "return 3": "a kernel has no one to return a value to",
    "for i in range(3):\n    n = n + 1\ntl.store(q, i)": "it gives the variable of a finished loop no value",
    "x = [v for v in (n, f) if n > 1]": "it takes every run-time condition of a comprehension as true",
    "for i in range(0, n, 0):\n    pass": "a loop of step 0 does not end",
    "if p:\n    pass": "a pointer is no truth value",
    "x = tl.constexpr(n)": "n is no constant",
}


def same_promotions(python: str) -> Verdict:
    """The recorded table of result types, which our tests compare with ours, is what the original gives."""
    script = _FRONTEND_TESTS / "data" / "make_promotion.py"
    made = subprocess.run([python, "-W", "ignore", str(script)], capture_output=True, text=True, check=True)
    recorded = json.loads(script.with_name("promotion.json").read_text())
    return Verdict("promotions", "" if json.loads(made.stdout) == recorded else "the tables differ")


def same_constructs(python: str) -> Verdict:
    """The recorded verdicts on constructs of Python, which our tests compare with ours, are the original's."""
    data = _FRONTEND_TESTS / "data"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("constructs.py", "make_constructs.py"):
            shutil.copy(data / name, folder)
        script = Path(folder) / "make_constructs.py"
        subprocess.run([python, "-W", "ignore", str(script)], check=True, capture_output=True)
        made = json.loads((Path(folder) / "constructs.json").read_text())
    recorded = json.loads((data / "constructs.json").read_text())
    other = [body for body in recorded if made.get(body) != recorded[body]]
    return Verdict("constructs", f"other verdicts on {other}" if made != recorded else "")


def wrong_kernels() -> list[str]:
    """The bodies of the kernels that our tests expect to be refused."""
    return [case.body for name in _ERRORS for case in _module_of(name).CASES]


def takes_a_right_kernel(original: Original) -> Verdict:
    """Control for the wrong bodies: without them the original takes the kernel."""
    return Verdict("pass", _refusal(original, "pass"))


def refuses_too(original: Original, body: str) -> Verdict:
    """The original refuses a kernel that we refuse, or is known to be less strict."""
    if _refusal(original, body):
        return Verdict(body)
    if body in STRICTER:
        return Verdict(body, excuse=f"we are stricter: {STRICTER[body]}")
    return Verdict(body, "the original takes this kernel, which we refuse")


def _refusal(original: Original, body: str) -> str:
    """Original's error for a kernel of our error tests; empty if it takes it."""
    cases = _module_of("error_cases")
    parameters = ", ".join(
        f"{n}: tl.constexpr" if t == "constexpr" else n for n, t in cases.SIGNATURE.items()
    )
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    text = (
        f"import tri\nimport tri.language as tl\n{cases.HELPERS}\n@tri.jit\ndef k({parameters}):\n{indented}"
    )
    answer = original.ask(
        "module",
        text=text,
        kernel="k",
        signature=cases.SIGNATURE,
        constants={"B": 16},
        attributes={},
        arch=90,
    )
    return str(answer.get("error", ""))


#: modules of wrong kernels; the second imports the first
_ERRORS = ("error_cases", "error_cases_python")


def _module_of(file: str) -> Any:
    name = f"tri_{file}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _FRONTEND_TESTS / f"{file}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]
