"""Stages that plugins replace or put in, and passes over the text that a stage made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tri_core.compiler import CompiledKernel, forget
from tri_core.compiler import compile as compile_kernel
from tri_core.errors import PluginError
from tri_core.pipeline import Pipeline, Stage, StageResult
from tri_core.plugins import Candidate

Make = Callable[..., Candidate]

#: one text pass
EDIT = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Edit(TextPass):
    name = "edit"
    comment: str = "edited"
    def apply(self, text, context): return f"{text}// {self.comment} {context.kernel_name}"

@hookimpl
def tri_modify_pipeline(pipeline): pipeline["text"].text_passes.insert("text.text", Edit(COMMENT))
COMMENT = "edited"
"""


@pytest.fixture
def compiled(make_plugin: Make, activate: Any, source: Any) -> Callable[[str], CompiledKernel]:
    """A kernel as the backend and a plugin of the text make it, with nothing in memory."""

    def run(text: str) -> CompiledKernel:
        activate(make_plugin("toy", backend=True), make_plugin("extra", text, dist="tri-extra"))
        forget()
        return compile_kernel(source(), "toy:one")

    return run


def _hook(*lines: str) -> str:
    return "@hookimpl\ndef tri_modify_pipeline(pipeline):\n" + "".join(f"    {line}\n" for line in lines)


def test_a_pass_over_text(compiled: Any) -> None:
    plain, edited = compiled(""), compiled(EDIT)
    assert edited.asm["text"] == plain.asm["text"] + "// edited kernel"
    assert edited.asm["image"] == b"\x00\xff" + edited.asm["text"].encode()
    other = compiled(EDIT.replace('COMMENT = "edited"', 'COMMENT = "other"'))
    assert other.asm["text"].endswith("// other kernel")
    assert len({k.metadata.hash for k in (plain, edited, other)}) == 3
    assert edited.metadata.plugins["tri-extra"] == "1.2"


def test_a_stage_in_the_place_of_another(compiled: Any) -> None:
    kernel = compiled(
        "def run(module, context): return StageResult(artifact='; other', resources={'shared': 4})\n"
        + _hook("pipeline.replace('text', Stage(name='text', kind='text', run=run))")
    )
    assert list(kernel.asm) == ["ttir", "text", "image"]
    assert kernel.asm["image"] == b"\x00\xff; other"
    assert kernel.metadata.shared == 4


def test_stages_between_others(compiled: Any) -> None:
    kernel = compiled(
        "def count(text, context): return StageResult(artifact=f'{text}; {len(text)}')\n"
        "def upper(text, context): return StageResult(artifact=text.upper())\n"
        + _hook(
            "pipeline.insert_after('text', Stage(name='counted', kind='text', run=count))",
            "pipeline.insert_before('image', Stage(name='upper', kind='text', run=upper))",
        )
    )
    assert list(kernel.asm) == ["ttir", "text", "counted", "upper", "image"]
    text = kernel.asm["text"]
    assert kernel.asm["upper"] == f"{text}; {len(text)}".upper()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            _hook("pipeline.replace('nothing', pipeline['text'])"),
            "no stage 'nothing'; known: ttir, text, image",
        ),
        (_hook("pipeline.replace('text', pipeline['image'])"), "cannot stand in its place"),
        (_hook("pipeline.insert_after('text', pipeline['ttir'])"), "two stages have one name"),
        (
            _hook("pipeline.insert_after('image', Stage(name='more', kind='bytes', run=len))"),
            "exactly the last stage, 'more', must be final",
        ),
        (
            _hook("pipeline.insert_after('text', Stage(name='again', kind='module', run=len))"),
            "a stage makes a module after the IR was left",
        ),
        (
            _hook("pipeline.replace('ttir', Stage(name='ttir', kind='module', run=len))"),
            "lacks anchor",
        ),
        (
            _hook("pipeline['text'].text_passes.insert('ptx.text', len)"),
            "no anchor 'ptx.text'; known: text.text",
        ),
    ],
    ids=[
        "unknown",
        "another kind",
        "twice",
        "behind the last",
        "a module again",
        "without anchors",
        "anchor",
    ],
)
def test_what_makes_no_kernel_is_the_plugins_fault(compiled: Any, text: str, words: str) -> None:
    with pytest.raises(PluginError) as told:
        compiled(text)
    assert words in str(told.value)
    assert told.value.plugin == "extra"


def test_a_pass_that_gives_no_text(compiled: Any) -> None:
    text = EDIT.replace('return f"{text}// {self.comment} {context.kernel_name}"', "return None")
    with pytest.raises(PluginError, match="edit") as told:
        compiled(text)
    assert "a text is expected" in str(told.value)


def test_stages_of_other_kinds_have_no_text_passes() -> None:
    stage = Stage(name="image", kind="bytes", run=lambda *_: StageResult(artifact=b""), final=True)
    with pytest.raises(KeyError, match="no anchor"):
        stage.text_passes.insert("image.text")
    pipeline = Pipeline(stages=(stage,))
    assert pipeline["image"] is stage
