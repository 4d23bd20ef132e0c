"""The module that a stand-in driver runs, carried by the code that a real one would run: the ``llvm`` dialect with machine ops.

The stage ``llir`` adds it to its text as a comment; a vendor's last stage embeds it where no driver looks.  So whoever has
the image has all of it: a store, another process.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar

from tri_core.api import Pass, Stage, StageContext, StageResult, ToolchainError
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["Carried", "KeepMachineLevel", "carrying", "passing", "with_comment", "without_comment"]

_COMMENT = "\n; tri.machine "


@dataclass(frozen=True)
class Carried:
    """A kernel for the simulator: ``text`` of the module, the function ``entry``, the shape of a work group.

    ``threads`` of a work group, ``threads_per_warp`` of them in a warp; ``shared`` bytes of local memory.
    """

    text: str
    entry: str
    arch: str
    threads: int
    threads_per_warp: int
    shared: int

    def packed(self) -> str:
        """One word of text."""
        return base64.b64encode(zlib.compress(json.dumps(vars(self)).encode())).decode()

    @classmethod
    def unpacked(cls, word: str) -> Carried:
        """The inverse of :meth:`packed`; ToolchainError when ``word`` is damaged."""
        try:
            return cls(**json.loads(zlib.decompress(base64.b64decode(word, validate=True))))
        except (ValueError, TypeError, zlib.error) as error:
            raise ToolchainError(
                f"what the module carries for the stand-in driver is damaged: {error}",
                remedy="compile the kernel again, with the knob that names the stand-in's devices",
                tool="stand-in",
                returncode=None,
                log="",
            ) from error


@dataclass(frozen=True)
class KeepMachineLevel(Pass):
    """Remembers the module as text before machine ops are emitted; changes nothing."""

    name: ClassVar[str] = "keep-machine-level"
    kept: list[str] = field(default_factory=list, repr=False, compare=False)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Keep the text of ``module``, with locations."""
        del context
        self.kept[:] = [module.operation.get_asm(enable_debug_info=True, assume_verified=True)]


@dataclass(frozen=True)
class _Commented:
    """The stage ``llir`` whose text ends with what is carried."""

    run: Callable[[Any, StageContext], StageResult]
    keep: KeepMachineLevel

    def __call__(self, artifact: Any, context: StageContext) -> StageResult:
        result = self.run(artifact, context)
        warps = int(str(result.attrs.get("total_num_warps", result.attrs["num_warps"])))
        lanes = int(str(result.attrs["threads_per_warp"]))
        carried = Carried(
            text=self.keep.kept.pop(),
            entry=result.entry_points[0],
            arch=context.target.key.arch,
            threads=warps * lanes,
            threads_per_warp=lanes,
            shared=result.resources["shared"],
        )
        return replace(result, artifact=with_comment(str(result.artifact), carried))


@dataclass(frozen=True)
class _Passed:
    """A stage whose output has, by ``embed``, what the comment behind its input carries; without a comment, it is as ever."""

    run: Callable[[Any, StageContext], StageResult]
    embed: Callable[[Any, Carried], Any]

    def __call__(self, artifact: Any, context: StageContext) -> StageResult:
        text, carried = without_comment(str(artifact))
        result = self.run(text, context)
        return result if carried is None else replace(result, artifact=self.embed(result.artifact, carried))


def passing(stage: Stage, embed: Callable[[Any, Carried], Any]) -> Stage:
    """The stage ``stage`` of text, whose output has what is carried behind its input: ``embed`` puts it there."""
    return replace(stage, run=_Passed(stage.run, embed))


def carrying(llir: Stage) -> Stage:
    """The stage ``llir``, so that its text ends with what the simulator runs, as a comment."""
    assert llir.passes is not None
    keep = KeepMachineLevel()
    llir.passes.insert("llir.machine", keep)
    return replace(llir, run=_Commented(llir.run, keep))


def with_comment(text: str, carried: Carried) -> str:
    """``text`` of LLVM IR or assembly with ``carried`` as a comment behind it."""
    return f"{text}{_COMMENT}{carried.packed()}\n"


def without_comment(text: str) -> tuple[str, Carried | None]:
    """``text`` as ever, and what the comment behind it carries; ToolchainError when that is damaged."""
    plain, found, word = text.rpartition(_COMMENT)
    return (plain, Carried.unpacked(word.strip())) if found else (text, None)
