"""A share of the kit, and random kernels, where the simulator runs the text that an assembler is given."""

from __future__ import annotations

import pytest

from integration.random_kernels.running import check
from integration.random_kernels.strategy import seeded
from tri_conformance import Selection, Subject, cases, judge

TARGETS = ("sim:nvidia:sm_80:level=text", "sim:nvidia:sm_90a:level=text")
#: one case of each
_FEATURES = (
    "language/load-store",
    "language/atomic_add",
    "language/atomic_cas",
    "language/broadcast-axis0",
    "language/dot",
    "language/gather-axis0",
    "language/permute-10",
    "language/scan-cumsum-axis0",
    "language/sort",
    "language/sum-axis1",
    "pipeline/broken-text",
    "programs/vector-add",
)
_KERNELS = 10


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("feature", _FEATURES)
def test_a_case_of_the_kit(target: str, feature: str) -> None:
    chosen, _ = cases(Selection(select=(f"{feature}*",)))
    case = next(case for case in chosen if case.id.rpartition("/")[0] == feature or case.id == feature)
    result = judge(case, Subject(target))
    assert result.verdict in ("passed", "not-applicable"), result


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", range(_KERNELS))
def test_a_random_kernel(target: str, number: int) -> None:
    check(seeded(20261128, number), ("numpy", target), refused=lambda target, error: pytest.skip(str(error)))
