"""A loop above a step of occupancy is compiled again below it, and that is kept where it spills nothing and the estimate is better."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from integration.bench_amd_static.cases import CASES, kernel_of, source_of

import tri
from tri_backend_amd.hsaco.waves import WorkGroups
from tri_core.api import CodegenReply, CodegenRequest
from tri_core.target_selection import resolve

TEXT = 'attributes #0 = { "amdgpu-flat-work-group-size"="256,256" }'
#: a load, and its use
BODY = "\tbuffer_load_dword v1, v0, s[0:3], 0 offen\n\ts_waitcnt vmcnt(0)\n"


@dataclass
class Service:
    """``registers`` at first; for so many wavefronts as are asked for ``fewer``, ``more`` instructions and ``spilt`` registers."""

    registers: int
    fewer: int
    more: int = 0
    spilt: int = 0
    matrix: bool = False
    loop: bool = True
    asked: list[bool] = field(default_factory=list)

    def compile(self, request: CodegenRequest) -> CodegenReply:
        again = "amdgpu-waves-per-eu" in request.llvm_ir
        self.asked.append(again)
        instruction = (
            "v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[2:3], v[0:15]"
            if self.matrix
            else "v_add_f32 v0, v0, v1"
        )
        adds = 200 + (self.more if again else 0)
        label, jump = (".LBB0_1:\n", "\ts_cbranch_scc1 .LBB0_1\n") if self.loop else ("", "")
        lines = label + BODY + f"\t{instruction}\n" * adds + jump
        registers, spilt = (self.fewer, self.spilt) if again else (self.registers, 0)
        facts = f"    .group_segment_fixed_size: 0\n    .vgpr_count: {registers}\n    .vgpr_spill_count: {spilt}\n"
        return CodegenReply(texts={"asm": lines + ".Lfunc_end0:\n" + facts})


def registers(service: Service, cpu: str = "gfx942", text: str = TEXT, told: bool = False) -> int:
    unit = None if told else resolve(f"amd:{cpu}").spec.unit
    groups = WorkGroups(service, unit, warps=4)
    reply = groups.generate(CodegenRequest(llvm_ir=text, triple="amdgcn", cpu=cpu))
    return int(reply.texts["asm"].partition(".vgpr_count: ")[2].split()[0])


@pytest.mark.parametrize(
    ("service", "kept"),
    [
        (Service(146, 96), 96),
        (Service(146, 96, spilt=1), 146),
        (Service(146, 96, more=400), 146),  # as many more instructions as wavefronts
    ],
)
def test_more_wavefronts_are_kept_where_they_take_fewer_cycles_each(service: Service, kept: int) -> None:
    assert registers(service) == kept
    assert service.asked == [False, True]


@pytest.mark.parametrize(
    ("service", "cpu", "text", "told"),
    [
        (Service(64, 1), "gfx942", TEXT, False),  # there is room for all
        (Service(512, 1), "gfx942", TEXT, False),  # far above a step
        (Service(146, 96, matrix=True), "gfx942", TEXT, False),
        (Service(146, 96, loop=False), "gfx942", TEXT, False),
        (Service(146, 96), "gfx1201", TEXT, False),  # no rates are known
        (Service(146, 96), "gfx942", TEXT + " " * 100_000, False),  # takes too long
        (Service(146, 96), "gfx942", TEXT, True),  # whoever launches says how many
    ],
)
def test_nothing_is_compiled_twice_in_vain(service: Service, cpu: str, text: str, told: bool) -> None:
    assert registers(service, cpu, text, told) == service.registers
    assert service.asked == [False]


def test_a_recurrence_has_five_wavefronts_by_registers() -> None:
    (case,) = (case for case in CASES if case.name == "gfx942 recurrence 64x64")
    source = source_of(tri.ASTSource, kernel_of(case), case)
    kernel = tri.compile(source, target="amd:gfx942", options={"num_warps": 4})
    assert int(str(kernel.asm["amdgcn"]).partition(".vgpr_count:")[2].split()[0]) <= 96
