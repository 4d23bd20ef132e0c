"""A compiled kernel as a value: metadata, the text of every stage, the image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tri_core.image import KernelImage, KernelMetadata

__all__ = ["Artifacts", "CompiledKernel"]


class Artifacts(Mapping[str, str | bytes]):
    """What each stage made, by stage name: text, or bytes where the stage makes bytes.

    Text is decoded when it is asked for.  The disassemblers of stages are further keys, run when asked
    for (they may need a tool, so iteration leaves them out); a KeyError lists what is known.
    """

    def __init__(
        self,
        stages: Mapping[str, bytes | memoryview],
        texts: frozenset[str],
        disassemblers: Mapping[str, str],
        metadata: KernelMetadata,
    ) -> None:
        self._stages = stages
        self._texts = texts
        self._disassemblers = disassemblers
        self._metadata = metadata
        self._made: dict[str, str | bytes] = {}

    def __getitem__(self, name: str) -> str | bytes:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(name)
        return found

    def _make(self, name: str) -> str | bytes:
        if name in self._stages:
            data = bytes(self._stages[name])
            return self._text(data.decode()) if name in self._texts else data
        if name in self._disassemblers:
            return self._disassemble(name, self._disassemblers[name])
        known = ", ".join([*self._stages, *self._disassemblers])
        raise KeyError(f"no stage {name!r} for {self._metadata.target}; known: {known}")

    def _text(self, text: str) -> str:
        """``text``; a module, which is stored as MLIR prints it, in the syntax of its dialects."""
        from tri_core.compiler.readable import is_module

        if not is_module(text):
            return text
        from tri_core import mlir
        from tri_core.plugins import manager
        from tri_core.targets import resolve
        from tri_core.text import to_text

        # made by another process, perhaps: what writes the dialects need not be here yet
        manager().register_ir(mlir.registry, resolve(self._metadata.target))
        return to_text(text)

    def _disassemble(self, name: str, stage: str) -> str:
        from tri_core.plugins import manager
        from tri_core.targets import resolve

        target = resolve(self._metadata.target)
        pipeline = manager().pipeline(target, target.options_type.parse(self._metadata.options))
        return pipeline[stage].disassemblers[name](bytes(self._stages[stage]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __contains__(self, name: object) -> bool:
        return name in self._stages or name in self._disassemblers

    def __repr__(self) -> str:
        return f"Artifacts({', '.join([*self._stages, *self._disassemblers])})"

    def __getstate__(self) -> dict[str, Any]:
        stages = {name: bytes(data) for name, data in self._stages.items()}
        return {**self.__dict__, "_stages": stages, "_made": {}}


@dataclass(frozen=True, eq=False)
class CompiledKernel:
    """The result of a compile; pickles, and crosses processes whole.

    ``asm`` maps stage names to what they made; ``image`` is what a runtime loads.
    """

    metadata: KernelMetadata
    asm: Artifacts
    image: KernelImage

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.metadata.name

    def __repr__(self) -> str:
        return f"<kernel {self.name} for {self.metadata.target}: {', '.join(self.asm)}>"
