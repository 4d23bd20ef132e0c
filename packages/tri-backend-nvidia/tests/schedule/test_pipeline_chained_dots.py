"""Two dots in flight, in the simulator: real kernels with and without, which give the same bits, against float64."""

from __future__ import annotations

import logging
import re
from itertools import pairwise

import pytest

import tri
from matrix_kernels import attention as by_pointers
from special_kernels import attention, one_block
from tri_core.errors import TriError

torch = pytest.importorskip("torch")

LOG = "tri_gpu_dialect.async_units.pipeline_chained_dots"


def halves(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).half()


def close(got, expected, bound=2e-3):
    error = float((got.double() - expected).abs().max())
    assert error <= bound * float(expected.abs().max()), error


def softmax(q, k, causal):
    scores = q.double() @ k.double().t()
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape).triu(1).bool(), -float("inf"))
    return torch.softmax(scores, 1)


def overlaps(kernel) -> int:
    """How often a dot is started right behind another, which is not waited for."""
    order = re.findall(r"ttng\.warp_group_dot(_wait)? ", kernel.asm["ttgir"])
    return sum(first == second == "" for first, second in pairwise(order))


def attended(length, d, tile, causal, *, warps=4, stages=2, **options):
    q, k, v = (halves(length, d, seed=i) for i in range(3))
    q, o = (q.double() / d**0.5).half(), torch.full((length, d), float("nan"), dtype=torch.float16)
    options = {"num_warps": warps, "num_stages": stages, "warp_specialize": True, **options}
    with tri.target("sim:nvidia:sm_90a"):
        kernel = attention[(tri.cdiv(length, tile[0]),)](q, k, v, o, length, d, *tile, causal, **options)
    close(o, softmax(q, k, causal) @ v.double())
    return kernel, o


@pytest.mark.parametrize(
    ("length", "d", "tile", "causal", "warps"),
    [
        (64, 64, (64, 64), False, 4),  # one iteration, then none with a mask
        (160, 64, (64, 64), False, 4),  # a tail
        (128, 64, (64, 32), True, 4),  # none without a mask, two with one; then two and two
        (64, 128, (64, 32), False, 4),
        pytest.param(256, 128, (128, 64), True, 8, marks=pytest.mark.slow),
    ],
)
def test_attention_is_the_same(length, d, tile, causal, warps) -> None:
    kernel, got = attended(length, d, tile, causal, warps=warps)
    # in each of two loops, and where the second begins beside the end of the first
    assert overlaps(kernel) == 3
    without, expected = attended(length, d, tile, causal, warps=warps, pipeline_chained_dots=False)
    assert overlaps(without) == 0
    assert torch.equal(got, expected)


def test_slots_go_on_over_tiles() -> None:
    """One program after the other: the second begins where the first has left the rings."""
    kernel, _ = attended(160, 64, (64, 64), False, persistent=True)
    assert overlaps(kernel) == 3
    assert "ttg.persistent" in kernel.asm["ttgir"]


@pytest.mark.parametrize("causal", [False, True])
def test_groups_take_turns(causal) -> None:
    """The same bits; in loops with two dots in flight, one ordered barrier for both."""
    kernel, got = attended(256, 64, (128, 32), causal, warps=8, persistent=True)
    without, expected = attended(256, 64, (128, 32), causal, warps=8, persistent=True, ping_pong=False)
    assert torch.equal(got, expected)
    steps = re.findall(r'ttg.ordered_barrier .*step = "(\w+)"', kernel.asm["ttgir"])
    assert steps[0] == "open"
    assert steps[-1] == "close"
    assert steps[1:-1] == ["wait", "pass"] * overlaps(kernel)
    assert "ordered_barrier" not in without.asm["ttgir"]


def test_four_groups_have_two_dots_in_flight() -> None:
    """256 rows by 16 warps, whose 112 registers are enough in the loop without a mask; the other one needs more."""
    kernel, _ = attended(512, 64, (256, 64), True, warps=16, persistent=True)
    assert overlaps(kernel) == 1
    assert "actualRegisters = array<i32: 112, 32>" in kernel.asm["ttgir"]


@pytest.mark.parametrize("keys", [32, 96])
def test_a_block_that_both_dots_read_stays_until_the_second_has(keys) -> None:
    """The wait for the one ring is early, its arrival late: two stages are in use at once."""
    q, k = halves(64, 64), halves(keys, 64, seed=1)
    q, o = (q.double() / 8).half(), torch.full((64, 64), float("nan"), dtype=torch.float16)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = one_block[(1,)](q, k, o, keys, 64, 64, 32, num_warps=4, warp_specialize=True)
    assert overlaps(kernel) == 1
    scores = q.double() @ k.double().t()
    close(o, torch.exp2(scores) @ k.double())


def test_registers_decide(caplog) -> None:
    """Of four warps a thread holds 128 registers of either sum."""
    caplog.set_level(logging.INFO, LOG)
    types = dict.fromkeys(("q", "k", "v", "o"), "*fp16") | {"S": "i32"}
    constants = {"D": 128, "BM": 128, "BN": 128, "CAUSAL": False}
    signature = {n: types.get(n, "constexpr") for n in attention.arg_names}
    source = tri.ASTSource(attention, signature, constants, {(4,): [["tt.divisibility", 16]]})
    options = {"num_warps": 4, "num_stages": 2, "warp_specialize": True}
    kernel = tri.compile(source, target="sim:nvidia:sm_90a", options=options)
    assert overlaps(kernel) == 0
    assert re.search(
        r"two dots in flight take 3\d\d registers of a thread, which has 255 \(line \d+\)", caplog.text
    )


@pytest.mark.parametrize(("delay", "expected"), [(None, 0), (True, 1)])
def test_without_a_producer_the_option_decides(delay, expected) -> None:
    """``pipeline`` leaves stages of one iteration untouched during the next, in which the late dot reads them."""
    n, d = 128, 64
    q, k, v = (halves(n, d, seed=i) for i in range(3))
    o = torch.full((n, d), float("nan"))
    with tri.target("sim:nvidia:sm_90a"):
        kernel = by_pointers[(2,)](
            q, k, v, o, n, d**-0.5, 64, 64, d, False, 2, num_warps=4, pipeline_chained_dots=delay
        )
    close(o, torch.softmax(q.double() @ k.double().t() * d**-0.5, 1) @ v.double())
    assert "ttg.warp_specialize(" not in kernel.asm["ttgir"]
    assert overlaps(kernel) == expected


MISTAKES = {
    "the first dot is not waited for": (
        r"(warp_group_dot_wait [^\n]*pendings = )1", r"\g<1>2", (AssertionError, "nan"),
    ),
    "a stage is released while the late dot reads it": (
        r"( *%\S+ = ttng\.warp_group_dot_wait [^\n]*pendings = 0[^\n]*\n)( *ttng\.arrive_barrier[^\n]*\n)(?= *%\S+ = arith\.truncf)",
        r"\2\1",
        (TriError, "race|asynchronous"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake, tmp_path) -> None:
    kernel, _ = attended(160, 64, (64, 32), False)
    old, new, (error, said) = MISTAKES[mistake]
    changed, count = re.subn(old, new, kernel.asm["ttgir"])
    assert count
    path = tmp_path / "attention.ttgir"
    path.write_text(changed)
    with pytest.raises(error, match=said):
        attended(160, 64, (64, 32), False, ir_override=str(path))
