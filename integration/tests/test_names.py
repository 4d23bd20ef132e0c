"""Every public name of Triton 3.9 is here or has a reason; signatures; ``docs/language.md`` is up to date."""

from __future__ import annotations

import tomllib

import pytest

from integration.language.names import HERE, absent, find, reference, signature
from integration.language.probing import BACKENDS, probe_all, probes
from integration.language.table import DOCUMENT, read_states, render

#: differences in parameters that are meant, by full name: additions, wider meanings, names of a first parameter
MEANT = {
    "triton.CompilationError", "triton.FutureKernel", "triton.InterpreterError", "triton.JITFunction", "triton.OutOfResources", "triton.autotune", "triton.compile", "triton.constexpr_function", "triton.jit",
    "triton.reinterpret", "triton.set_allocator", "triton.testing.cublas", "triton.testing.do_bench",
    "triton.testing.do_bench_cudagraph", "triton.testing.do_bench_cudagraph_proton", "triton.testing.do_bench_proton",
    "triton.testing.nvsmi", "triton.testing.set_gpu_clock", "tl.dot_scaled", "tl.load", "tl.store", "tl.slice",
    "tl.str_to_ty", "tl.tensor_descriptor", "tl.tuple", "tl.tensor_descriptor.gather", "tl.tensor_descriptor.load",
    "tl.tensor_descriptor.scatter", "tl.tensor_descriptor.store", "tl.tensor.store", "tl.make_block_ptr", "tl.advance",
    "tl.range",
}  # fmt: skip
#: sections whose functions get their parameters as ``*args``, checked when they are called
OPEN = ("tl.extra.libdevice", "tl.target_info")


def parameters(text: str) -> list[str]:
    """Parameters as text, defaults in one spelling."""
    plain = text.replace("constexpr[", "").replace("]", "").replace("PROPAGATE_NAN", "PropagateNan")
    return plain.replace("<", "").replace(": 0>", "").strip("()").split(", ")


def cases() -> list[tuple[str, str, str]]:
    return [
        (section, name, shown)
        for section, names in reference().items()
        for name, shown in names.items()
        if shown.startswith("(") and section not in OPEN and f"{section}.{name}" not in MEANT
    ]


def test_absent_names_have_reasons():
    reasons = tomllib.loads((HERE / "reasons.toml").read_text())
    explained = {f"{section}.{name}" for section, names in reasons.items() for name in names}
    assert set(absent()) - explained == set()


@pytest.mark.parametrize(("section", "name", "shown"), cases(), ids=lambda value: value[:40])
def test_signature(section, name, shown):
    value = find(section, name)
    if value is None or name.startswith("__"):
        return
    ours = signature(value)
    if ours is None:
        return
    got, wanted = parameters(ours), parameters(shown)
    if section in ("tl.tensor", "tl.dtype", "tl.tensor_descriptor"):
        got = got[len(got) - len(wanted) :] if wanted != [""] else wanted  # without self
    assert got == wanted


def test_every_name_of_the_language_is_probed():
    """Names without a probe are used on the host, or are types or values that other probes use."""
    host = {"tl.make_block_ptr", "tl.semantic", "tl.str_to_ty", "tl.void", "tl.tensor_descriptor.block_shape"}
    host |= {"tl.tensor_descriptor.block_type", "tl.tensor_descriptor.dtype"}
    sections = [s for s in reference() if s.startswith("tl") and s != "tl.dtype"]
    names = {f"{s}.{n}" for s in sections for n in reference()[s]}
    assert names - set(probes()) - host - set(absent()) == set()


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_states_are_what_probes_give(backend):
    known = read_states(backend)
    got = probe_all(backend, skip="tl.extra.libdevice")
    assert got == {name: state for name, state in known.items() if not name.startswith("tl.extra.libdevice")}


def test_probes_that_write():
    """A state is no claim: a probe that cannot work gives what the error says."""
    assert all(read_states(backend) for backend in BACKENDS)
    assert "inline assembly" in read_states("interpreter")["tl.inline_asm_elementwise"]


def test_document():
    assert DOCUMENT.read_text() == render(), "run `nox -s language`, or python -m integration.language table"
    assert "**unexplained**" not in DOCUMENT.read_text()
