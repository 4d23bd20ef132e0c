"""Which word of a target a ``ttg.barrier`` becomes, by the memory that it orders."""

from __future__ import annotations

import pytest

from tri_core.options import CommonOptions
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.lowering import Builder, generic_table, lower
from tri_gpu_dialect.testing import ReferencePrimitives, TensorSpec, kernel, make_target

SPEC = TensorSpec("f32", (256,), Blocked((2,), (32,), (4,), (0,)))


class TwoBarriers(ReferencePrimitives):
    """A target with a barrier for shared memory alone."""

    asked: list[str]

    def barrier(self, b: Builder) -> None:
        self.asked.append("all")
        super().barrier(b)

    def shared_barrier(self, b: Builder) -> None:
        self.asked.append("shared")


@pytest.mark.parametrize(("spaces", "word"), [(1, "shared"), (2, "all"), (3, "all"), (31, "all"), (0, "all")])
def test_a_barrier_for_shared_memory_alone_is_a_word_of_its_own(spaces: int, word: str) -> None:
    body = f"""%out0 = arith.addf %in0, %in0 : {SPEC.type}
      "ttg.barrier"() {{addrSpace = {spaces} : i32}} : () -> ()"""
    target = make_target()
    words = TwoBarriers(target, CommonOptions(), threads_per_warp=32, num_warps=4)
    words.asked = []
    lower(kernel([SPEC], [SPEC], body, warps=4, lanes=32), target, CommonOptions(), words, generic_table())
    assert words.asked == [word]


def test_targets_without_it_take_the_barrier_that_they_have() -> None:
    asked = []

    class OneBarrier(ReferencePrimitives):
        def barrier(self, b: Builder) -> None:
            asked.append("all")
            super().barrier(b)

    body = f"""%out0 = arith.addf %in0, %in0 : {SPEC.type}
      "ttg.barrier"() {{addrSpace = 1 : i32}} : () -> ()"""
    target = make_target()
    words = OneBarrier(target, CommonOptions(), threads_per_warp=32, num_warps=4)
    lower(kernel([SPEC], [SPEC], body, warps=4, lanes=32), target, CommonOptions(), words, generic_table())
    assert asked == ["all"]
