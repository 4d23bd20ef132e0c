"""Private functions that nobody calls leave the module."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.passes import SymbolDCE
from tri_core.testing import filecheck


def private(name: str, callee: str | None = None) -> str:
    call = f'"tt.call"() {{callee = @{callee}}} : () -> ()\n' if callee else ""
    return (
        f'"tt.func"() ({{\n{call}"tt.return"() : () -> ()\n}}) '
        f'{{function_type = () -> (), sym_name = "{name}", sym_visibility = "private"}} : () -> ()\n'
    )


def test_only_what_the_kernel_reaches_stays(function: Callable[..., str], after: Callable[..., str]) -> None:
    kernel = function("", '"tt.call"() {callee = @used} : () -> ()')
    text = (
        private("dead", "used") + private("loop", "loop") + kernel + private("used", "deep") + private("deep")
    )
    filecheck(
        after(SymbolDCE(), text),
        """CHECK-NOT: "dead"
           CHECK-NOT: "loop"
           CHECK: sym_name = "k"
           CHECK: sym_name = "used"
           CHECK: sym_name = "deep\"""",
    )
