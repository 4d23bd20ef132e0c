"""A kernel's text made ready to run: every instruction decoded once, to a step of the simulator's CTA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tri_backend_nvidia.text.carries import CARRY, carried, leaves_carry, takes_carry
from tri_backend_nvidia.text.conversions import cvt
from tri_backend_nvidia.text.floats import FLOATS
from tri_backend_nvidia.text.flow import Block, Way, blocks_of
from tri_backend_nvidia.text.integer import INTEGER
from tri_backend_nvidia.text.memory import MEMORY
from tri_backend_nvidia.text.operation import Operation, unknown
from tri_backend_nvidia.text.registers import Reader, Registers, guarded, leave_open
from tri_backend_nvidia.text.syntax import Instruction, Kernel, Parameter, bits_of, read_kernel
from tri_backend_nvidia.text.threads import THREADS
from tri_backend_nvidia.text.units import UNITS
from tri_backend_nvidia.text.values import Array, dtype_of, is_float, word
from tri_backend_nvidia.text.waits import Use, weak_waits
from tri_core.errors import SourceLocation, Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator import CTA
from tri_runtime.simulator.cta import Step
from tri_runtime.simulator.repetition import Flow
from tri_runtime.simulator.values import to_bf16

__all__ = ["TextProgram", "TextSite"]

_EFFECTS = {**MEMORY, **THREADS, **UNITS}
#: of dots of warp groups and of asynchronous copies: what groups those under way, which all that are there do together
_GROUPED = frozenset(("mma_async", "commit_group", "wait_group", "wait_all", "noinc"))


@dataclass(frozen=True)
class TextSite:
    """An instruction of the text, and where in the user's source it comes from."""

    instruction: Instruction

    @property
    def op(self) -> str:
        """The instruction, as errors name it."""
        return f"{self.instruction} (PTX line {self.instruction.line})"

    @property
    def note(self) -> str:
        """Notes of an error besides the place in the source."""
        return f" ({self.instruction}, PTX line {self.instruction.line})"

    def source(self) -> SourceLocation | None:
        """The place in the user's source; None where the text has no lines."""
        return self.instruction.location


class TextProgram:
    """The kernel ``name`` of PTX ``text``: blocks of steps, as a CTA of the simulator runs them."""

    def __init__(self, text: str, name: str) -> None:
        self.kernel: Kernel = read_kernel(text, name)
        self.kernel.registers[CARRY] = "pred"
        self.registers = Registers(self.kernel)
        self.blocks: list[Block] = blocks_of(self.kernel)
        self.sites: list[TextSite] = []
        self._widths = {
            self.registers.slots[name]: bits_of(kind) for name, kind in self.kernel.registers.items()
        }
        self.flow = Flow()
        self._uses: dict[int, list[Use]] = {}
        self._sources: dict[int, set[int]] = {}
        self._defined: list[tuple[int, set[int]]] = []
        self.steps: list[list[Step]] = [self._decoded(i, block) for i, block in enumerate(self.blocks)]
        for block, outputs in self._defined:
            for output in outputs:
                self.flow.computes(block, sorted(self._sources[output]), [output])
        #: ways back of loops that only repeat weak loads, with a load's site
        self._weak = weak_waits(self.blocks, self._uses)
        self.collectives: list[list[int]] = [
            [i for i, code in enumerate(block.code) if _is_collective(code)] for block in self.blocks
        ]

    @property
    def slots(self) -> Mapping[str, int]:
        """The index of each register."""
        return self.registers.slots

    @property
    def symbols(self) -> Sequence[str]:
        """Names of shared memory."""
        return sorted(self.kernel.symbols)

    @property
    def parameters(self) -> Sequence[int]:
        """The slots of the kernel's parameters."""
        return [self.registers.slots[p.name] for p in self.kernel.parameters]

    def given(self, arguments: Sequence[int | float], num_threads: int) -> list[Array]:
        """``arguments`` as words in the slots of parameters, for each thread."""
        pairs = zip(self.kernel.parameters, arguments, strict=True)
        return [np.broadcast_to(_argument(p, a), (num_threads,)) for p, a in pairs]

    # --- decoding ---------------------------------------------------------------------------------------------

    def _decoded(self, number: int, block: Block) -> list[Step]:
        steps = [self._step(number, code) for code in block.code]
        if block.last is not None:
            self.sites.append(TextSite(block.last))
        if not block.ways:
            return [*steps, lambda cta: cta.leave()]
        return [*steps, self._jump(number, block.ways)]

    def _step(self, block: int, code: Instruction) -> Step:
        self.sites.append(TextSite(code))
        with self.registers.noted():
            # a guard that has a block of its own has parted threads already
            apart = (
                code.guard is not None
                and len(self.blocks[block].code) == 1
                and code.parts[0] in ("bar", "barrier", "mbarrier")
            )
            guard = None if apart else guarded(code, self.registers)
            body, is_pure = self._body(code)
            reads, writes = set(self.registers.reads), set(self.registers.writes)
        for slot in writes:
            self._sources.setdefault(slot, set()).update(reads)
        self._defined.append((block, writes))
        self._note(block, code, reads, writes, is_pure)
        if not is_pure:
            self.flow.acts(block, sorted(reads), [])
        return _observed(
            len(self.sites) - 1, body if guard is None else _guarded(guard, body, self._bits(writes))
        )

    def _bits(self, slots: set[int]) -> dict[int, int]:
        return {slot: self._widths[slot] for slot in slots}

    def _body(self, code: Instruction) -> tuple[Step, bool]:
        """Step for ``code``, and True if it only computes; Unsupported, with its line, where that is not known."""
        try:
            return self._meaning(code)
        except (KeyError, ValueError, IndexError) as error:
            raise unknown(code) from error
        except Unsupported as error:
            if f"PTX line {code.line}" in str(error):
                raise
            raise unknown(code, str(error)) from error

    def _meaning(self, code: Instruction) -> tuple[Step, bool]:
        name = code.parts[0]
        if name == "mov":
            return self._move(code), True
        if name in _EFFECTS:
            return _EFFECTS[name](self.registers, code), False
        if takes_carry(code) or leaves_carry(code):
            return self._carried(code), True
        return self._pure(code, _operation(code)), True

    def _carried(self, code: Instruction) -> Step:
        operation = carried(code)
        target, *sources = code.operands
        targets, sources = [target, *[CARRY] * leaves_carry(code)], [*sources, *[CARRY] * takes_carry(code)]
        readers = [self.registers.reader(s, t) for s, t in zip(sources, operation.inputs, strict=True)]
        writers = [self.registers.writer(t, o) for t, o in zip(targets, operation.outputs, strict=True)]
        return _several(operation.compute, readers, writers)

    def _move(self, code: Instruction) -> Step:
        target, source = code.operands
        type_ = code.parts[-1]
        read, write = self.registers.reader(source, type_), self.registers.writer(target, type_)
        return lambda cta: write(cta, read(cta))

    def _pure(self, code: Instruction, operation: Operation) -> Step:
        target, *sources = code.operands
        if len(sources) != len(operation.inputs):
            raise unknown(code, f"{len(sources)} operands")
        compute = operation.compute
        readers = [self.registers.reader(s, t) for s, t in zip(sources, operation.inputs, strict=True)]
        targets = target.split("|")
        writers = [self.registers.writer(t, o) for t, o in zip(targets, operation.outputs, strict=True)]
        if code.parts[0] == "setp":
            return _several(compute, readers, writers)
        (write,) = writers

        def step(cta: CTA) -> None:
            write(cta, compute(*[read(cta) for read in readers]))

        return step

    def _jump(self, number: int, ways: Sequence[Way]) -> Step:
        with self.registers.noted():
            chosen = [(way.target, self._chosen(way)) for way in ways]
            reads = sorted(self.registers.reads)
        self._note(number, None, set(reads), set(), True)
        for way in ways:
            self.flow.goes(number, reads, way.target, ())

        def step(cta: CTA) -> None:
            left = cta.active
            parts = []
            for target, which in chosen:
                there = left if which is None else left & which(cta)
                left = left & ~there
                if (number, target) in self._weak and there.any():
                    raise _repeated(cta, self._weak[number, target], there)
                parts.append((there, target, ()))
            cta.jump(parts)

        return step

    def _note(
        self, block: int, code: Instruction | None, reads: set[int], writes: set[int], is_pure: bool
    ) -> None:
        use = Use(code, frozenset(reads), frozenset(writes), len(self.sites) - 1, is_pure)
        self._uses.setdefault(block, []).append(use)

    def _chosen(self, way: Way) -> Reader | None:
        if way.guard is not None:
            return self.registers.reader("!" * way.guard.negated + way.guard.register, "pred")
        if way.register:
            read = self.registers.reader(way.register, "u32")
            return lambda cta: read(cta) == way.case
        return None


def _is_collective(code: Instruction) -> bool:
    return code.parts[0] in ("wgmma", "cp") and not _GROUPED.isdisjoint(code.parts)


def _operation(code: Instruction) -> Operation:
    name, type_ = code.parts[0], code.parts[-1]
    if name == "cvt":
        return cvt(code)
    table = FLOATS if is_float(type_) and name in FLOATS else INTEGER
    return table[name](code)


def _several(
    compute: Callable[..., Any], readers: Sequence[Reader], writers: Sequence[Callable[[CTA, Array], None]]
) -> Step:
    def step(cta: CTA) -> None:
        for write, value in zip(writers, compute(*[read(cta) for read in readers]), strict=True):
            write(cta, value)

    return step


def _repeated(cta: CTA, site: int, threads: Array) -> Exception:
    cta.scene.site = site
    thread = int(np.flatnonzero(threads)[0])
    return cta.scene.error(
        "weak-wait",
        f"thread {thread} waits in a loop that only repeats a weak load, which an assembler may do once",
        thread=thread,
        remedy="wait by volatile loads or atomics (tl.atomic_add(p, 0, sem='acquire'))",
    )


def _observed(site: int, step: Step) -> Step:
    def observed(cta: CTA) -> object:
        cta.scene.site = site
        return step(cta)

    return observed


def _guarded(guard: Reader, body: Step, writes: Mapping[int, int]) -> Step:
    """``body``, which ``writes`` slots of so many bits, for the threads that ``guard`` chooses."""

    def step(cta: CTA) -> object:
        active, whole = cta.active, cta.whole
        chosen = active & guard(cta)
        leave_open(cta, writes, active & ~chosen)
        if not chosen.any():
            return None
        cta.active, cta.whole = chosen, bool(chosen.all())
        try:
            return body(cta)
        finally:
            cta.active, cta.whole = active, whole

    return step


def _argument(parameter: Parameter, value: float) -> Array:
    if parameter.nbytes:
        return np.array(value, np.int64)
    kind, type_ = dtype_of(parameter.type), parameter.type
    with np.errstate(over="ignore"):
        if type_.startswith("bf") or (kind.kind in "iu" and isinstance(value, float)):
            return to_bf16(np.array(value))
        if kind.kind == "f":
            return np.array(value).astype(kind).view(word(bits_of(type_)))
    return np.array(int(value) & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(word(bits_of(type_)))
