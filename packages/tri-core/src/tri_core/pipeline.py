"""Pipelines: the named stages that take a kernel from TTIR to an image, and the passes within them."""

from __future__ import annotations

import abc
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from tri_core.dataclass_methods import shared_representation
from tri_core.foreign import Contained
from tri_core.lazy_dataclasses import dataclass
from tri_core.listings import Listing
from tri_core.options import CommonOptions
from tri_core.target import Target
from tri_core.timing import span

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = [
    "Anchor",
    "Artifact",
    "CodegenService",
    "Pass",
    "PassList",
    "Pipeline",
    "Stage",
    "StageContext",
    "StageResult",
    "TextPass",
    "TextPassList",
]

#: a function of a module or a class, as Python writes it
_FUNCTION = re.compile(r"<function ([\w.]+) at 0x[0-9a-f]+>", re.IGNORECASE)

Artifact = Any  # ir.Module for kind "module", str for "text", bytes for "bytes"
Kind = Literal["module", "text", "bytes"]
P = TypeVar("P", bound="Pass | TextPass")

logger = logging.getLogger(__name__)


class CodegenService(Protocol):
    """LLVM behind a process boundary: an abort of LLVM is a :class:`tri_core.errors.CodegenCrash`."""

    def compile(self, request: CodegenRequest) -> CodegenReply:
        """Optimise and emit ``request``; raises ToolchainError or CodegenCrash."""
        ...


@dataclass(frozen=True, kw_only=True)
class CodegenRequest:
    """One job for LLVM.

    ``llvm_ir`` is text; ``emit`` chooses the outputs wanted (any of ``"llvm-ir"``, ``"asm"``,
    ``"object"``); ``libraries`` are bitcode files linked in (only what is needed) before optimisation;
    ``llvm_options`` are ``-mllvm`` style options, applied to a worker that serves only these options.
    ``opt_level`` 0 to 3; ``passes`` a list of passes by LLVM's names, separated by commas, that replaces the
    default one; ``timeout`` in seconds (``TRI_CODEGEN_TIMEOUT`` when None).
    """

    llvm_ir: str
    triple: str
    cpu: str = ""
    features: str = ""
    emit: tuple[str, ...] = ("asm",)
    opt_level: int = 3
    libraries: tuple[str, ...] = ()
    llvm_options: tuple[str, ...] = ()
    loop_vectorize: bool = False
    slp_vectorize: bool = False
    passes: str | None = None
    code_model: str = "default"
    relocation: str = "pic"
    isolated: bool = False
    timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class CodegenReply:
    """Result of code generation, by requested kind: ``"llvm-ir"`` and ``"asm"`` text, ``"object"`` bytes."""

    texts: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class StageContext:
    """Context of a stage besides its input: never the environment, never a driver."""

    target: Target
    options: CommonOptions
    kernel_name: str
    codegen: CodegenService
    #: values of the knobs that affect code, by knob name
    knobs: Mapping[str, object] = field(default_factory=dict)
    #: called with (stage, pass name, module) after each pass, when somebody listens
    on_pass: Callable[[str, str, ir.Module], None] | None = None
    #: asked with (stage, pass) before each pass, when somebody looks for the one that is wrong: whether it is left out
    leaves_out: Callable[[str, Pass], bool] | None = None
    #: what earlier stages found that the kernel takes, as in :attr:`StageResult.resources`; empty where the compile began behind them
    resources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """Result of a stage: the next artifact, and facts for the kernel's metadata.

    Of an attribute that two stages set, the later one's value stays; ``remarks``, a list of texts, are joined.
    """

    artifact: Artifact
    resources: Mapping[str, int] = field(default_factory=dict)
    entry_points: tuple[str, ...] = ()
    attrs: Mapping[str, object] = field(default_factory=dict)


class Pass(abc.ABC):
    """A transformation of a module; a frozen dataclass whose fields are its options.

    The module is valid before and after :meth:`apply`; in between anything goes.
    """

    #: kebab-case name: file, class, filecheck test and command line share its stem
    name: ClassVar[str]
    #: what it was called in the version before; such names are accepted, with a DeprecationWarning
    former_names: ClassVar[tuple[str, ...]] = ()
    #: whether no code can be made without it; others may be left out (``TRI_OPT_BISECT_LIMIT``)
    required: ClassVar[bool] = False

    @abc.abstractmethod
    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""


class TextPass(abc.ABC):
    """A rewriting of the text that a stage made (LLVM IR, assembly); a frozen dataclass whose fields are its options.

    The text that it returns replaces the stage's: later stages read it, ``kernel.asm`` has it.
    """

    #: kebab-case name, for messages and timing
    name: ClassVar[str]

    @abc.abstractmethod
    def apply(self, text: str, context: StageContext) -> str:
        """Give the text to go on with."""


@dataclass(frozen=True)
class Anchor:
    """A named place in a pass list where plugins may insert passes (``ttir.begin``, ``ttgir.coalesce``, ``llir.text``)."""

    name: str


@dataclass
class _Steps(Generic[P]):
    """Passes with named anchors, in order; the only part of a stage that changes (before the key is final)."""

    steps: list[P | Anchor] = field(default_factory=list)

    def insert(self, anchor: str, *passes: P) -> None:
        """Put ``passes`` directly after ``anchor``; KeyError with the known anchors when it is absent."""
        for i, step in enumerate(self.steps):
            if isinstance(step, Anchor) and step.name == anchor:
                self.steps[i + 1 : i + 1] = passes
                return
        known = ", ".join(s.name for s in self.steps if isinstance(s, Anchor))
        raise KeyError(f"no anchor {anchor!r}; known: {known}")

    def text(self) -> str:
        """The list as text: passes with their options, for cache keys and listings.

        Functions among the options are named, without the places where they lie in this process: what they do is in the files of
        their packages, which are in keys as well.  A function within another one and any other object without a text of its own
        keep their addresses, so that no other compile is taken for this one.
        """
        known: dict[int, tuple[Any, str]] = {}
        text = "; ".join(
            f"@{s.name}" if isinstance(s, Anchor) else shared_representation(s, known) for s in self.steps
        )
        return _FUNCTION.sub(r"<function \1>", text)


@contextmanager
def _at_work(stage: str, step: Pass | TextPass) -> Iterator[None]:
    """Time ``step``; an exception that leaves it says its name."""
    logger.debug("%s: %s", stage, step.name)
    try:
        with Contained(), span(stage, step.name):
            yield
    except Exception as error:
        # the driver names the pass, and the plugin that put it here
        error.__dict__.setdefault("pass_name", step.name)
        raise


@dataclass
class PassList(_Steps[Pass]):
    """The passes of a stage over modules, with named anchors, in order."""

    def run(self, stage: str, module: ir.Module, context: StageContext) -> None:
        """Apply every pass in order; tells ``context.on_pass`` after each."""
        for step in self.steps:
            if isinstance(step, Anchor):
                continue
            if context.leaves_out is not None and context.leaves_out(stage, step):
                continue
            with _at_work(stage, step):
                step.apply(module, context)
            if context.on_pass is not None:
                context.on_pass(stage, step.name, module)


@dataclass
class TextPassList(_Steps[TextPass]):
    """The passes over the text that a stage made; its one anchor is ``<stage>.text``."""

    def run(self, stage: str, text: str, context: StageContext) -> str:
        """``text`` after every pass in order; TypeError for one that gives no text."""
        for step in self.steps:
            if isinstance(step, Anchor):
                continue
            with _at_work(stage, step):
                text = step.apply(text, context)
                if not isinstance(text, str):
                    raise TypeError(f"gave {text!r}; a text is expected")
        return text


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One named step: ``run(artifact, context)``; its output is cached under ``name``.

    ``kind`` says what it yields; a module is stored as text and read back with ``parse`` (generic MLIR
    parsing by default).  Exactly the last stage is ``final``: its artifact is the image's data.
    A stage of text has ``text_passes``, where plugins may rewrite what it made.
    ``disassemblers`` give bytes as text; ``listings`` read texts, the stage's own or a disassembler's, whose
    source lines :func:`tri_core.listings.read_listing` does not find.
    """

    name: str
    kind: Kind
    run: Callable[[Artifact, StageContext], StageResult]
    passes: PassList | None = None
    final: bool = False
    disassemblers: Mapping[str, Callable[[bytes], str]] = field(default_factory=dict)
    listings: Mapping[str, Callable[[str], Listing]] = field(default_factory=dict)
    text_passes: TextPassList = field(init=False)

    def __post_init__(self) -> None:
        anchors: list[TextPass | Anchor] = [Anchor(f"{self.name}.text")] if self.kind == "text" else []
        object.__setattr__(self, "text_passes", TextPassList(anchors))

    def text(self) -> str:
        """The stage as text, for cache keys."""
        passes = self.passes.text() if self.passes else ""
        edits = self.text_passes.text() if self.kind == "text" else ""
        return f"{self.name}:{self.kind}:{passes}:{edits}"


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The stages of a target, in order, the first being ``ttir``.

    The hook ``tri_modify_pipeline`` may change which they are.  A plugin's options of its stages belong into its
    ``tri_cache_key``: of a stage that is put in, the key knows name, kind and passes, and the plugin's version and files.
    """

    stages: Sequence[Stage]

    def text(self) -> str:
        """The pipeline as text, for cache keys."""
        return "\n".join(stage.text() for stage in self.stages)

    def __getitem__(self, name: str) -> Stage:
        return self.stages[self._index(name)]

    def replace(self, name: str, stage: Stage) -> None:
        """Put ``stage`` in the place of stage ``name``: it takes and yields what that does, under the same name.

        ValueError for another name or kind; KeyError without such a stage.
        """
        index = self._index(name)
        before = self.stages[index]
        if (stage.name, stage.kind, stage.final) != (before.name, before.kind, before.final):
            raise ValueError(
                f"stage {name!r} is of kind {before.kind!r}{', final' * before.final}: {stage.name!r} of kind {stage.kind!r}"
                f"{', final,' * stage.final} cannot stand in its place"
            )
        self._put(index, index + 1, (stage,))

    def insert_before(self, name: str, *stages: Stage) -> None:
        """Put ``stages`` before stage ``name``; the last of them yields what stage ``name`` takes.  KeyError without such a stage."""
        index = self._index(name)
        self._put(index, index, stages)

    def insert_after(self, name: str, *stages: Stage) -> None:
        """Put ``stages`` behind stage ``name``; the first takes what stage ``name`` yields.  KeyError without such a stage."""
        index = self._index(name) + 1
        self._put(index, index, stages)

    def _put(self, begin: int, end: int, stages: Sequence[Stage]) -> None:
        made = (*self.stages[:begin], *stages, *self.stages[end:])
        object.__setattr__(self, "stages", made)

    def _index(self, name: str) -> int:
        for index, stage in enumerate(self.stages):
            if stage.name == name:
                return index
        raise KeyError(f"no stage {name!r}; known: {', '.join(s.name for s in self.stages)}")
