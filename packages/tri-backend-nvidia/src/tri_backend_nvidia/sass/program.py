"""A kernel's machine code, as a CTA of the simulator runs it: every instruction decoded once to a step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tri_backend_nvidia.sass.evaluator import Instruction, UnknownCode, parse
from tri_backend_nvidia.sass.instructions import MEANINGS
from tri_backend_nvidia.sass.lanes import SHARED, Layout, lanes_of
from tri_backend_nvidia.sass.threads import THREADS
from tri_core.errors import SourceLocation, Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator import CTA
from tri_runtime.simulator.repetition import Flow

__all__ = ["SassProgram", "SassSite", "image_of"]

_HEADER = "// "
_SECTION = re.compile(r"\s*\.section\s+\.text\.([\w$]+)")
_LABEL = re.compile(r"\s*(\.L_x?_?\w+):")
_LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_GOAL = re.compile(r"`\((\.\w+)\)")
_REGISTERS = re.compile(r"\bU?[RP]\d+\b")
#: where threads part and meet: they meet in the simulator where their paths do
_MARKS = frozenset(("BSSY", "BSYNC", "BREAK", "WARPSYNC", "YIELD", "NOP", "BMOV", "DEPBAR", "LDGDEPBAR"))
_ENDS = frozenset(("BRA", "EXIT"))

#: registers that an instruction may write when it names one
_ROW = 4

Step = Callable[[CTA], object]


@dataclass(frozen=True)
class SassSite:
    """An instruction at byte ``address`` of the machine code."""

    code: Instruction
    address: str

    @property
    def op(self) -> str:
        """The instruction, as errors name it."""
        return f"{self.code.text} (SASS 0x{self.address})"

    @property
    def note(self) -> str:
        """Notes of an error besides the place in the source."""
        return f" ({self.op})"

    def source(self) -> SourceLocation | None:
        """None: machine code has no lines here."""
        return None


def image_of(text: str, layouts: dict[str, Layout]) -> str:
    """nvdisasm's ``text`` with the parameters of its kernels."""
    return f"{_HEADER}{json.dumps({name: each.fields() for name, each in layouts.items()})}\n{text}"


class SassProgram:
    """The kernel ``name`` of an :func:`image_of` it; Unsupported for an instruction that is not known."""

    def __init__(self, image: str, name: str) -> None:
        header, _, text = image.partition("\n")
        self.layout = Layout(*json.loads(header.removeprefix(_HEADER))[name])
        self.sites: list[SassSite] = []
        code, labels = _read(text, name)
        self._blocks, self._goals = _parted(code, labels)
        names = sorted({each for site in code for each in _touched(site.code)})
        count = len(self.layout.kinds)
        #: registers are shown to the simulator so that it sees when nothing changes
        self.slots: dict[Any, int] = {i: i for i in range(count + 1)} | {
            each: i for i, each in enumerate(names, count + 1)
        }
        self.flow = Flow()
        self.steps: list[list[Step]] = [self._decoded(i, block) for i, block in enumerate(self._blocks)]
        self.collectives: list[list[int]] = [[] for _ in self._blocks]

    @property
    def symbols(self) -> Sequence[str]:
        """The beginning of shared memory."""
        return (SHARED,)

    @property
    def parameters(self) -> Sequence[int]:
        """The slots of the kernel's parameters."""
        return range(1, len(self.layout.kinds) + 1)

    def given(self, arguments: Sequence[int | float], num_threads: int) -> list[Any]:
        """The bytes of ``arguments``, the same for each thread."""
        del num_threads
        return self.layout.encoded(arguments)

    # --- decoding ---------------------------------------------------------------------------------------------

    def _decoded(self, number: int, block: Sequence[SassSite]) -> list[Step]:
        last = block[-1] if block[-1].code.name in _ENDS else None
        steps = [self._step(number, site) for site in (block[:-1] if last else block)]
        if last is not None:
            self.sites.append(last)
            self._acts(number, last)
        return [*steps, self._end(number, last)]

    def _acts(self, number: int, site: SassSite) -> None:
        touched = [self.slots[each] for each in _touched(site.code)]
        self.flow.acts(number, touched, touched)

    def _step(self, number: int, site: SassSite) -> Step:
        self.sites.append(site)
        self._acts(number, site)
        code, layout, place = site.code, self.layout, len(self.sites) - 1
        if code.name in _MARKS:
            return lambda cta: None
        together = THREADS.get(code.name)
        if together is None and code.name not in MEANINGS:
            raise Unsupported(f"the meaning of the machine code {site.op} is not known")

        def step(cta: CTA) -> object:
            cta.scene.site = place
            lanes = lanes_of(cta, layout)
            try:
                where = lanes.active(code.guard)
                if where is not None and not where.any():
                    return None
                if together is not None:
                    return together(lanes, code, where)
                lanes.execute(code, where)
            except (UnknownCode, ValueError, KeyError) as error:
                raise Unsupported(
                    f"the meaning of the machine code {site.op} is not known: {error}"
                ) from None
            return None

        return step

    def _end(self, number: int, last: SassSite | None) -> Step:
        following = number + 1
        if last is not None and last.code.name == "BRA":
            goal = self._goals[number]
            self.flow.goes(number, (), goal, ())
            if not last.code.guard and len(last.code.operands) == 1:
                return lambda cta: self._jump(cta, [(cta.active, goal)])
        else:
            goal = -1
        if last is not None and not last.code.guard and len(last.code.operands) == int(goal >= 0):
            return lambda cta: cta.leave()
        self.flow.goes(number, (), following, ())
        if last is None:
            return lambda cta: self._jump(cta, [(cta.active, following)])
        place, guard, operands = len(self.sites) - 1, last.code.guard, last.code.operands

        def parted(cta: CTA) -> None:
            cta.scene.site = place
            active, lanes = cta.active, lanes_of(cta, self.layout)
            conditions = (*([guard] if guard else []), *(operands[:-1] if goal >= 0 else operands))
            try:
                chosen = np.logical_and.reduce([active, *map(lanes.flag, conditions)])
            except UnknownCode as error:
                raise Unsupported(f"the branch {last.op} is not known: {error}") from None
            if goal >= 0:
                self._jump(cta, [(chosen, goal), (active & ~chosen, following)])
                return
            self._jump(cta, [(active & ~chosen, following)])
            cta.active, cta.whole = chosen, bool(chosen.all())
            cta.leave()

        return parted

    def _jump(self, cta: CTA, ways: Sequence[tuple[Any, int]]) -> None:
        lanes = lanes_of(cta, self.layout)
        for name, value in (*lanes.registers.items(), *lanes.predicates.items()):
            cta.values[self.slots[name]] = value
        cta.jump([(threads, block, ()) for threads, block in ways])


def _touched(code: Instruction) -> list[str]:
    """Registers that ``code`` reads or writes, and neighbours that it may: of pairs and rows only the first is named."""
    named = _REGISTERS.findall(code.text)
    rows = [(each.rstrip("0123456789"), int(re.sub(r"\D", "", each))) for each in named]
    return [f"{kind}{number + i}" for kind, number in rows for i in range(1 if kind.endswith("P") else _ROW)]


def _read(text: str, name: str) -> tuple[list[SassSite], dict[str, int]]:
    """The instructions of kernel ``name``, and the number of the one that each label is before."""
    inside, code, labels = False, list[SassSite](), dict[str, int]()
    for line in text.splitlines():
        if section := _SECTION.match(line):
            inside = section[1] == name
        elif inside and (found := _LINE.match(line)):
            code.append(SassSite(parse(found[2]), found[1]))
        elif inside and (label := _LABEL.match(line)):
            labels[label[1]] = len(code)
    if not code:
        raise Unsupported(f"the disassembly shows no code of kernel {name}")
    return code, labels


def _parted(code: Sequence[SassSite], labels: dict[str, int]) -> tuple[list[list[SassSite]], dict[int, int]]:
    """Blocks in the order of the code, and by block the one that its branch goes to."""
    starts = {0, *(at for at in labels.values() if at < len(code))}
    starts |= {i + 1 for i, site in enumerate(code) if site.code.name in _ENDS and i + 1 < len(code)}
    order = sorted(starts)
    blocks = [list(code[a:b]) for a, b in zip(order, [*order[1:], len(code)], strict=True)]
    numbers, goals = {start: i for i, start in enumerate(order)}, {}
    for i, block in enumerate(blocks):
        if block[-1].code.name == "BRA":
            goal = _GOAL.search(block[-1].code.text)
            if goal is None or goal[1] not in labels:
                raise Unsupported(f"the branch {block[-1].op} goes to no label that is known")
            goals[i] = numbers[labels[goal[1]]]
    return blocks, goals
