"""Loops of numbers under schedules of any kind: the same results, forwarded values in order, and refusals of what cannot be."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from tri_core.errors import InternalError
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops
from tri_gpu_dialect.passes import VerifyLayouts
from tri_gpu_dialect.testing.reference import run as simulated
from tri_gpu_dialect.transforms.pipeline.expander import Expander
from tri_gpu_dialect.transforms.pipeline.schedule import Place, Schedule

#: three ops in a row, of which the last adds up; ``%b`` also reads what the first one of an earlier iteration was
TEXT = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%out: !tt.ptr<i32, "global">, %low: i32, %high: i32, %by: i32):
    %three = arith.constant 3 : i32
    %r:2 = scf.for %i = %low to %high step %by iter_args(%sum = %three, %before = %by) -> (i32, i32) : i32 {
      %a = arith.muli %i, %i : i32
      %b = arith.addi %a, %before : i32
      %c = arith.muli %b, %i : i32
      %d = arith.muli %sum, %three : i32
      %next = arith.addi %d, %c : i32
      scf.yield %next, %a : i32, i32
    }
    "tt.store"(%out, %r#0) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<i32, "global">, i32) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<i32, "global">, i32, i32, i32) -> (), sym_name = "f"} : () -> ()
}) : () -> ()
"""


def the_loop(module: ir.Module) -> ir.Operation:
    (loop,) = (op for op in all_ops(module.operation) if op.name == "scf.for")
    return loop


def scheduled(loop: ir.Operation, stages: list[int], clusters: list[int], **fields: int) -> Schedule:
    ops = block_ops(loop.regions[0].blocks[0])[:-1]
    places = {op: Place(s, clusters[s]) for op, s in zip(ops, stages, strict=True)}
    return Schedule(loop, places, **{"stages": max(stages) + 1, **fields})


def expected(low: int, high: int, by: int) -> int:
    total, before = 3, by
    for i in range(low, high, by):
        total, before = total * 3 + (i * i + before) * i, i * i
    return int(np.array(total % (1 << 32), np.uint64).astype(np.uint32).view(np.int32))


def result_of(module: ir.Module, low: int, high: int, by: int) -> int:
    out = np.zeros(1, np.int32)
    simulated(module, [out, low, high, by])
    return int(out[0])


@settings(max_examples=60)
@given(data=st.data(), low=st.integers(-3, 3), trips=st.integers(0, 6), by=st.integers(1, 3))
def test_results_stay(run, data: st.DataObject, low: int, trips: int, by: int) -> None:  # type: ignore[no-untyped-def]
    module = run(TEXT, VerifyLayouts(), num_warps=1)
    # stages do not fall along what depends on what; all of the sum is in the last one
    first = data.draw(st.integers(0, 3))
    second = data.draw(st.integers(first, 3))
    third = data.draw(st.integers(second, 3))
    stages = [first, second, third, third, third]
    used = sorted(set(stages))
    stages = [used.index(s) for s in stages]
    if third > 0 and data.draw(st.booleans()) and stages[0] == 0:
        gap = data.draw(st.integers(0, 2))  # iterations between, in which nothing runs
        stages = [s + gap * (s == stages[2] and s > 0) for s in stages]
    count = max(stages) + 1
    # what a stage reads of the one behind it comes later there than in this one; nothing here does
    clusters = data.draw(st.permutations(range(count)))
    peel = count == 2 and data.draw(st.booleans())
    counted = data.draw(st.sampled_from([0, 1])) if peel else count - 1
    event(f"{stages}, peeled: {peel}, counted: {counted}")
    loop = the_loop(module)
    made = Expander(scheduled(loop, stages, list(clusters), counted=counted), peel=peel)
    high = low + trips * by - (by - 1 if trips else 0)
    assume(trips or not peel or counted)  # others that do not run are in a branch of their own
    made.run()
    module.operation.verify()
    assert result_of(module, low, high, by) == expected(low, high, by)


def test_values_are_forwarded_once_for_each_iteration_between(run) -> None:  # type: ignore[no-untyped-def]
    module = run(TEXT, VerifyLayouts(), num_warps=1)
    schedule = scheduled(the_loop(module), [0, 3, 3, 3, 3], [0, 0, 0, 1])
    a = schedule.ops[0].results[0]
    assert [(f.value == a, f.stage, f.lag) for f in schedule.forwarded] == [(True, 0, n) for n in (1, 2, 3)]
    Expander(schedule).run()
    (header,) = (line for line in str(module).splitlines() if "scf.for" in line)
    assert len(re.findall(r"%\w+(?:#\d)? = ", header.partition("iter_args")[2])) == 2 + 3


def test_what_no_iteration_has_made_is_refused(run) -> None:  # type: ignore[no-untyped-def]
    module = run(TEXT, VerifyLayouts(), num_warps=1)
    with pytest.raises(InternalError, match="of stage 0 reads what stage 1 makes"):
        scheduled(the_loop(module), [1, 0, 1, 1, 1], [0, 1])


def test_an_op_without_a_place_is_refused(run) -> None:  # type: ignore[no-untyped-def]
    loop = the_loop(run(TEXT, VerifyLayouts(), num_warps=1))
    ops = block_ops(loop.regions[0].blocks[0])[:-1]
    with pytest.raises(InternalError, match="has no place"):
        Schedule(loop, {op: Place(0) for op in ops[1:]}, 1)


def test_only_two_stages_are_peeled(run) -> None:  # type: ignore[no-untyped-def]
    loop = the_loop(run(TEXT, VerifyLayouts(), num_warps=1))
    with pytest.raises(InternalError, match="3 stages cannot be peeled"):
        Expander(scheduled(loop, [0, 1, 2, 2, 2], [0, 1, 2]), peel=True)
    with pytest.raises(InternalError, match="beyond the end"):
        Expander(scheduled(loop, [0, 1, 1, 1, 1], [0, 1], counted=0))


def test_what_runs_beyond_the_end_gives_no_result(run) -> None:  # type: ignore[no-untyped-def]
    loop = the_loop(run(TEXT.replace("%r#0", "%r#1"), VerifyLayouts(), num_warps=1))
    schedule = scheduled(loop, [0, 0, 1, 1, 1], [0, 1])
    with pytest.raises(InternalError, match="runs beyond its end"):
        Expander(schedule).run()
