"""Elements that keep their bits for every size and configuration, and by which op others do not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from integration.verify.command import verified
from integration.verify.kernels import TRIALS
from tri.verifying import settings_of, verify_invariance
from tri_core.errors import OptionError, Unsupported

KERNELS = """
import tri
import tri.language as tl

@tri.jit
def softmax(x, y, M, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    e = tl.exp(tl.load(x + i) - tl.max(tl.load(x + i), 0))
    tl.store(y + i, e / tl.sum(e, 0))

@tri.jit
def sums(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for k in range(0, n, BLOCK):
        total += tl.sum(tl.load(x + row * n + k + tl.arange(0, BLOCK)), 0)
    tl.store(y + row, total)

@tri.heuristics({"BLOCK": lambda args: 32 if args["M"] < 8 else 64})
@tri.jit
def sized(x, y, M, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for k in range(0, 128, BLOCK):
        total += tl.sum(tl.load(x + row * 128 + k + tl.arange(0, BLOCK)), 0)
    tl.store(y + row, total)

@tri.jit
def columns(x, y, n, SPLIT: tl.constexpr):
    i = tl.arange(0, 16)
    total = tl.zeros((16,), tl.float32)
    for part in tl.static_range(SPLIT):
        more = tl.zeros((16,), tl.float32)
        for k in range(n // SPLIT):
            more += tl.load(x + (part * (n // SPLIT) + k) * 16 + i)
        total += more
    tl.store(y + i, total)

@tri.jit
def mean(x, y, M, N: tl.constexpr):
    row = tl.program_id(0)
    tl.store(y + row, tl.sum(tl.load(x + row * N + tl.arange(0, N)), 0) / M)

@tri.jit
def split(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0), 0))

@tri.autotune([tri.Config({"BLOCK_K": 16}), tri.Config({"BLOCK_K": 32})], key=["K"])
@tri.jit
def matmul(a, b, c, K, N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * 16 + tl.arange(0, 16)
    n = tl.arange(0, N)
    acc = tl.zeros((16, N), tl.float32)
    for k in range(0, K, BLOCK_K):
        kk = k + tl.arange(0, BLOCK_K)
        acc = tl.dot(tl.load(a + m[:, None] * K + kk[None, :]), tl.load(b + kk[:, None] * N + n[None, :]), acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)

@tri.autotune([tri.Config({"N": 16}, pre_hook=print), tri.Config({"N": 32})], key=[])
@tri.jit
def hooked(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1.0)

@tri.jit
def in_turn(lock, y, M):
    while tl.atomic_cas(lock, 5, 6) == 6:
        pass
    tl.store(y, tl.load(y) + 0.1)
    tl.atomic_xchg(lock, 5)

@tri.jit
def apart(x, M):
    tl.store(x + M, 1.0)

@tri.jit
def race(x, M):
    tl.store(x, tl.program_id(0))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels_to_compare.py"
    path.write_text(KERNELS)
    return path


def invariance(file: Path, name: str, *arguments: str) -> tuple[int, str]:
    return verified(file, name, "--batch-invariant", *arguments)


def place(file: Path, text: str) -> str:
    """The place at which ``text`` first stands in the kernels."""
    line = next(i for i, each in enumerate(KERNELS.splitlines(), 1) if text in each)
    return f"{file}:{line}:{KERNELS.splitlines()[line - 1].index(text) + 1}"


@pytest.mark.parametrize("target", ["cpu", "nvidia:sm_90a"])
def test_rows_of_softmax_do_not_depend_on_how_many_there_are(file: Path, target: str) -> None:
    arguments = ("-s", "*fp32:16, *fp32:16, i32, 64", "--vary", "M=1,7,16,33", "-g", "M", "--json")
    status, said = invariance(file, "softmax", *arguments, "-t", target)
    assert status == 0
    assert [(each["setting"], each["verdict"]) for each in json.loads(said)] == [
        (f"M={rows}", "equal") for rows in (7, 16, 33)
    ]


def test_a_sum_in_other_blocks_is_named(file: Path) -> None:
    signature = "*fp32:16, *fp32:16, i32, BLOCK=32"
    arguments = ("-s", signature, "-v", "n=128", "--vary", "BLOCK=32,64,32", "-g", "8", "--json")
    status, said = invariance(file, "sums", *arguments)
    assert status == 1
    other, same = json.loads(said)
    assert (other["setting"], other["verdict"], same["verdict"]) == ("BLOCK=64", "differs", "equal")
    assert other["difference"]["name"] == "y"
    assert other["difference"]["expected"] != other["difference"]["found"]
    assert other["step"] == (
        f"tt.reduce at {place(file, 'tl.sum(tl.load(x + row * n')}: it takes 32 elements at a time with BLOCK=32, 64 with BLOCK=64"
    )


def test_constexprs_that_a_rule_computes_of_the_size_vary_with_it(file: Path) -> None:
    arguments = ("-s", "*fp32:16, *fp32:16, i32", "--vary", "M=4,7,16", "-g", "M", "--size", "8192")
    status, said = invariance(file, "sized", *arguments)
    assert status == 1
    equal, differs = said.splitlines()[0], said.splitlines()[1]
    assert equal.endswith("M=7, seed 0: equal")
    assert differs.endswith("M=16, seed 0: differs")
    assert "it takes 32 elements at a time with M=4, 64 with M=16" in said


def test_a_loop_that_is_split_is_named(file: Path) -> None:
    signature = "*fp32:16, *fp32:16, i32, SPLIT=1"
    status, said = invariance(file, "columns", "-s", signature, "-v", "n=64", "--vary", "SPLIT=1,4")
    assert status == 1
    assert (
        f"first with arith.addf at {place(file, 'total += more')}: it runs once with SPLIT=1, 4 times with SPLIT=4"
        in said
    )


def test_an_argument_in_the_result_is_named(file: Path) -> None:
    status, said = invariance(file, "mean", "-s", "*fp32:16, *fp32:16, i32, 64", "--vary", "M=1,3", "-g", "M")
    assert status == 1
    assert f"first with arith.divf at {place(file, 'tl.sum(tl.load(x + row * N')}: it makes " in said


def test_configurations_of_a_tuner_are_compared(file: Path) -> None:
    signature = "*fp16:16, *fp16:16, *fp32:16, i32, N=16"
    status, said = invariance(file, "matmul", "-s", signature, "-v", "K=64", "-t", "amd:gfx942")
    assert status == 1
    assert said.startswith("sim:amd:gfx942, BLOCK_K=32, seed 0: differs")
    assert f"first with tt.dot at {place(file, 'tl.dot(')}: it takes 16 elements at a time" in said


def test_a_sum_that_is_compiled_to_another_order_is_named(file: Path) -> None:
    signature = "*fp32:16, *fp32:16, i32, 1024"
    arguments = ("-s", signature, "-g", "16", "--size", "16384", "-O", "num_warps=1,4", "-t", "nvidia:sm_90a")
    status, said = invariance(file, "softmax", *arguments)
    assert status == 1
    assert "first with tt.reduce at " + place(file, "tl.sum(e, 0)") in said
    assert "warpsPerCTA = [1]" in said
    assert "warpsPerCTA = [4]" in said


def test_dots_that_warps_share_otherwise_are_not_blamed() -> None:
    trial = replace(TRIALS["attention"], options={"num_warps": (1, 4)})
    grid = ", ".join(map(str, trial.grid))
    (found,) = verify_invariance(settings_of(trial, grid), ["nvidia:sm_80"]).findings
    assert found.verdict == "differs"
    assert found.step.count(" at ") == 1
    assert found.step.startswith("tt.reduce at ")
    file, line, *_ = found.step.removeprefix("tt.reduce at ").split(":")
    assert "tl.sum(weights, 1)" in Path(file).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(("type_", "status"), [("fp32", 1), ("i32", 0)])
def test_floats_that_several_programs_add_are_never_invariant(file: Path, type_: str, status: int) -> None:
    arguments = ("-s", f"*{type_}, *{type_}, i32, BLOCK=32", "--vary", "BLOCK=32,64", "-g", "cdiv(n, BLOCK)")
    found, said = invariance(file, "split", *arguments, "-v", "n=128")
    assert found == status
    assert ("several programs add floats to y[0]" in said) == bool(status)
    assert ("equal" in said) != bool(status)


@pytest.mark.parametrize(
    ("name", "signature", "verdict", "reason"),
    [
        ("race", "*i32, i32", "undefined", "KernelDataRace"),
        ("in_turn", "*i32, *fp32, i32", "refused", "several programs store y[0] in turn"),
        ("apart", "*fp32, i32", "refused", "there is nothing to compare"),
    ],
)
def test_what_is_not_known_is_never_invariant(
    file: Path, name: str, signature: str, verdict: str, reason: str
) -> None:
    status, said = invariance(file, name, "-s", signature, "--vary", "M=2,3", "-g", "M", "--json")
    assert status == 2
    assert {each["verdict"] for each in json.loads(said)} == {verdict}
    assert reason in json.loads(said)[-1]["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "Q=1,2"], "no scalar parameter or constexpr 'Q'"),
        (["--vary", "x=1,2"], "no scalar parameter or constexpr 'x'"),
        (["--vary", "M="], "gives no value of 'M'"),
        (["--vary", "M"], "gives no value of 'M'"),
        (["--vary", "M=3,3"], "gives one value of 'M'"),
        (["--vary", "M=1,2", "--vary", "M=3,4"], "'M' is varied twice"),
        ([], "nothing varies for mean"),
        (["--vary", "M=0,2", "-g", "M"], r"'M' is no grid: it is \(0,\)"),
        (["--vary", "M=1,2", "--exact"], "without --exact"),
    ],
)
def test_bad_input_is_named(file: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        invariance(file, "mean", "-s", "*fp32, *fp32, i32, 64", *arguments)


def test_configurations_with_hooks_are_refused(file: Path) -> None:
    with pytest.raises(Unsupported, match="a configuration with a hook"):
        invariance(file, "hooked", "-s", "*fp32")


def test_varying_is_for_this_alone(file: Path) -> None:
    with pytest.raises(OptionError):
        verified(file, "mean", "-s", "*fp32, *fp32, i32, 64", "--vary", "M=1,2")
