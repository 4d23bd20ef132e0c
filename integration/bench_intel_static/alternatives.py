"""Instructions that the driver's compiler makes of what the backend could say otherwise: ``python -m integration.bench_intel_static.alternatives``.

Each alternative is a kernel of one float a work item; what is printed is all of its instructions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from integration.bench_intel_static import igc
from tri_core.api import CodegenRequest
from tri_core.codegen import service
from tri_core.targets import resolve

__all__ = ["ALTERNATIVES", "count", "reduction", "scan"]

#: extensions that only alternatives use
_EXTENSIONS = ("SPV_INTEL_split_barrier", "SPV_INTEL_tensor_float32_conversion")
_KERNEL = """
define spir_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) !reqd_work_group_size !0 !intel_reqd_sub_group_size !1 {{
  %id = call spir_func i64 @_Z12get_local_idj(i32 0)
  %lane = trunc i64 %id to i32
{body}
  ret void
}}
declare spir_func i64 @_Z12get_local_idj(i32)
{declared}
attributes #0 = {{ convergent nounwind }}
!0 = !{{i32 64, i32 1, i32 1}}
!1 = !{{i32 {lanes}}}
"""


@dataclass(frozen=True)
class Alternative:
    """LLVM IR that makes ``%result{row}`` of ``%v{row}``, and the declarations that it needs."""

    body: str
    declared: str = ""

    def text(self, lanes: int, rows: int = 1) -> str:
        """A kernel that does it to ``rows`` rows of floats."""
        lines = [
            f"""  %p{row} = getelementptr [64 x float], ptr addrspace(1) %in, i64 {row}, i64 %id
  %v{row} = load float, ptr addrspace(1) %p{row}
{self.body.format(row=row)}
  %q{row} = getelementptr [64 x float], ptr addrspace(1) %out, i64 {row}, i64 %id
  store float %result{row}, ptr addrspace(1) %q{row}"""
            for row in range(rows)
        ]
        return _KERNEL.format(body="\n".join(lines), declared=self.declared, lanes=lanes)


def _called(symbol: str, types: str, given: str) -> Alternative:
    body = f"  %result{{row}} = call spir_func float @{symbol}({given}) #0"
    return Alternative(body, f"declare spir_func float @{symbol}({types}) #0")


def reduction(lanes: int) -> dict[str, Alternative]:
    """Sums over all lanes: by shuffles with the lane that differs in one bit, and as one operation of the group."""
    steps, value = [], "%v{row}"
    distances = [1 << i for i in range(lanes.bit_length() - 1)]
    for d in distances:
        made = "%result{row}" if d == distances[-1] else f"%r{d}_{{row}}"
        steps += [
            f"  %s{d}_{{row}} = call spir_func float @_Z21sub_group_shuffle_xorfj(float {value}, i32 {d}) #0",
            f"  {made} = fadd float {value}, %s{d}_{{row}}",
        ]
        value = made
    shuffles = Alternative(
        "\n".join(steps), "declare spir_func float @_Z21sub_group_shuffle_xorfj(float, i32) #0"
    )
    return {"shuffles": shuffles, "group": _called("_Z20sub_group_reduce_addf", "float", "float %v{row}")}


def scan(lanes: int) -> dict[str, Alternative]:
    """Running sums over the lanes: by shuffles from lower lanes, and as one operation of the group."""
    steps, value = [], "%v{row}"
    distances = [1 << i for i in range(lanes.bit_length() - 1)]
    for d in distances:
        made = "%result{row}" if d == distances[-1] else f"%r{d}_{{row}}"
        steps += [
            f"  %l{d}_{{row}} = sub i32 %lane, {d}",
            f"  %s{d}_{{row}} = call spir_func float @_Z17sub_group_shufflefj(float {value}, i32 %l{d}_{{row}}) #0",
            f"  %t{d}_{{row}} = fadd float {value}, %s{d}_{{row}}",
            f"  %c{d}_{{row}} = icmp uge i32 %lane, {d}",
            f"  {made} = select i1 %c{d}_{{row}}, float %t{d}_{{row}}, float {value}",
        ]
        value = made
    shuffles = Alternative(
        "\n".join(steps), "declare spir_func float @_Z17sub_group_shufflefj(float, i32) #0"
    )
    symbol = "_Z28sub_group_scan_inclusive_addf"
    return {"shuffles": shuffles, "group": _called(symbol, "float", "float %v{row}")}


_BARRIER = "__spirv_ControlBarrier"
_SUM = "  %result{row} = fadd float %v{row}, 1.0"


def _waiting(name: str) -> tuple[str, str]:
    symbol = f"_Z{len(name)}{name}iii"
    declared = f"declare spir_func void @{symbol}(i32, i32, i32) #0"
    return f"  call spir_func void @{symbol}(i32 2, i32 2, i32 264) #0", declared


def _barriers() -> dict[str, Alternative]:
    whole, declared = _waiting(_BARRIER)
    (arrive, first), (wait, second) = _waiting(f"{_BARRIER}ArriveINTEL"), _waiting(f"{_BARRIER}WaitINTEL")
    return {
        "none": Alternative(_SUM),
        "barrier": Alternative(f"{whole}\n{_SUM}", declared),
        "split barrier": Alternative(f"{arrive}\n{_SUM}\n{wait}", f"{first}\n{second}"),
        "rounded to tf32": _called("_Z25__spirv_RoundFToTF32INTELf", "float", "float %v{row}"),
        "rounded to tf32 by integers": Alternative(_BY_INTEGERS),
    }


_BY_INTEGERS = """  %i{row} = bitcast float %v{row} to i32
  %b{row} = lshr i32 %i{row}, 13
  %o{row} = and i32 %b{row}, 1
  %h{row} = add i32 %o{row}, 4095
  %s{row} = add i32 %i{row}, %h{row}
  %m{row} = and i32 %s{row}, -8192
  %f{row} = bitcast i32 %m{row} to float
  %n{row} = fcmp uno float %v{row}, 0.0
  %result{row} = select i1 %n{row}, float %v{row}, float %f{row}"""

#: of one float a work item, in sub-groups of 16
ALTERNATIVES = _barriers()


@cache
def count(alternative: Alternative, device: str, lanes: int = 16, rows: int = 1) -> int:
    """Instructions of the kernel; :class:`igc.Refused` where the driver's compiler takes no such module."""
    target = resolve(f"intel:{device}")
    assert target.spec.llvm is not None
    names = sorted({f for f in target.spec.features if f.startswith("SPV_")} | {*_EXTENSIONS})
    request = CodegenRequest(
        llvm_ir=alternative.text(lanes, rows),
        triple=target.spec.llvm.triple,
        emit=("object",),
        llvm_options=("-spirv-ext=" + ",".join(f"+{name}" for name in names),),
        isolated=True,
    )
    listing = igc.build(service().compile(request).objects["object"], device).listing
    return sum("(" in line.partition("//")[0] for line in listing if not line.lstrip().startswith((".", "L")))


def _lines() -> Iterator[str]:
    """One line of figures each."""
    for device in igc.DEVICES:
        for name, alternative in ALTERNATIVES.items():
            try:
                yield f"{device}: {name}: {count(alternative, device)}"
            except igc.Refused:
                yield f"{device}: {name}: refused"
        for lanes in resolve(f"intel:{device}").spec.threads_per_warp:
            for kind, ways in (("sum", reduction(lanes)), ("running sum", scan(lanes))):
                for rows in (1, 8):
                    both = ", ".join(f"{way} {count(a, device, lanes, rows)}" for way, a in ways.items())
                    yield f"{device}: {kind} over {lanes} lanes, {rows} rows: {both}"


if __name__ == "__main__":
    for line in _lines():
        sys.stdout.write(line + "\n")
