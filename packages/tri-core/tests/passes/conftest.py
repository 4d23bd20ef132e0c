"""Passes on small functions written in their text."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tri_core import mlir
from tri_core.dialects import tt  # noqa: F401  registers the dialect
from tri_core.options import CommonOptions
from tri_core.pipeline import Pass, StageContext
from tri_core.target import Target, TargetKey, TargetSpec

_POINTER = re.compile(r"ptr<(\w+)>")


class _NoCodegen:
    def compile(self, request: object) -> None:
        raise NotImplementedError


@pytest.fixture
def context() -> StageContext:
    target = Target(key=TargetKey("none"), spec=TargetSpec())
    return StageContext(target=target, options=CommonOptions(), kernel_name="k", codegen=_NoCodegen())  # type: ignore[arg-type]


@pytest.fixture
def function() -> Callable[..., str]:
    """``function("%p: ptr<f32>, %n: i32", body)``: the text of a module with one public function ``k``."""

    def build(arguments: str, body: str) -> str:
        arguments, body = (_POINTER.sub(r'!tt.ptr<\1, "global">', text) for text in (arguments, body))
        types = ", ".join(
            t.strip() for t in re.findall(r"%\w+\s*:\s*((?:[^,<]|<[^<>]*(?:<[^<>]*>)?[^<>]*>)+)", arguments)
        )
        return (
            f'"tt.func"() ({{\n^bb0({arguments}):\n{body}\n"tt.return"() : () -> ()\n}}) '
            f'{{function_type = ({types}) -> (), sym_name = "k", sym_visibility = "public"}} : () -> ()'
        )

    return build


@pytest.fixture
def after(context: StageContext) -> Callable[..., str]:
    """``after(pass, text)``: the module after the pass, which must be valid, with every op in generic form."""

    def run(step: Pass, text: str, *, debug_info: bool = False) -> str:
        with mlir.session():
            module = mlir.parse(text)
            step.apply(module, context)
            mlir.verify(module)
            return str(
                module.operation.get_asm(
                    print_generic_op_form=True, assume_verified=True, enable_debug_info=debug_info
                )
            )

    return run
