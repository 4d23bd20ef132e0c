"""A kernel as text of the last level before LLVM, run on raw bytes: what a stand-in driver does for a launch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core import mlir
from tri_core.api import TargetKey
from tri_core.lazy_dataclasses import dataclass
from tri_core.plugins import manager
from tri_core.target_selection import resolve
from tri_runtime.simulator.launch import Machine
from tri_runtime.simulator.memory import Allocation, Memory
from tri_runtime.simulator.program import External, Program, find_kernel, symbols_of
from tri_runtime.simulator.scene import Scene
from tri_runtime.simulator.values import shape_of, to_f32

__all__ = ["MachineLevelKernel"]


@dataclass(frozen=True, kw_only=True)
class MachineLevelKernel:
    """Function ``entry`` of ``text``, compiled for ``target``, decoded at its first launch.

    ``threads`` of a work group, ``threads_per_warp`` of them in a warp; ``shared`` bytes; ``externals``: functions that a
    driver brings, by name.
    """

    text: str
    entry: str
    target: TargetKey
    threads: int
    threads_per_warp: int
    shared: int
    externals: Mapping[str, External] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_decoded", None)

    def run(
        self,
        grid: tuple[int, int, int],
        arguments: Sequence[bytes],
        blocks: Iterable[tuple[str, int, npt.NDArray[np.uint8]]],
    ) -> None:
        """Run all work groups on ``blocks``: names, addresses, bytes.  TriError for what hardware does not survive."""
        memory = Memory("global", scene=Scene())
        for name, start, data in blocks:
            memory.add(Allocation(name, start, data, True))
        with mlir.session():
            machine, _ = self._machine()
            program = machine.program
            assert isinstance(program, Program)
            values = [_value(t, a) for t, a in zip(program.types, arguments, strict=True)]
            machine.run(grid, values, memory)

    def _machine(self) -> tuple[Machine, Any]:
        found: tuple[Machine, Any] | None = vars(self)["_decoded"]
        if found is None:
            found = self._decode()
            object.__setattr__(self, "_decoded", found)
        return found

    def _decode(self) -> tuple[Machine, Any]:
        target = resolve(self.target)
        manager().register_ir(mlir.registry, target)
        spaces = {memory.name: memory.address_space for memory in target.spec.memories}
        module = mlir.parse(self.text)
        machine = Machine(
            program=Program(find_kernel(module, self.entry), dict(self.externals), symbols_of(module)),
            num_threads=self.threads,
            threads_per_warp=self.threads_per_warp,
            shared_bytes=self.shared,
            shared_space=spaces["shared"],
            global_spaces=(0, spaces["global"]),
        )
        return machine, module  # which owns what the machine reads


def _value(kind: Any, data: bytes) -> int | float:
    """An argument's bytes as the simulator takes it."""
    shape = shape_of(kind)
    raw = np.frombuffer(data, shape.dtype)[:1]
    found = to_f32(raw) if shape.bf16 else raw
    value: int | float = found[0].item()
    return value
