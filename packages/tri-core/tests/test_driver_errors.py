"""What goes wrong in a compile, and how it is said."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tri_core import knobs
from tri_core.compiler import compile as compile_kernel
from tri_core.errors import (
    BackendError,
    CompilationError,
    OptionError,
    OutOfResources,
    PluginError,
    TargetError,
    ToolchainError,
    TriError,
    VerificationError,
)
from tri_core.options import CommonOptions
from tri_core.plugins import Candidate

Make = Callable[..., Candidate]


ERRORS: dict[str, tuple[str, type[TriError], str]] = {
    "typed": ("raise ToolchainError('no assembler', tool='as')", ToolchainError, "no assembler"),
    "untyped": ("raise KeyError('chip')", BackendError, "backend 'toy' failed: KeyError: 'chip'"),
    "no result": ("return None", BackendError, "a StageResult is expected"),
    "kind": ("return StageResult(artifact=b'')", BackendError, "kind 'text' promises str, got bytes"),
    "attrs": ("return StageResult(artifact='', attrs={'a': object()})", BackendError, "not JSON-able"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_in_a_stage_names_stage_and_kernel(with_backend: Any, source: Any, case: str) -> None:
    body, kind, message = ERRORS[case]
    with_backend(f"def text(module, context): {body}")
    with pytest.raises(kind, match=message) as caught:
        compile_kernel(source(), "toy:one")
    assert "stage 'text' of kernel 'kernel' for toy:one" in str(caught.value)
    thawed = pickle.loads(pickle.dumps(caught.value))
    assert (str(thawed), thawed.stage, thawed.kernel) == (str(caught.value), "text", "kernel")


def test_what_earlier_stages_made_is_kept(with_backend: Any, source: Any) -> None:
    """Of a compile that failed late, as of a kernel; across processes, too."""
    with_backend("def text(module, context): raise ToolchainError('no assembler', tool='as')")
    with pytest.raises(ToolchainError) as caught:
        compile_kernel(source(), "toy:one")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert list(error.asm) == ["ttir"]
        assert "tt.func" in error.asm["ttir"]
        with pytest.raises(KeyError, match="known: ttir"):
            error.asm["text"]
    assert list(TriError("x").asm) == []


def test_remarks_of_all_stages_are_kept(with_backend: Any, source: Any) -> None:
    with_backend(
        "def text(module, context): return StageResult(artifact='x', attrs={'remarks': ('one',), 'a': 1})\n"
        "def image(text, context): return StageResult(artifact=b'x', attrs={'remarks': ('two',), 'a': 2})"
    )
    attrs = compile_kernel(source(), "toy:one").metadata.attrs
    assert (attrs["remarks"], attrs["a"]) == (["one", "two"], 2)


def test_a_failed_compile_is_tried_anew(with_backend: Any, source: Any, own_cache: Path) -> None:
    toy = with_backend(
        "BROKEN = True\ndef text(module, context):\n    if BROKEN: 1 / 0\n    return StageResult(artifact='x')"
    )
    with pytest.raises(BackendError):
        compile_kernel(source(), "toy:one")
    assert list(own_cache.glob("*/*.entry")) == []
    toy.BROKEN = False
    assert compile_kernel(source(), "toy:one").asm["text"] == "x"


BREAK_IT = """
def break_it(module):
    from tri_core.mlir import ir
    ir.Module.parse("nonsense")
"""
FAILING = """
class Fail(Pass):
    name = "fail"
    def apply(self, module, context):
        {}
@hookimpl
def tri_modify_pipeline(pipeline): pipeline["ttir"].passes.insert("ttir.end", Fail())
"""


@pytest.mark.parametrize("body", ["raise ValueError('x')", "raise ToolchainError('x')", "break_it(module)"])
def test_a_pass_of_a_plugin_that_fails_names_the_plugin(
    make_plugin: Make, activate: Any, source: Any, body: str
) -> None:
    activate(
        make_plugin("toy", backend=True), make_plugin("z", FAILING.format(body) + BREAK_IT, dist="tri-z")
    )
    with pytest.raises(PluginError, match=r"pass 'fail' of plugin z \(tri-z 1.2\) failed") as caught:
        compile_kernel(source(), "toy:one")
    assert caught.value.plugin == "z"
    assert "stage 'ttir', pass 'fail' of plugin z (tri-z 1.2), of kernel 'kernel'" in str(caught.value)


BREAKING = """
class Break(Pass):
    name = "break"
    def apply(self, module, context):
        for op in list(module.body.operations)[0].regions[0].blocks[0].operations:
            if op.operation.name == "arith.constant":
                from tri_core.mlir import ir
                op.operation.attributes["value"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 7)
def ttir(module, context):
    STEPS.insert("ttir.end", Break())
    STEPS.run("ttir", module, context)
    return StageResult(artifact=module)
"""


@pytest.mark.parametrize("verify", [False, True])
def test_wrong_ir_is_found_behind_its_stage_or_pass(with_backend: Any, source: Any, verify: bool) -> None:
    with_backend(BREAKING)
    with knobs.scope(VERIFY=verify), pytest.raises(VerificationError) as caught:
        compile_kernel(source(), "toy:one")
    assert f"stage 'ttir'{', pass' if verify else ''}" in str(caught.value)
    assert "'arith.constant' op" in caught.value.message
    assert len(caught.value.message.splitlines()) == 1


def test_an_error_of_the_kernel_is_shown_as_it_is(toy: Any, source: Any) -> None:
    class Wrong(source):
        def build(self, target: Any, options: Any) -> Any:
            raise CompilationError("x is not defined")

    with pytest.raises(CompilationError) as caught:
        compile_kernel(Wrong(), "toy:one")
    assert str(caught.value) == "x is not defined"


def test_a_kernel_that_exceeds_a_limit(with_backend: Any, source: Any) -> None:
    with_backend("def text(module, context): return StageResult(artifact='', resources={'shared': 101})")
    with pytest.raises(OutOfResources, match="needs 101 of 'shared', toy:one has 100") as caught:
        compile_kernel(source(), "toy:one")
    assert (caught.value.resource, caught.value.need, caught.value.have) == ("shared", 101, 100)


@pytest.mark.parametrize(
    ("target", "options", "kind"),
    [
        ("toy:one", {"num_wraps": 4}, OptionError),
        ("toy:one", {"num_warps": 3}, OptionError),
        ("toy:one", 7, OptionError),
        ("toys:one", None, TargetError),
    ],
)
def test_wrong_requests(toy: Any, source: Any, target: str, options: Any, kind: type[TriError]) -> None:
    with pytest.raises(kind):
        compile_kernel(source(), target, options)
    assert toy.RUNS == []


def test_an_option_that_cannot_enter_a_key(with_backend: Any, source: Any) -> None:
    with_backend("""
    from dataclasses import dataclass
    @dataclass(frozen=True, kw_only=True)
    class ToyOptions(CommonOptions):
        extra: object = None
    @hookimpl
    def tri_target(key): return Target(key=key, spec=TargetSpec(), options_type=ToyOptions)
    """)
    assert compile_kernel(source(), "toy:one", CommonOptions(num_warps=2)).metadata.options["extra"] is None
    with pytest.raises(OptionError, match="cannot enter a cache key"):
        compile_kernel(source(), "toy:one", {"extra": object()})
