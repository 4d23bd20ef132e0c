"""What the stand-in runs, carried in the SPIR-V itself: the ``llvm`` dialect with machine ops, as the simulator takes it.

The stage ``llir`` adds it to its text as a comment, the stage ``spv`` to the module as ``OpModuleProcessed``, a text
that no driver looks at (SPIR-V specification, section 2.4, 7c).  So whoever has the module has all of it: a native
image in a store, another process.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any, ClassVar

from tri_backend_intel.spirv.reader import instructions_of, string_of
from tri_core.api import Pass, Stage, StageContext, StageResult, ToolchainError
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["Carried", "carried_by", "carrying", "with_carried"]

_MARK = "tri.machine"
_COMMENT = f"\n; {_MARK} "
_PROCESSED = 330
#: instructions that may stand before it: capabilities to names (SPIR-V specification, section 2.4)
_BEFORE = frozenset({2, 3, 4, 5, 6, 7, 10, 11, 14, 15, 16, 17, _PROCESSED, 331})
_HEADER_BYTES = 20
#: characters of one instruction, which has at most 65535 words
_PIECE = 200_000


@dataclass(frozen=True)
class Carried:
    """A kernel for the simulator: ``text`` of the module, the function ``entry``, the shape of a work group.

    ``threads`` of a work group, ``threads_per_warp`` of them in a sub-group; ``shared`` bytes of local memory.
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
        """What :meth:`packed` made ``word`` of; ToolchainError when it is damaged."""
        try:
            return cls(**json.loads(zlib.decompress(base64.b64decode(word, validate=True))))
        except (ValueError, TypeError, zlib.error) as error:
            raise ToolchainError(
                f"what the module carries for the stand-in driver is damaged: {error}",
                remedy="compile the kernel again, with TRI_INTEL_STANDIN=pvc",
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
        return replace(result, artifact=f"{result.artifact}{_COMMENT}{carried.packed()}\n")


@dataclass(frozen=True)
class _Embedded:
    """The stage ``spv`` whose module has what the text ends with; without it, the module is as ever."""

    run: Callable[[Any, StageContext], StageResult]

    def __call__(self, artifact: Any, context: StageContext) -> StageResult:
        text, found, word = str(artifact).rpartition(_COMMENT)
        result = self.run(text if found else artifact, context)
        if not found:
            return result
        assert isinstance(result.artifact, bytes)
        return replace(result, artifact=with_carried(result.artifact, Carried.unpacked(word.strip())))


def carrying(llir: Stage, spv: Stage) -> tuple[Stage, Stage]:
    """The two stages, so that modules carry what the stand-in runs."""
    assert llir.passes is not None
    keep = KeepMachineLevel()
    llir.passes.insert("llir.machine", keep)
    return replace(llir, run=_Commented(llir.run, keep)), replace(spv, run=_Embedded(spv.run))


def with_carried(module: bytes, carried: Carried) -> bytes:
    """SPIR-V ``module`` with ``carried``; ToolchainError when it is damaged."""
    place = _HEADER_BYTES
    for opcode, operands in instructions_of(module):
        if opcode not in _BEFORE:
            break
        place += 4 * (1 + len(operands))
    packed = carried.packed()
    pieces = [packed[i : i + _PIECE] for i in range(0, len(packed), _PIECE)]
    texts = (f"{_MARK} {i} {len(pieces)} {piece}" for i, piece in enumerate(pieces))
    return module[:place] + b"".join(map(_processed, texts)) + module[place:]


def _processed(text: str) -> bytes:
    data = text.encode() + b"\0"
    data = data.ljust(-(-len(data) // 4) * 4, b"\0")
    return struct.pack("<I", (1 + len(data) // 4) << 16 | _PROCESSED) + data


def carried_by(module: bytes) -> Carried | None:
    """What SPIR-V ``module`` carries; None where it carries nothing, ToolchainError when it is damaged."""
    pieces = list(_pieces(module))
    return Carried.unpacked("".join(pieces)) if pieces else None


def _pieces(module: bytes) -> Iterator[str]:
    for opcode, operands in instructions_of(module):
        if opcode == _PROCESSED:
            mark, _, rest = string_of(operands).partition(" ")
            if mark == _MARK:
                yield rest.split(" ", 2)[2]
